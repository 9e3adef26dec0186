/** `buddy policy`: what the policy says about a command, URL, path or text; nothing is done. */
import { BuddyError, EXIT, type ExitCode, messageOf } from "../../../lib/errors.ts";
import { jsonText, print } from "../../../lib/output.ts";
import type { GlobalOptions } from "../../args/options.ts";
import { defineCommand } from "../../command.ts";

/** What a kind needs (a parser, a resolver) is loaded only for it. */
const KINDS = {
  shell: () => import("./shell.ts"),
  url: () => import("./url.ts"),
  path: () => import("./path.ts"),
  text: () => import("./text.ts"),
} as const satisfies Record<string, () => Promise<{ explainer: LoadExplainer }>>;

type PolicyKind = keyof typeof KINDS;

export const command = defineCommand({
  name: "policy",
  args: {
    kind: {
      type: "positional",
      choices: Object.keys(KINDS),
      description: "a command, an address to fetch, a path to write, or text to show",
    },
    value: { type: "positional", required: false, description: "the value; without it, read from stdin" },
    json: { type: "boolean", description: "print one JSON object" },
    shell: {
      type: "string",
      valueHint: "NAME",
      description: "the machine's shell; any name other than bash means there is no bash",
    },
    sudo: { type: "boolean", description: "path: judge it as a write as root (sudo: true)" },
    batch: { type: "boolean", description: "one JSON value per line on stdin, one JSON object per line on stdout" },
  },
  examples: [
    [
      "buddy policy shell 'git push --force'",
      "blocked: why, and what to do instead; ends with 4 (3: asks, 0: allowed)",
    ],
    ["buddy policy url http://169.254.169.254/", "blocked: cloud metadata"],
  ],
  async run({ args: { kind, value, json, batch, shell, sudo }, globals }) {
    const load = KINDS[kind as PolicyKind];
    if (batch === true && value !== undefined)
      throw new BuddyError("usage", "--batch reads its values from stdin, so none can be given as an argument", {
        hint: `One JSON value per line: echo '"value"' | buddy policy ${kind} --batch`,
      });
    if (shell !== undefined && kind !== "shell")
      throw new BuddyError("usage", `--shell works only with buddy policy shell, not with ${kind}`);
    if (sudo === true && kind !== "path")
      throw new BuddyError("usage", `--sudo works only with buddy policy path, not with ${kind}`);
    const explainer = await (await load()).explainer(globals, shell === undefined ? {} : { shell });
    try {
      if (batch === true) {
        await answerBatch(explainer, Bun.stdin.stream(), (text) => Bun.write(Bun.stdout, text));
        return EXIT.ok;
      }
      const given = value ?? (await Bun.stdin.text()).replace(/\r?\n$/, "");
      const answer = await explainer.explain(sudo === true ? { path: given, sudo } : given);
      await print([json === true ? jsonText(answer) : `${explainer.words(answer)}\n`]);
      return explainer.exitCode?.(answer) ?? EXIT.ok;
    } finally {
      await explainer[Symbol.asyncDispose]?.();
    }
  },
});

// `--batch`: one JSON value per line in, one JSON object per line out, as each line arrives; a bad line is answered
// too.

/** A longer line is answered with an error instead of being kept. */
const LONGEST_LINE = 8 * 1024 * 1024;

export async function answerBatch(
  explainer: Explainer,
  input: AsyncIterable<Uint8Array>,
  write: (text: string) => Promise<unknown>,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  let dropping = false;
  for await (const chunk of input) {
    rest += decoder.decode(chunk, { stream: true });
    let out = "";
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 1);
      if (dropping) out += jsonText({ error: "the line is too long" });
      else out += await answer(explainer, line);
      dropping = false;
    }
    if (rest.length > LONGEST_LINE) {
      rest = "";
      dropping = true;
    }
    if (out !== "") await write(out);
  }
  rest += decoder.decode();
  if (dropping) await write(jsonText({ error: "the line is too long" }));
  else if (rest.trim() !== "") await write(await answer(explainer, rest));
}

async function answer(explainer: Explainer, line: string): Promise<string> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return jsonText({ error: "not a JSON value" });
  }
  try {
    return jsonText(await explainer.explain(value));
  } catch (error) {
    return jsonText({ error: messageOf(error) });
  }
}

export interface Explainer extends Partial<AsyncDisposable> {
  /** `value` is what was typed, or any JSON value of a batch line. Throws a usage error for one that makes no sense. */
  explain(value: unknown): object | Promise<object>;
  /** The same answer for people, without a newline at the end. */
  words(answer: object): string;
  /** 0 unless given; not with `--batch`. */
  exitCode?(answer: object): ExitCode;
}

/** Every file `policy/KIND.ts` exports this as `explainer`. */
type LoadExplainer = (globals: GlobalOptions, options: PolicyOptions) => Promise<Explainer>;

export interface PolicyOptions {
  /** `--shell NAME`. */
  readonly shell?: string;
}
