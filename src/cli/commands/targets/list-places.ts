/** The names that can be used with --on, and the machines behind them. */
import { defined } from "../../../lib/values.ts";
import {
  nameInWords,
  namedPlaces,
  otherNames,
  ruleWords,
  rulesOfNames,
  spaced,
  whereabouts,
} from "../../../app/repl/change-machines.ts";
import { placeSources } from "../../../app/machines/places.ts";
import type { LoadedConfig } from "../../../config/load.ts";
import { shownPath } from "../../../config/paths.ts";
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import { foldNames } from "../../../lib/names.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { alignColumns, printable } from "../../../lib/text.ts";
import { atMost } from "../../../lib/waiting.ts";
import { NO_RULES } from "../../../policy/machine-rules.ts";
import { rulesByName } from "../../../app/machines/machine-rules.ts";
import { ruleFacts } from "../policy/rule-facts.ts";
import { destinationText } from "../../../targets/connection/ssh-destination.ts";
import type { PlaceSources } from "../../../targets/names/resolve-places.ts";
import { type ResolvedSsh, resolvedSsh, sshHosts } from "../../../targets/names/ssh-config.ts";
import { labelOfPath, type Place } from "../../../targets/place.ts";

interface ListOptions {
  readonly json?: boolean | undefined;
}

/** All names: those of the configuration with what they lead to, then the hosts of ~/.ssh/config. */
export async function listNames(sources: PlaceSources, loaded: LoadedConfig, args: ListOptions): Promise<ExitCode> {
  const rows = await namedPlaces(sources);
  const hosts = sshHosts(sources.home).names.filter((host) => !Object.hasOwn(sources.targets, host));
  const code = rows.some(({ problem }) => problem !== undefined) ? EXIT.failure : EXIT.ok;
  const rules = await rulesOfNames(rows, loaded, sources);
  if (args.json === true) {
    const listed = rows.map((row) => ({
      name: row.name,
      kind: row.kind,
      machines: row.places.map((place) => ({ name: place.name, place: labelOfPath(place.path) })),
      ...(rules.get(row) ? { rule_words: rules.get(row) } : {}),
      ...(row.problem === undefined ? {} : { problem: row.problem.message }),
    }));
    await print([jsonText({ targets: listed, ssh_hosts: hosts }, 2)]);
    return code;
  }
  const lines = alignColumns(
    rows.map((row) => [row.name, nameInWords(row, rules.get(row))]),
    24,
  );
  const own = shownPath(loaded.files[0] ?? "~/.config/buddy/buddy.toml", loaded);
  if (rows.length === 0) lines.push(`no [targets.NAME] in ${own}: name your machines there (buddy targets --help)`);
  if (hosts.length > 0) lines.push("", `hosts of ~/.ssh/config: ${spaced(foldNames(hosts))}`);
  if (sources.inventory !== undefined)
    lines.push("", `and the names of the inventory: ${shownPath(sources.inventory, loaded)}`);
  await print([`${printable(lines.join("\n"))}\n`]);
  return code;
}

const MOST_AT_ONCE = 8;

/** The machines themselves, with the user, host and port that ssh uses. */
export async function listPlaces(places: readonly Place[], loaded: LoadedConfig, args: ListOptions): Promise<void> {
  const sources = placeSources(loaded);
  const rows = await atMost(MOST_AT_ONCE, places, async (place) => {
    // A problem with ssh is shown where the host would be.
    const [ssh, rules] = await Promise.all([
      ofSsh(place),
      rulesByName(loaded.config, place, sources).catch(() => NO_RULES),
    ]);
    return { place, ssh, rules };
  });
  if (args.json === true) {
    const listed = rows.map(({ place: { name, names, path, cd, tmux }, ssh, rules }) => ({
      name,
      names,
      place: labelOfPath(path),
      path,
      ...defined({ ssh, cd, tmux }),
      ...ruleFacts(rules),
    }));
    return print([jsonText(listed, 2)]);
  }
  const lines = alignColumns(
    rows.map(({ place, ssh, rules }) => {
      const groups = otherNames(place);
      return [
        place.name,
        [
          whereabouts(place),
          ...(ssh === undefined ? [] : [resolvedWords(ssh)]),
          ...(groups.length === 0 ? [] : [`also: ${groups.join(", ")}`]),
          ...(ruleWords(rules) === "" ? [] : [`rules: ${ruleWords(rules)}`]),
        ].join("; "),
      ];
    }),
    24,
  );
  const notes = [...new Set(rows.flatMap(({ rules }) => rules.notes))];
  if (notes.length > 0) lines.push("", ...notes.map((note) => `note: ${note}`));
  if (places.length > 1) lines.push("", `${places.length} machines`);
  return print([`${printable(lines.join("\n"))}\n`]);
}

async function ofSsh({ path: [first] }: Place): Promise<ResolvedSsh | { readonly problem: string } | undefined> {
  if (first?.kind !== "ssh") return undefined;
  return resolvedSsh(first).catch((error: unknown) => {
    if (!(error instanceof BuddyError)) throw error;
    return { problem: error.message };
  });
}

function resolvedWords(ssh: ResolvedSsh | { readonly problem: string }): string {
  if ("problem" in ssh) return ssh.problem;
  const { port, jump } = ssh;
  const address = destinationText({ ...ssh, port: port === 22 ? undefined : port });
  return `${address}${jump === undefined ? "" : ` through ${jump}`}`;
}
