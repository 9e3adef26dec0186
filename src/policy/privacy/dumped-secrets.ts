/** Secrets in a dump of a file: in hex, in base64, with spaces between letters, folded, backwards. */
import { findSecrets } from "../../lib/secrets/find-secrets.ts";
import "../../lib/secrets/long-texts.ts";
import { once } from "../../lib/values.ts";

/** Whether the text contains such a dump of a secret. */
export function dumpsSecret(output: string): boolean {
  // A pattern that begins with a line break is ten times as fast as one with ^.
  const text = `\n${output}\n`;
  return dumps().some(({ looks, readings }) => {
    const at = text.search(looks);
    if (at < 0) return false;
    const from = text.lastIndexOf("\n", at);
    return readings(text.slice(from, from + LONGEST)).some((reading) => findSecrets(reading).length > 0);
  });
}

/** Only the beginning of a longer dump is checked. */
const LONGEST = 256 * 1024;

interface Dump {
  readonly looks: RegExp;
  /** What may have been dumped. */
  readings(text: string): readonly string[];
}

const dumps = once((): readonly Dump[] => [
  {
    // xxd, hexdump, od -t x1; words of two bytes may have them in either order.
    looks: /\n[\da-fA-F]{5,8}:?[ \t]+(?:[\da-fA-F]{2}){1,4}[ \n]/,
    readings: (text) => {
      const groups = text.split("\n").flatMap((line) => {
        const [, bytes = ""] =
          /^[\da-fA-F]{5,8}:?((?:[ \t]{1,2}(?:[\da-fA-F]{2}){1,4}(?![\da-fA-F]))+)/.exec(line) ?? [];
        return bytes.match(/[\da-fA-F]+/g) ?? [];
      });
      return [bytesOf(groups.join("")), bytesOf(groups.map(swapped).join(""))];
    },
  },
  { looks: /\n(?:[\da-fA-F]{2}){16,}\n/, readings: (text) => [bytesOf(text.replaceAll(/[^\da-fA-F]/g, ""))] },
  {
    // od -t x1 without addresses, xxd -p -c1.
    looks: /\n[ \t]*(?:[\da-fA-F]{2}[ \t\n]+){16}/,
    readings: (text) => [bytesOf((text.match(/\b[\da-fA-F]{2}\b/g) ?? []).join(""))],
  },
  {
    // od -c, sed 's/./& /g', fold -w1, grep -o .
    looks: /\n(?:\d{7})?[ \t]*(?:\\?\S[ \t\n]+){12}/,
    readings: (text) => [
      text
        .replaceAll(/^\d{7}/gm, "")
        .replaceAll(/\n(?=.*\\n)|[ \t\n]+/g, "")
        .replaceAll("\\n", "\n"),
      text.replaceAll(/(\S) /g, "$1"),
    ],
  },
  // fold -w 5.
  { looks: /\n(?:\S{1,24}\n){5}/, readings: (text) => (isFolded(text) ? [text.replaceAll("\n", "")] : []) },
  {
    looks: /drowssap|terces|nekot|yek[_-]?ipa|DROWSSAP|TERCES|NEKOT|YEK[_-]?IPA/,
    readings: (text) => [text.split("\n").map(backwards).join("\n")],
  },
  {
    looks: /\n(?:[A-Za-z\d+/]{4}\n?){10}/,
    readings: (text) =>
      (text.match(/(?:[A-Za-z\d+/]{4}\n?){10,}/g) ?? []).map((block) =>
        Buffer.from(block, "base64").toString("latin1"),
      ),
  },
]);

/** Most lines are as long as the longest. Numbers alone, such as those of `seq`, do not count. */
function isFolded(text: string): boolean {
  const beginning = text.slice(1, 512);
  if (!/[A-Za-z]/.test(beginning)) return false;
  const lengths = beginning
    .split("\n")
    .slice(0, 12)
    .map((line) => line.length);
  return lengths.filter((length) => length === Math.max(...lengths)).length * 2 >= lengths.length;
}

const bytesOf = (hex: string) => Buffer.from(hex, "hex").toString("latin1");
const swapped = (group: string) => (group.match(/../g) ?? []).toReversed().join("");
const backwards = (line: string) => [...line].toReversed().join("");
