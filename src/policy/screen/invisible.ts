/** Characters that a person cannot see or tell apart on a screen, and how they are escaped. */
import { words } from "../../lib/text.ts";
import { once } from "../../lib/values.ts";

export function escaped(character: string): string {
  if (character === "\r") return "\\r";
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u{${(character.codePointAt(0) ?? 0xfffd).toString(16)}}`;
}

/** Text that is shown as it is in output: visible characters and spaces. U+2800 is a braille cell without dots. */
export const plainOutput = once(() => /[[\p{L}\p{N}\p{P}\p{S}\p{Zs}\p{Co}]--[\p{DI}\u2800]]+/vy);

/**
 * The same for a command: the only space is U+0020, as a no-break space does not separate words in a shell; without the
 * characters that terminals show wider than `stringWidth` measures them, which would cover each other.
 */
export const plainCommand = once(
  () => /[[\p{L}\p{N}\p{P}\p{S}\x20]--[\p{DI}\u2800\u0980\u0c80\u0d3a\u3248-\u324f]]+/vy,
);

export const combining = once(() => /^[\p{M}--\p{DI}]$/v);

/** The text as a person would read it: without invisible characters, compatibility forms folded. */
export function asItLooks(text: string): string {
  return text
    .normalize("NFKC")
    .replace(/[\p{DI}\p{Cf}\p{Cc}\ufff9-\ufffb]/gv, "")
    .normalize("NFC");
}

/** Replaces letters of other scripts that look like Latin ones; only to find out what a name may be mistaken for. */
export function inLatin(text: string): string {
  return text.replace(
    /[\p{sc=Cyrl}\p{sc=Grek}\p{sc=Armn}\u0131\u0251\u0261]/gv,
    (letter) => lookalikes()[letter] ?? letter,
  );
}

const lookalikes = once((): Readonly<Record<string, string>> =>
  Object.fromEntries(
    words("aаαɑ bЬ cсϲ dԁ eе gɡց hһհ iіιı jјϳ kκк lӏ nոп oоοօ pрρ qԛ rг sѕ tτт uυս vνѵ wԝѡ xхχ yуγү zᴢ").flatMap(
      ([latin = "", ...others]) => others.map((other) => [other, latin] as const),
    ),
  ),
);

const pictureBefore = once(() => /^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)$/v);
const picture = once(() => /^\p{Extended_Pictographic}$/v);
const joining = once(
  () =>
    /^[[\p{L}\p{M}]&&[\p{sc=Arab}\p{sc=Syrc}\p{sc=Mong}\p{sc=Nkoo}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}\p{sc=Mymr}\p{sc=Khmr}\p{sc=Thai}\p{sc=Laoo}\p{sc=Tibt}]]$/v,
);

/** A joiner (U+200C, U+200D) has an effect only between two pictures or two letters of a joining script. */
export function joins(before: string, joiner: string, after: string): boolean {
  if (joiner === "\u200d" && pictureBefore().test(before) && picture().test(after)) return true;
  return joining().test(before) && joining().test(after);
}

const variantBase = once(() => /^[[\p{Emoji}\p{S}\p{L}\p{P}]--[\x21-\x22\x24-\x29\x2b-\x2f\x3a-\x7e]]$/v);

/** One variation selector after a character that has variants; others can hide data. */
export function varies(base: string, selector: string): boolean {
  const code = selector.codePointAt(0) ?? 0;
  if (code >= 0xfe00 && code <= 0xfe0f) return variantBase().test(base);
  return code >= 0xe0100 && code <= 0xe01ef && /^\p{Ideographic}$/v.test(base);
}
