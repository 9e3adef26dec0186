/** The files that a table of dangers names with FILES, and whether a path of a text is one of them. */
import { isUnknown, STAR } from "../syntax/field.ts";
import { globMatches } from "../syntax/glob.ts";
import type { DangerTable } from "./danger-table.ts";
import { resolved, startingAt } from "./protected-paths.ts";

export interface ListedFile {
  readonly section: string;
  /** Ends the sentence “it …”. */
  readonly words: string;
}

interface Pattern extends ListedFile {
  readonly home: boolean;
  readonly names: readonly string[];
}

export class ListedFiles {
  readonly #patterns: readonly Pattern[];

  constructor(table: DangerTable) {
    this.#patterns = table.files.map(({ section, words, path }) => ({
      section,
      words,
      home: path.startsWith("~"),
      names: path.replace(/^~/, "").split("/").filter(Boolean),
    }));
  }

  /** `path` as it is on the machine: absolute, or relative to a home. */
  at(path: string, home: boolean): ListedFile | undefined {
    return this.#find(path.split("/").filter(Boolean), home, covers);
  }

  /** `file` as a text names it, from wherever it may count. */
  named(file: string, { directories, cwd, whole = false }: From): (ListedFile & { readonly path: string }) | undefined {
    for (const directory of startingAt(directories, cwd)) {
      const { from, parts } = resolved(file, isUnknown(directory) ? "." : directory);
      if (from === ".") continue;
      const entry = this.#find(parts, from === "~", whole ? coversBelow : covers);
      if (entry !== undefined) return { ...entry, path: `${from === "~" ? "~" : ""}/${parts.join("/")}` };
    }
    return undefined;
  }

  #find(parts: readonly string[], home: boolean, covering: typeof covers): ListedFile | undefined {
    return this.#patterns.find((one) => one.home === home && covering(one.names, parts));
  }
}

interface From {
  readonly directories: readonly string[];
  readonly cwd: string | undefined;
  /** What is done to a directory is done to all below it. */
  readonly whole?: boolean;
}

/** `**` is anything below; a name of the text may hold globs of its own. */
function covers(names: readonly string[], parts: readonly string[]): boolean {
  if (names.at(-1) === "**") {
    const above = names.slice(0, -1);
    return parts.length >= above.length && covers(above, parts.slice(0, above.length));
  }
  return (
    names.length === parts.length &&
    names.every((name, at) => {
      const part = parts[at] as string;
      return globMatches(name.replaceAll("*", STAR), part) || globMatches(part, name.replaceAll("*", ""));
    })
  );
}

function coversBelow(names: readonly string[], parts: readonly string[]): boolean {
  return covers(names, parts) || (parts.length > 0 && covers(names.slice(0, parts.length), parts));
}
