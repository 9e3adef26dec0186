/** What each kind of `buddy policy` provides: an answer to one value, as JSON and in words. */
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
