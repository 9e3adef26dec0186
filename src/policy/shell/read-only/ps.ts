/** ps: every form but those that show the environment of processes, which holds keys. */
import { isFixed, isUnknown, SPLIT } from "../syntax/field.ts";

/**
 * `e` without a dash shows the environment, `-e` selects all processes. Where a bundle with a dash makes no sense, procps reads it
 * again without the dash (`-auxe`, `-efx`), so a bundle with an `e` may have only letters that both readings know as options.
 */
export function ps(args: readonly string[]): string | undefined {
  if (args.some((word) => word.includes(SPLIT))) return "with words that are only known when it runs";
  let bsd = false;
  let everything = false;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string;
    if (!isFixed(word)) return "with what may be an option";
    const value = VALUED.find(({ option }) => option.test(word));
    if (value !== undefined) {
      const given = value.glued ? word.slice(word.indexOf("=") + 1) : (args[++at] ?? "");
      if (!fits(value.shape, given)) return `with that value for ${word.replace(/=.*/, "")}`;
    } else if (!FLAGS.test(word)) return `with ${word}`;
    if (/^-[a-zA-Z]*e/.test(word)) everything = true;
    if (/^[a-zA-Z]/.test(word)) bsd = true;
  }
  return bsd && everything ? "with what may show the environment of processes" : undefined;
}

const fits = (shape: RegExp, value: string) => (isUnknown(value) ? shape !== COLUMNS : shape.test(value));

/** No column that is made of the environment. */
const COLUMNS = /^(?!.*env)[\w,=%:. +-]+$/i;
const WHO = /^[\w.,@:+/-]+$/;

const FLAGS =
  /^(?:-[AacdefFHjlLPTwyZMmV]+|-[AajlvwxfrhSTcHXZmu]+|-p\d+|\d+(?:,\d+)*|[acdfghjlmnrStTuvwxXZHL]+|--(?:forest|no-headers?|headers?|deselect|cumulative|help|version|info))$/;

const VALUED: readonly { readonly option: RegExp; readonly shape: RegExp; readonly glued: boolean }[] = [
  { option: /^-[AacdefFHjlLPTwyZ]*[oO]$/, shape: COLUMNS, glued: false },
  { option: /^[afjlmrTuvwxHL]*[oOk]$/, shape: COLUMNS, glued: false },
  { option: /^-[AadfFHjlLPTwyZ]*[CGgpstUuq]$/, shape: WHO, glued: false },
  { option: /^--(?:format|sort)=/, shape: COLUMNS, glued: true },
  { option: /^--(?:format|sort)$/, shape: COLUMNS, glued: false },
  { option: /^--(?:pid|ppid|user|User|group|Group|sid|tty|cols|columns|width|rows|lines)=/, shape: WHO, glued: true },
  { option: /^--(?:pid|ppid|user|User|group|Group|sid|tty|cols|columns|width|rows|lines)$/, shape: WHO, glued: false },
];
