/** Looks for secrets where none may be: in everything a model got, and in every file below a directory. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** The places that hold one of these values, in the clear or in base64. */
export function leaks(
  values: readonly string[],
  places: { readonly texts?: Readonly<Record<string, string>>; readonly directories?: readonly string[] },
  except: readonly string[] = [],
): string[] {
  const forms = values.flatMap((value) => [value, Buffer.from(value).toString("base64").replace(/=+$/, "")]);
  const found: string[] = [];
  const look = (where: string, text: string): void => {
    for (const form of forms) if (text.includes(form)) found.push(`${where}: ${form.slice(0, 12)}…`);
  };
  for (const [where, text] of Object.entries(places.texts ?? {})) look(where, text);
  for (const directory of places.directories ?? [])
    for (const path of filesBelow(directory))
      if (!except.some((one) => path.endsWith(one))) look(path, readFileSync(path, "latin1"));
  return found;
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return [];
    return stat.isDirectory() ? filesBelow(path) : stat.isFile() ? [path] : [];
  });
}
