/** The configuration in effect: which files, which values they set, which ones are doubtful. */
import { currentDirectory } from "../../../lib/byte-names.ts";
import { statSync } from "node:fs";
import { BuddyError } from "../../../lib/errors.ts";
import type { LoadedConfig } from "../../../config/load.ts";
import type { GlobalOptions } from "../../args/options.ts";
import { broken, type Finding, finding } from "./machine.ts";

export async function checkConfiguration(
  globals: GlobalOptions,
): Promise<{ findings: Finding[]; loaded: LoadedConfig | undefined }> {
  const { loadConfig, explainSetting } = await import("../../../config/load.ts");
  const { SETTINGS } = await import("../../../config/schema.ts");
  let loaded: LoadedConfig;
  try {
    loaded = await loadConfig({ flags: globals, env: process.env, cwd: currentDirectory(), create: false });
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return { findings: [broken("config", error)], loaded: undefined };
  }
  const { shownPath } = await import("../../../config/paths.ts");
  const findings: Finding[] = [];
  if (loaded.files.length === 0) {
    const text = "no configuration file; the defaults are used";
    findings.push(finding("config", "info", text, "buddy init writes one"));
  }
  for (const [i, file] of loaded.files.entries()) {
    const merged = i === 0 ? "" : `, merged over ${shownPath(loaded.files[0] ?? "", loaded)}`;
    findings.push(finding("config", "ok", `read ${shownPath(file, loaded)}${merged}`));
  }
  for (const key of loaded.origins.keys()) {
    const [section = "", name = ""] = key.split(".");
    const known = Object.hasOwn(SETTINGS, section) && Object.hasOwn(SETTINGS[section as keyof typeof SETTINGS], name);
    if (known) findings.push(finding("config", "info", explainSetting(loaded, key)));
  }
  // The others say themselves what to do: trust the file, chmod it, create the directory.
  for (const text of loaded.warnings)
    findings.push(finding("config", "warning", text, /\bunknown keys?\b/.test(text) ? "change the file" : undefined));
  findings.push(...(await permissions(loaded)));
  return { findings, loaded };
}

/** Files with secrets must be the owner's alone. */
async function permissions(loaded: LoadedConfig): Promise<Finding[]> {
  const { buddyPaths } = await import("../../../config/paths.ts");
  const paths = buddyPaths(loaded.env);
  if (paths === undefined) {
    const home = loaded.env.HOME;
    const why = home ? `the home directory ${home} does not exist` : "HOME is not set";
    return [finding("permissions", "warning", `${why}: nothing can be remembered`, home ? "create it" : "set HOME")];
  }
  return [paths.auth, paths.history, paths.trust].flatMap((path): Finding[] => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o077) === 0) return [];
    return [finding("permissions", "warning", `${path} can be read by other users`, `chmod 600 '${path}'`)];
  });
}
