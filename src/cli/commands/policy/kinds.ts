/** The kinds of `buddy policy` and the files that answer for them. */
import type { LoadExplainer } from "./explainer.ts";

/** What each kind brings with it (a parser, a resolver) is loaded only when it is asked for. */
export const KINDS = {
  shell: () => import("./shell.ts"),
  url: () => import("./url.ts"),
  path: () => import("./path.ts"),
  text: () => import("./text.ts"),
} as const satisfies Record<string, () => Promise<{ explainer: LoadExplainer }>>;

export type PolicyKind = keyof typeof KINDS;
