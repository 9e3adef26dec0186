/** What goes wrong during a step: each row says where it can happen and does it once. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Seeded } from "../support/seeded.ts";
import { until } from "../support/until.ts";
import { processesOf } from "./processes-of.ts";
import type { World } from "./world.ts";

export interface Running {
  readonly world: World;
  /** The buddy of this step. */
  readonly pid: number;
  readonly random: Seeded;
  readonly place: string;
}

export interface StepFault {
  /** Places of a step that it can happen to; all unless given. */
  readonly on?: (place: string) => boolean;
  readonly possible?: (world: World) => boolean;
  /** Its own process was ended in a way that leaves it no last word. */
  readonly kills?: boolean;
  act(running: Running): Promise<void> | void;
}

const signal = (name: NodeJS.Signals, kills = false): StepFault => ({ kills, act: ({ pid }) => send(pid, name) });
const isSsh = (place: string): boolean => place.startsWith("ssh") || place === "fleet";

export const FAULTS: Readonly<Record<string, StepFault>> = {
  nothing: { act: () => {} },
  interrupted: signal("SIGINT"),
  terminated: signal("SIGTERM"),
  "hung up": signal("SIGHUP"),
  "killed with -9": signal("SIGKILL", true),
  "interrupted twice": {
    act: async ({ pid, random }) => {
      send(pid, "SIGINT");
      await pause(random.below(200));
      send(pid, "SIGINT");
    },
  },
  "stopped and continued": {
    act: async ({ pid, random }) => {
      send(pid, "SIGSTOP");
      await pause(300 + random.below(2000));
      send(pid, "SIGCONT");
    },
  },
  "a pane killed": {
    on: (place) => place.endsWith("pane"),
    act: (running) => void tmux(running, ["kill-pane"]),
  },
  "the tmux server killed": {
    on: (place) => place.endsWith("pane"),
    act: (running) => {
      for (const pid of tmuxServers(running.world, running.place)) send(pid, "SIGKILL");
    },
  },
  "the tmux server stopped and continued": {
    on: (place) => place.endsWith("pane"),
    act: async ({ world, place, random }) => {
      const servers = tmuxServers(world, place);
      for (const pid of servers) send(pid, "SIGSTOP");
      await pause(200 + random.below(1500));
      for (const pid of servers) send(pid, "SIGCONT");
    },
  },
  "connections dropped": { on: isSsh, act: ({ world }) => world.fleet?.drop() },
  "sshd killed": { on: isSsh, act: ({ world }) => world.fleet?.restart() },
  "a machine resets": { on: (place) => place === "fleet", act: ({ world }) => world.fleet?.proxy.cut() },
  "the container killed and started": {
    on: (place) => place.startsWith("container"),
    act: async ({ world: { container } }) => {
      // Another step may do the same at this moment.
      await container?.engine("kill", container.name).catch(() => {});
      const start = async () => await container?.engine("start", container.name);
      await until(start, "the container starts again", { everyMs: 200 });
    },
  },
  "the disk full, then free": {
    on: (place) => place === "small disk",
    possible: (world) => world.smallDisk !== undefined,
    act: async ({ world, random }) => {
      world.smallDisk?.fill();
      await pause(300 + random.below(1500));
      world.smallDisk?.free();
    },
  },
};

/** Those of the servers that a step at this place uses. */
function tmuxServers(world: World, place: string): number[] {
  const dir = isSsh(place) ? world.fleet?.dir : world.box.dir;
  if (dir === undefined) return [];
  return processesOf([`TMUX_TMPDIR=${dir}`])
    .filter(({ command }) => /^(?:\S*\/)?tmux\b.* new-session\b|^tmux: server/.test(command))
    .map(({ pid }) => pid);
}

/** On the private server of this machine, or of the machine that the place names. */
function tmux({ world, place }: Running, args: readonly string[]): void {
  const uid = process.getuid?.() ?? 0;
  const dir = isSsh(place)
    ? join(world.fleet?.machines.server.sockets ?? "", place.split(" ")[1] ?? "")
    : world.box.dir;
  const socket = join(dir, `tmux-${uid}`, "soak");
  if (existsSync(socket)) Bun.spawnSync(["timeout", "5", "tmux", "-S", socket, ...args], { stderr: "ignore" });
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself meanwhile.
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
