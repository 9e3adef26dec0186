/** sed: reads its script and proves that no command of it writes a file or runs a program. */
import { isUnknown } from "../syntax/field.ts";
import { bracketEnd } from "./bracket-end.ts";
import type { Proof, ReadOnlyRow } from "./proof.ts";

const sed: Proof = (args) => {
  const scripts: string[] = [];
  const operands: string[] = [];
  let options = true;
  for (let i = 0; i < args.length; i++) {
    const word = args[i] as string;
    if (options && word === "--") options = false;
    else if (options && word.startsWith("--")) {
      const match =
        /^--(?:(expression)=([^]*)|quiet|silent|regexp-extended|separate|unbuffered|null-data|zero-terminated|posix|debug|line-length=\d+|sandbox|version|help)$/.exec(
          word,
        );
      if (word === "--expression") scripts.push(args[++i] ?? "");
      else if (match === null) return `with ${word.replace(/=[^]*/, "")}`;
      else if (match[1] !== undefined) scripts.push(match[2] ?? "");
    } else if (options && word.startsWith("-") && word.length > 1) {
      const match = /^-([nErsuz]*)(?:e([^]*)|l(\d+))?$/.exec(word);
      if (match === null) return "with an option that may write";
      if (match[2] !== undefined) scripts.push(match[2] === "" ? (args[++i] ?? "") : match[2]);
    } else operands.push(word);
  }
  if (scripts.length === 0) {
    const script = operands.shift();
    if (script === undefined)
      return args.length > 0 && args.every((word) => /^--(?:version|help)$/.test(word))
        ? undefined
        : "without a script";
    scripts.push(script);
  }
  const files = options ? operands : [];
  if (files.some((file) => isUnknown(file[0] ?? "") || file.startsWith("\uFDD0") || file.startsWith("\uFDD1")))
    return "with what may be an option";
  return scripts.every(isHarmlessScript) ? undefined : "with a script that may write or run something";
};

/** A script read by sed's own grammar; anything unexpected is not harmless. */
export function isHarmlessScript(script: string): boolean {
  if (isUnknown(script) || /[\uFDD0\uFDD1]/.test(script)) return false;
  let at = 0;
  const skip = (set: string) => {
    while (at < script.length && set.includes(script[at] as string)) at++;
  };
  /** To the next unescaped delimiter; brackets hide it. False: none. */
  const delimited = (end: string, brackets: boolean): boolean => {
    for (; at < script.length; at++) {
      const character = script[at] as string;
      if (character === "\\") at++;
      else if (character === "\n" && end !== "\n") return false;
      else if (brackets && character === "[" && end !== "[") {
        const close = bracketEnd(script, at);
        // sed versions differ on a delimiter inside brackets.
        if (close < 0 || script.slice(at, close).includes(end)) return false;
        at = close;
      } else if (character === end) {
        at++;
        return true;
      }
    }
    return false;
  };
  const address = (): boolean => {
    const character = script[at] ?? "";
    if (/[0-9$]/.test(character)) {
      at++;
      skip("0123456789~");
      return true;
    }
    if (character !== "/" && character !== "\\") return true;
    const end = character === "/" ? "/" : (script[at + 1] ?? "\n");
    if (end === "\n") return false;
    at += character === "/" ? 1 : 2;
    if (!delimited(end, true)) return false;
    skip("IM");
    return true;
  };
  while (at < script.length) {
    skip(" \t\n;}");
    if (at >= script.length) return true;
    if (!address()) return false;
    skip(" \t");
    if (script[at] === ",") {
      at++;
      skip(" \t+~");
      if (!address()) return false;
      skip(" \t");
    }
    skip("! \t");
    const command = script[at++] ?? "";
    if ("{}=dDgGhHnNpPxzF".includes(command)) continue;
    if ("lqQL".includes(command)) skip(" 0123456789");
    else if ("bTt:".includes(command)) {
      // GNU sed reads on after the blank behind a label, busybox takes a brace for a part of it.
      const label = /^[ \t]*[\w.-]*[ \t]*(?=\}*(?:[;\s]|$))/.exec(script.slice(at, at + 256))?.[0];
      if (label === undefined) return false;
      at += label.length;
      if (at < script.length && !";\n}".includes(script[at] as string)) return false;
    } else if (command === "#" || command === "r" || command === "R") {
      // A file name or comment runs to the end of the line.
      if (command !== "#" && /^\s*\/dev\/(?!stdin)/.test(script.slice(at))) return false;
      while (at < script.length && script[at] !== "\n") at++;
    } else if ("aic".includes(command)) {
      // Text to the end of the line, going on after a backslash.
      for (; at < script.length && script[at] !== "\n"; at++) if (script[at] === "\\") at++;
    } else if (command === "s" || command === "y") {
      const end = script[at++] ?? "\n";
      if (end === "\n" || end === "\\" || !delimited(end, command === "s") || !delimited(end, false)) return false;
      const flags = /^[a-zA-Z0-9]*/.exec(script.slice(at, at + 64))?.[0] ?? "";
      if (!/^[gpIiMm0-9]*$/.test(flags)) return false;
      at += flags.length;
    } else return false;
  }
  return true;
}

export const SED: readonly ReadOnlyRow[] = [
  {
    programs: ["sed", "gsed"],
    proof: sed,
    yes: [
      "sed -n '1,20p' file",
      "sed 's/a/b/g' file",
      "sed -E 's/(a|b)+/x/' f",
      "sed -n '/start/,/end/p' f",
      "sed -e 1d -e '$d' f",
      "sed '/^#/d;/^$/d' f",
      "sed -n '$=' f",
      "sed 's|/usr|/opt|' f",
      "sed -n 's/^x=//p' f",
      "sed '1~2d' f",
      "sed 10q f",
      "sed 's/a/w file/' f",
      "sed -ne 5p f",
      "sed 'y/abc/xyz/' f",
      "sed '/a/!d' f",
      "sed -n '/x/{p;q}' f",
      "sed 's/[[:space:]]*$//' f",
      "sed --version",
      "sed ':a;N;$!ba;s/\\n/ /g' f",
      "sed -e ':a' -e 'N' -e '$!ba' f",
      "sed ':a;/x$/{N;ba}' f",
      "sed 's/[^]]*]//' f",
    ],
    no: [
      "sed -i s/a/b/ f",
      "sed -i.bak s/a/b/ f",
      "sed --in-place s/a/b/ f",
      "sed -ni p f",
      "sed -n 'w out' f",
      "sed 's/a/b/w out' f",
      "sed 's/a/b/e' f",
      "sed 's/a/b/gew x' f",
      "sed e f",
      "sed '1e rm x' f",
      "sed -f script f",
      "sed -n '/x/w out' f",
      "sed 'W out' f",
      "sed $X f",
      'sed "s/a/$B/" f',
      "sed -e p -i f",
      "sed --expression=e f",
      "sed -s --in-place=x p f",
      "sed p $F",
      "sed p *",
      "sed -E -i.bak p f",
      "sed '1{e ls\n}' f",
      "sed 'b x w out' f",
      "sed ':a w out' f",
      "sed '/x/{b}# w out' f",
      "sed 's/[[:alpha:]/]/p;s/w /tmp/p' f",
    ],
  },
];
