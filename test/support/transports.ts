/** The four places where processes can start, for suites that hold everywhere. */
import type { TargetOptions, Transport } from "../../src/targets/target.ts";
import { openTransport } from "../../src/targets/connection/open-transport.ts";
import { containerTarget, type Container, type ContainerWish } from "./container.ts";
import { type Need, needs } from "./needs.ts";
import { sshd } from "./sshd.ts";
import { placeOf } from "../../src/targets/place.ts";
import { targetOptions } from "./target-options.ts";

export type Place = "local" | "ssh" | "container" | "container on ssh";
const PLACES: readonly Place[] = ["local", "ssh", "container", "container on ssh"];

/** The same tests in every place; skipped where the machine cannot have it. */
export async function eachPlace(body: (place: Place) => void): Promise<void> {
  for (const place of PLACES) {
    const wanted: Need[] = place.includes("ssh") ? ["sshd"] : [];
    if (place.includes("container")) wanted.push("podman");
    const { describe } = await needs(...wanted);
    describe(place, () => body(place));
  }
}

export interface Opened extends AsyncDisposable {
  readonly transport: Transport;
  readonly options: TargetOptions;
  /** PATH and HOME with which another process reaches the same place. */
  readonly env: Readonly<Record<string, string>>;
  readonly container?: Container;
}

/** Several may be open at once and closed in any order: PATH only ever gets longer, once a directory. */
export async function openPlace(
  place: Place,
  more: Partial<TargetOptions> = {},
  wish?: ContainerWish,
): Promise<Opened> {
  const server = place.includes("ssh") ? await sshd() : undefined;
  const container = place.includes("container") ? await containerTarget(wish) : undefined;
  if (server !== undefined) prepend(server.env.PATH);
  if (container !== undefined) {
    prepend(container.env["PATH"] ?? "");
    if (server !== undefined)
      await Bun.$`ln -sf ${container.env["PATH"]?.split(":")[0]}/* ${server.remoteBin}/`.quiet();
  }
  const options: TargetOptions = targetOptions({
    tmuxSocket: "buddy-test",
    maxPanes: 5,
    place: placeOf({ ssh: server === undefined ? undefined : "lab", container: container?.name }),
    ...more,
  });
  const transport = await openTransport(options);
  return {
    transport,
    options,
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/" },
    ...(container === undefined ? {} : { container }),
    async [Symbol.asyncDispose]() {
      await transport[Symbol.asyncDispose]();
      await container?.[Symbol.asyncDispose]();
    },
  };
}

function prepend(path: string): void {
  const first = path.split(":")[0] ?? "";
  const now = (process.env["PATH"] ?? "").split(":");
  if (!now.includes(first)) process.env["PATH"] = [first, ...now].join(":");
}
