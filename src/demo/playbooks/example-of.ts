/** The smallest value that fits a JSON Schema, with the answer in its first text. */
import { isRecord } from "../../lib/is-record.ts";

export function exampleOf(schema: unknown, answer: string): unknown {
  let unused: string | undefined = answer;
  return build(schema, 0);

  function build(node: unknown, depth: number): unknown {
    if (!isRecord(node) || depth > 16) return null;
    if ("const" in node) return node["const"];
    if (Array.isArray(node["enum"])) return node["enum"][0];
    const choice = [node["anyOf"], node["oneOf"], node["allOf"]].find(Array.isArray);
    if (choice) return build(choice[0], depth + 1);
    if (typeof node["$ref"] === "string") return build(resolve(node["$ref"]), depth + 1);
    const type: unknown = Array.isArray(node["type"])
      ? node["type"][0]
      : (node["type"] ?? (node["properties"] ? "object" : "string"));
    switch (type) {
      case "object":
        return buildObject(node, depth);
      case "array":
        return Array.from({ length: size(node["minItems"]) }, () => build(node["items"], depth + 1));
      case "integer":
      case "number":
        return typeof node["minimum"] === "number" ? Math.ceil(node["minimum"]) : 0;
      case "boolean":
        return false;
      case "null":
        return null;
      default:
        return buildText(node);
    }
  }

  function buildObject(node: Record<string, unknown>, depth: number): unknown {
    const properties = isRecord(node["properties"]) ? node["properties"] : {};
    const required = Array.isArray(node["required"]) ? node["required"].map(String) : [];
    const names = new Set([...required, ...Object.keys(properties)]);
    return Object.fromEntries([...names].map((name) => [name, build(properties[name] ?? {}, depth + 1)]));
  }

  function buildText(node: Record<string, unknown>): string {
    const text = unused ?? "";
    unused = undefined;
    const most = typeof node["maxLength"] === "number" ? node["maxLength"] : text.length;
    return text.slice(0, most).padEnd(size(node["minLength"]), "-");
  }

  function resolve(ref: string): unknown {
    return ref
      .split("/")
      .slice(1)
      .reduce<unknown>((node, part) => (isRecord(node) ? node[part] : undefined), schema);
  }
}

function size(value: unknown): number {
  return typeof value === "number" ? Math.min(value, 1000) : 0;
}
