/** What completion offers from outside the command line: profiles, hosts, containers, sessions. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { askProgram } from "../../lib/start-child.ts";
import { stateDirectory } from "../../lib/user-directories.ts";

export type Source = "profiles" | "hosts" | "containers" | "sessions" | "approvals" | "files" | "directories";

export async function candidatesFor(source: Source): Promise<string[]> {
  switch (source) {
    case "profiles":
      return profiles();
    case "hosts":
      return sshHosts();
    case "containers":
      return containers();
    case "sessions":
      return ["last\tthe session used last", ...(await sessions())];
    case "approvals":
      return [
        "ask\task before every change",
        "all\tapprove everything",
        "none\trefuse what would ask",
        "10m\tapprove for ten minutes",
      ];
    case "files":
    case "directories":
      return [`:${source}`];
  }
}

async function profiles(): Promise<string[]> {
  const { loadConfig } = await import("../../config/load.ts");
  const loaded = await loadConfig({ env: process.env, cwd: process.cwd(), create: false });
  const { profileNames } = await import("../../config/profiles.ts");
  return profileNames(loaded).map((name) => `${name}\t${loaded.config.models[name]?.model ?? "built in"}`);
}

async function sessions(): Promise<string[]> {
  const { SessionStore } = await import("../../session/store.ts");
  const options = {
    cwd: process.cwd(),
    stateDirectory: stateDirectory(),
    redact: (text: string) => text,
    problem: () => {},
  };
  return new SessionStore(options)
    .list()
    .map(({ id, title }) => `${id}\t${title.replace(/[^\P{C}]/gu, " ").slice(0, 60)}`);
}

/** Host names of ~/.ssh/config and what it includes; patterns are not hosts. */
function sshHosts(): string[] {
  const home = process.env.HOME;
  if (home === undefined) return [];
  const hosts = new Set<string>();
  const seen = new Set<string>();
  const read = (path: string): void => {
    if (seen.has(path) || seen.size > 100) return;
    seen.add(path);
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch {
      return; // no such file: no hosts
    }
    for (const line of text.split("\n")) {
      const [, keyword = "", rest = ""] = /^\s*(\w+)(?:\s+|\s*=\s*)(.*?)\s*$/.exec(line) ?? [];
      const words = rest.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', "")) ?? [];
      if (/^host$/i.test(keyword)) for (const word of words) if (!/[*?!]/.test(word)) hosts.add(word);
      if (/^include$/i.test(keyword)) for (const word of words) for (const file of included(word, home)) read(file);
    }
  };
  read(join(home, ".ssh/config"));
  return [...hosts];
}

function included(pattern: string, home: string): string[] {
  const path = resolve(join(home, ".ssh"), pattern.replace(/^~(?=\/)/, home));
  if (!/[*?[]/.test(path)) return [path];
  return [...new Bun.Glob(path.slice(1)).scanSync({ cwd: "/", absolute: true, dot: true })].sort();
}

function containers(): string[] {
  for (const engine of ["docker", "podman"]) {
    const path = Bun.which(engine);
    if (path === null) continue;
    // A daemon that does not answer must not hang the shell, nor hide the containers of the other engine.
    const { stdout, code } = askProgram([path, "ps", "--format", "{{.Names}}\t{{.Image}}"], { timeoutMs: 2_000 });
    if (code === 0) return stdout.split("\n").filter(Boolean);
  }
  return [];
}
