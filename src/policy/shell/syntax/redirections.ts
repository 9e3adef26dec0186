/** Redirections: a command's input, and the files it writes. */
import type { Redirection } from "unbash";
import { isUnknown, NUMBER } from "./field.ts";
import { isDeviceToRead, isDisk, isHarmlessSink } from "../dangers/protected-paths.ts";
import { quotesInQuotes, type Expansion, expandWord, wordValues } from "./words.ts";
import { type Input, inputOf } from "../wrappers/wrapped.ts";

/** A file that a redirection writes. */
export interface Write {
  readonly file: string;
  readonly disk: boolean;
  /** The contents of the file are kept. */
  readonly appends: boolean;
  /** Directories that the name may be relative to. */
  readonly directories: readonly string[];
}

export interface Redirected {
  readonly input: Input;
  readonly writes: Write[];
  /** The output goes elsewhere. */
  readonly moved: boolean;
  /** The command does not run if a file is missing. */
  readonly mayFail: boolean;
}

export function redirected(nodes: readonly Redirection[], input: Input, by: Expansion): Redirected {
  const writes: Write[] = [];
  let moved = false;
  let mayFail = false;
  let now = input;
  for (const node of nodes) {
    const descriptor = node.descriptor?.type === "FileDescriptor" ? node.descriptor.value : undefined;
    const isInput = node.descriptor === undefined || descriptor === 0;
    if (isOfRunner(descriptor)) by.uncertain(`descriptor ${descriptor}`);
    if (node.type === "HereString") {
      const values = node.target === undefined ? [] : wordValues(node.target, by);
      if (isInput) now = known(values, "\n");
      continue;
    }
    if (node.type === "HereDoc") {
      if (node.closing === undefined) by.uncertain("a here-document without its end");
      const text =
        node.delimiter?.quoted === true || node.body.parts === undefined ? [node.body.text] : heredocValues(node, by);
      if (isInput) now = known(text, "");
      continue;
    }
    const { operator, target } = node;
    // `{name}< file` puts the descriptor's number into a variable.
    if (node.descriptor?.type === "FileDescriptorVariable") by.assign(node.descriptor.name, [NUMBER]);
    if (target === undefined) {
      by.uncertain("a redirection without a target");
      continue;
    }
    const outcomes = expandWord(target, by);
    const items = outcomes.flat();
    for (const item of items) {
      if (item.process === true) {
        if (operator.startsWith("<") && isInput) now = inputOf(item.prints);
        else moved = true;
        continue;
      }
      const isDescriptor = /^(?:\d+-?|-)$/.test(item.value);
      mayFail ||= !/^(?:[012]|\/dev\/(?:null|stdin|stdout|stderr))$/.test(item.value);
      if (opensOutputToRead(descriptor ?? (operator === ">&" ? 1 : 0), operator, item.value))
        by.uncertain("output that goes to a file opened for reading");
      if (operator === "<") {
        if (isInput) now = item.value === "/dev/null" ? { kind: "known", text: "" } : { kind: "unknown" };
        by.reads(item.value);
        if (mayBeAnything(item.value) || isDeviceToRead(item.value)) by.uncertain(`input from ${item.source}`);
      } else if (operator === "<&" || (operator === ">&" && isDescriptor)) {
        if (!isDescriptor) by.uncertain(`input from ${item.source}`);
        if (node.descriptor?.type === "FileDescriptorVariable" || isOfRunner(Number.parseInt(item.value, 10)))
          by.uncertain(`descriptor ${item.source}`);
        if (operator === "<&" && isInput) now = { kind: "unknown" };
        if (operator === ">&" && descriptor !== 2) moved = true;
      } else {
        if (descriptor !== 2) moved = true;
        const directories = by.scope.directories();
        if (node.descriptor?.type === "FileDescriptorVariable" || !isHarmlessSink(item.value))
          writes.push({
            file: item.value,
            disk: directories.some((cwd) => isDisk(item.value, cwd)),
            appends: operator.endsWith(">>"),
            directories,
          });
      }
    }
    if (items.length !== 1) by.uncertain("a redirection to several or no files");
  }
  return { input: now, writes, moved, mayFail };
}

/** buddy uses 9 to see whether everything that a text started has ended; bash uses 10 and above. */
function isOfRunner(descriptor: number | undefined): boolean {
  return descriptor !== undefined && descriptor >= 9;
}

/** An unknown name may be a connection or a device; a number in a path of /proc is neither. */
function mayBeAnything(value: string): boolean {
  return isUnknown(value.startsWith("/proc/") ? value.replaceAll(NUMBER, "1") : value);
}

/** `1< file`, `1>&3`: then `/dev/stdout` names a file, which a later `> /dev/stdout` would open for writing. */
function opensOutputToRead(descriptor: number, operator: string, value: string): boolean {
  if (descriptor !== 1 && descriptor !== 2) return false;
  return operator === "<" || (/^[<>]&$/.test(operator) && !/^(?:[12]-?|-)$/.test(value));
}

function known(values: readonly string[], end: string): Input {
  // All possible texts are checked, one after the other.
  return values.length === 0
    ? { kind: "unknown" }
    : { kind: "known", text: values.map((value) => value + end).join("\n"), guessed: values.length > 1 };
}

function heredocValues(node: Redirection & { type: "HereDoc" }, by: Expansion): readonly string[] {
  const { body } = node;
  for (const part of body.parts ?? []) quotesInQuotes(part, by);
  return wordValues({ type: "Word", text: "", value: body.text, pos: 0, end: 0, parts: body.parts }, by);
}
