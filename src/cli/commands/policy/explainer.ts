/** The kinds of `buddy policy`, and what each provides: an answer to one value, as JSON and in words. */
import type { GlobalOptions } from "../../args/options.ts";

export interface Explainer extends Partial<AsyncDisposable> {
  /** `value` is what was typed, or any JSON value of a batch line. Throws a usage error for one that makes no sense. */
  explain(value: unknown): object | Promise<object>;
  /** The same answer for people, without a newline at the end. */
  words(answer: object): string;
}

/** Every file `policy/KIND.ts` exports this as `explainer`. */
export type LoadExplainer = (globals: GlobalOptions, options: PolicyOptions) => Promise<Explainer>;

export interface PolicyOptions {
  /** `--shell NAME`. */
  readonly shell?: string;
}

/** What each kind brings with it (a parser, a resolver) is loaded only when it is asked for. */
export const KINDS = {
  shell: () => import("./shell.ts"),
  url: () => import("./url.ts"),
  path: () => import("./path.ts"),
  text: () => import("./text.ts"),
} as const satisfies Record<string, () => Promise<{ explainer: LoadExplainer }>>;

export type PolicyKind = keyof typeof KINDS;
