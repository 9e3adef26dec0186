/** `env` with its assignments, its directory and the words it splits by itself. */
import { type Field, field, isUnknown } from "../syntax/field.ts";
import { leadingOptions, type OptionShape } from "./options.ts";
import { assignments, rest, type Wrapper } from "./wrapped.ts";

export const env: Wrapper = (argv) => {
  const shape: OptionShape = {
    flags: "i0v",
    // -P is where BSD looks for the program.
    values: "uCSaP",
    long: "ignore-environment null debug list-signal-handling help version block-signal default-signal ignore-signal",
    longValues: "unset chdir split-string argv0",
  };
  const words = argv.map((word) => (word.value === "-" ? field("-i") : word));
  let uncertain: string | undefined;
  // -S puts the words of its value where it stood, and options go on from there.
  for (let i = 1, rounds = 0; i < words.length && rounds < 4; i++) {
    const word = (words[i] as Field).value;
    const match = /^(-[i0v]*S|--split-string=)([^]*)$/.exec(word);
    const text = word === "--split-string" || match?.[2] === "" ? words[i + 1]?.value : match?.[2];
    if (text === undefined) {
      if (/^-[uCP]$|^--(?:unset|chdir)$/.test(word)) i++;
      else if (!word.startsWith("-")) break;
      continue;
    }
    if (isUnknown(text)) uncertain = "what env -S splits cannot be known";
    const split = text
      .split(/[ \t\n]+/)
      .filter((item) => item !== "")
      .map((item) => field(item.replace(/^(['"])(.*)\1$/, "$2").replaceAll("\\_", " ")));
    words.splice(i, match === null || match[2] === "" ? 2 : 1, ...split);
    i--;
    rounds++;
  }
  const options = leadingOptions(words, 1, shape);
  const { at, assigns } = assignments(words, options.at);
  const chdir = (options.seen.get("C") ?? options.seen.get("chdir"))?.value;
  const inner = rest(words, at);
  const same = argv.every((word, index) => word.value === words[index]?.value);
  return {
    harmless: true,
    assigns,
    ...(inner.length === 0 ? {} : { commands: [inner] }),
    ...(same ? { at } : {}),
    ...(chdir === undefined ? {} : { cwd: chdir }),
    ...(uncertain !== undefined || options.odd || options.seen.has("P")
      ? { uncertain: uncertain ?? "env with options that cannot be known" }
      : {}),
  };
};
