/** What a server's tool returned, as text for the model and pictures for one that sees. */
import { type Image, imageOf } from "../../lib/images.ts";
import { isRecord } from "../../lib/values.ts";
import { tidy } from "./input-schema.ts";

export interface CallResult {
  readonly text: string;
  readonly images: readonly Image[];
  /** The server says that it failed. */
  readonly failed: boolean;
}

export function callResult(raw: unknown): CallResult {
  if (!isRecord(raw)) return { text: "(the server returned nothing that can be shown)", images: [], failed: true };
  const images: Image[] = [];
  const blocks = Array.isArray(raw["content"]) ? raw["content"].slice(0, MOST_BLOCKS) : [];
  const texts = blocks.map((block) => blockText(block, images)).filter((text) => text !== "");
  const structured = raw["structuredContent"];
  if (texts.length === 0 && structured !== undefined) texts.push(json(structured));
  const text = texts.join("\n\n");
  return { text: text === "" ? "(no output)" : text, images, failed: raw["isError"] === true };
}

function blockText(block: unknown, images: Image[]): string {
  if (!isRecord(block)) return "";
  const { type } = block;
  if (type === "text") return typeof block["text"] === "string" ? block["text"] : "";
  if (type === "image") return imageText(block, images);
  if (type === "resource" && isRecord(block["resource"])) return resourceText(block["resource"]);
  if (type === "resource_link")
    return `[link to ${name(block["uri"])}: ${name(block["description"] ?? block["name"])}]`;
  return `[${name(type) || "content"} that cannot be shown]`;
}

function imageText({ data, mimeType }: Readonly<Record<string, unknown>>, images: Image[]): string {
  const bytes = typeof data === "string" && data.length <= MOST_IMAGE ? Buffer.from(data, "base64") : undefined;
  // By its first bytes: what the server says of it may be wrong.
  const image = bytes === undefined ? undefined : imageOf(bytes);
  if (image === undefined || "problem" in image || images.length >= MOST_IMAGES)
    return `[image (${name(mimeType)}) that cannot be shown]`;
  images.push(image);
  return `[image ${images.length}, ${image.type}]`;
}

function resourceText({ uri, text, mimeType, blob }: Readonly<Record<string, unknown>>): string {
  if (typeof text === "string") return `[${name(uri)}]\n${text}`;
  const size = typeof blob === "string" ? `, ${Math.floor((blob.length * 3) / 4)} bytes` : "";
  return `[${name(uri)} (${name(mimeType) || "binary"}${size}) that cannot be shown]`;
}

function name(value: unknown): string {
  return typeof value === "string" ? tidy(value, 200) : "";
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value, undefined, 2) ?? "";
  } catch {
    return "";
  }
}

const MOST_BLOCKS = 100;
const MOST_IMAGES = 5;
const MOST_IMAGE = 6_000_000;
