/** Builtins that are given a command to run later: for each line read, for a completion, for a key. */
import type { Field } from "../syntax/field.ts";
import { script, type Wrapped, type Wrapper } from "./wrapped.ts";

/** `mapfile -C command`, `compgen -C command`, `complete -C command`. */
export const callback: Wrapper = (argv) => hooked(argv, /^-[a-zA-Z]*C([^]*)$/, (text) => text);

/** `bind -x '"key": command'`. */
export const keyBinding: Wrapper = (argv) =>
  hooked(argv, /^-[a-zA-Z]*x([^]*)$/, (text) => text.slice(text.indexOf(":") + 1).replace(/^\s*"([^]*)"\s*$/, "$1"));

function hooked(argv: readonly Field[], option: RegExp, command: (text: string) => string): Wrapped | undefined {
  const at = argv.findIndex((word, index) => index > 0 && option.test(word.value));
  if (at < 0) return undefined;
  const text = option.exec(argv[at]?.value ?? "")?.[1] || argv[at + 1]?.value;
  return { harmless: false, scripts: [script(text === undefined ? undefined : command(text), false)] };
}
