/** Secrets around one tool call: its output on the way to the model and the screen, and the names in its arguments. */
import { mapTexts } from "../lib/values.ts";
import type { OutputKind } from "../policy/output-kind.ts";
import type { MaskedStream, Privacy } from "../policy/privacy.ts";
import type { Tool, ToolResult } from "../tools/tool.ts";

/** The output of one call on its way to the model and the screen, without secrets. */
export class CallOutput {
  readonly #privacy: Privacy;
  readonly #from: string;
  readonly #streams = new Map<Stream, MaskedStream>();
  #output: OutputKind = "ordinary";

  constructor(privacy: Privacy, from: string) {
    this.#privacy = privacy;
    this.#from = from;
  }

  /** What is going to be printed is known before it is. */
  expect(output: OutputKind): void {
    this.#output = output;
    this.#privacy.storing = output;
  }

  /** What is going to be looked at was printed before. */
  looksAt(output: OutputKind): void {
    this.#output = output;
  }

  mask(text: string, cut: { readonly start?: boolean; readonly end?: boolean } = {}): string {
    const { start = false, end = false } = cut;
    return this.#privacy.mask(text, { ...this.#context(), cutStart: start, cutEnd: end });
  }

  /** As it comes; what may still become a secret waits for the next piece. */
  live(stream: Stream, text: string): string {
    if (!this.#privacy.enabled) return text;
    let filter = this.#streams.get(stream);
    if (filter === undefined) this.#streams.set(stream, (filter = this.#privacy.stream(this.#context())));
    return stream === "info" ? filter.push(text) + filter.end() : filter.push(text);
  }

  rest(): (readonly [Stream, string])[] {
    return [...this.#streams].map(([stream, filter]) => [stream, filter.end()] as const);
  }

  #context(): { from: string; output?: OutputKind } {
    return this.#output === "ordinary" ? { from: this.#from } : { from: this.#from, output: this.#output };
  }
}

/** The texts of a call in which names of secrets are replaced. */
export function secretTexts(tool: Tool, input: unknown): string[] {
  const { secretFields = [] } = tool;
  if (secretFields === "all") {
    const texts: string[] = [];
    mapTexts(input, (text) => (texts.push(text), text));
    return texts;
  }
  const given = input as Readonly<Record<string, unknown>>;
  return secretFields.map((field) => given[field]).filter((text) => typeof text === "string");
}

export function withValues(tool: Tool, input: unknown, reveal: (text: string) => string): unknown {
  const { secretFields = [] } = tool;
  if (secretFields === "all") return mapTexts(input, reveal);
  const given = input as Readonly<Record<string, unknown>>;
  const changed = secretFields.flatMap((field) => {
    const text = given[field];
    if (typeof text !== "string") return [];
    const real = reveal(text);
    return real === text ? [] : [[field, real] as const];
  });
  return changed.length === 0 ? input : { ...given, ...Object.fromEntries(changed) };
}

export function unknownSecrets(names: readonly string[]): ToolResult {
  return {
    ok: false,
    outcome: "invalid",
    result: `error: ${names.join(", ")} stands for no value in this session. Only names like ‹secret-1: …› that you were given can be used; read the source again to get one.`,
  };
}

export type Stream = "stdout" | "stderr" | "info";
