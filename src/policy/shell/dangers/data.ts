/** Deleting stored data: databases, volumes, cluster and cloud stores (templates/dangers/data.txt). */
import table from "../../../../templates/dangers/data.txt" with { type: "text" };
import { programName } from "../syntax/field.ts";
import type { FoundCommand } from "../syntax/findings.ts";
import type { Danger } from "./danger.ts";
import { DangerTable, knownWords, matches } from "./danger-table.ts";
import { mongoDeletes, redisDeletes, sqlDeletes } from "./sql.ts";

export function dataDanger({ argv, input }: FoundCommand): Danger | undefined {
  const rows = dataTable().of(programName(argv[0]?.value ?? ""));
  if (rows.length === 0) return undefined;
  const args = argv.slice(1).map(({ value }) => value);
  const known = knownWords(args);
  const row = rows.find((one) => {
    if (one.reader === undefined) return matches(one, known);
    const deletes = READERS[one.reader];
    return deletes !== undefined && textsOf(args, input).some(deletes);
  });
  if (row === undefined) return undefined;
  return {
    check: "data",
    why: `it ${row.words}`,
    instead: "Look first at what is there, and let the operator delete it by hand.",
  };
}

let rows: DangerTable | undefined;

export function dataTable(): DangerTable {
  return (rows ??= new DangerTable(table));
}

/** Arguments, values that are glued to their option, and the literal input. */
function textsOf(args: readonly string[], input: string | undefined): string[] {
  const glued = args.flatMap((arg) => /^(?:--[\w-]+=|-[A-Za-z])([^]+)$/.exec(arg)?.[1] ?? []);
  return [...args, ...glued, ...(input === undefined ? [] : [input])];
}

const READERS: Readonly<Record<string, (text: string) => boolean>> = {
  SQL: sqlDeletes,
  MONGO: mongoDeletes,
  REDIS: redisDeletes,
};
