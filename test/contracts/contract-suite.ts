/** One contract for every transport × shell: the same awkward commands, the same answers. */
import { hideFromChildren } from "../../src/lib/processes.ts";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Need, needs } from "../support/needs.ts";
import { openTestTarget, temporaryHome, type Where } from "../support/tmux.ts";
import { type Via, VIA_NEEDS } from "../support/via.ts";
import { CASES, type Place, type ShellName, whole } from "./shell-cases.ts";
import { UNASKED } from "./unasked-cases.ts";

export interface Combination {
  readonly where: Where;
  readonly shell: ShellName;
  /** What TargetOptions.shell is given. */
  readonly program?: string;
  readonly image?: "tmux" | "busybox";
}

function neededFor({ where, shell, program }: Combination): Need[] {
  const [, via] = /(chroot|nsenter|kubectl)$/.exec(where) ?? [];
  const place: Need[] = [
    ...(where.startsWith("ssh") ? (["sshd"] as const) : []),
    ...(where === "container" ? (["podman"] as const) : []),
    ...(via === undefined ? [] : VIA_NEEDS[via as Via]),
  ];
  const own = where === "local" && program !== undefined ? [program.split(" ")[0] as Need] : [];
  return [...place, ...own, ...(shell.startsWith("direct") ? [] : (["tmux"] as const))];
}

/** Places without python3 and less. */
const SMALL = /container|chroot|kubectl/;

const wanted = process.env["BUDDY_TEST_SHELL"];

/** The same cases in every combination; skipped where the machine cannot have it. */
export async function contractSuite(combinations: readonly Combination[]): Promise<void> {
  for (const { where, shell, program, image } of combinations) {
    if (wanted !== undefined && wanted !== `${where} ${shell}`) continue;
    const { describe } = await needs(...neededFor({ where, shell, ...(program === undefined ? {} : { program }) }));
    describe(`${where} ${shell}`, () => {
      let place: Place;
      let home: Disposable;

      beforeAll(async () => {
        home = temporaryHome();
        process.env["BUDDY_TEST_SECRET"] = "swordfish";
        hideFromChildren(["BUDDY_TEST_SECRET"]);
        process.env["BUN_OPTIONS"] = "--smol";
        const opened = await openTestTarget(
          where,
          {
            tmux: shell.startsWith("direct") ? "never" : "required",
            ...(program === undefined ? {} : { shell: program }),
          },
          image,
        );
        place = { ...opened, shell, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
      });

      afterAll(async () => {
        await place[Symbol.asyncDispose]();
        home[Symbol.dispose]();
        delete process.env["BUDDY_TEST_SECRET"];
        delete process.env["BUN_OPTIONS"];
      });

      for (const one of CASES) {
        if (one.in !== undefined && !one.in(shell)) continue;
        if (
          SMALL.test(where) &&
          /python3|less |bash -c/.test(String(one.command)) &&
          !(shell === "bash" && String(one.command).startsWith("bash"))
        )
          continue;
        // mksh reports no line: buddy reads the screen, and on a busy machine a line may be gone by then.
        const options = shell === "mksh" ? { retry: 3 } : {};
        const run = async () => {
          place.notices.length = 0;
          await one.before?.(place);
          const command = typeof one.command === "string" ? one.command : one.command(place);
          const running = place.target.shell.run(command, {
            waitMs: 15_000,
            onWaiting: (waiting) => place.notices.push({ kind: "info", text: waiting.for }),
            ...one.options,
          });
          const [result] = await Promise.all([running, one.during?.(place)]);
          try {
            await one.check(result, place);
          } finally {
            await one.after?.(place);
          }
          const next = await place.target.shell.run("echo next", { waitMs: 15_000 });
          expect({ outcome: next.outcome, output: whole(next) }).toEqual({
            outcome: { kind: "exited", code: 0 },
            output: "next\n",
          });
        };
        test(one.name, run, options);
      }

      for (const one of UNASKED) {
        test(`unasked: ${one.name}`, async () => {
          await place.target.locks.settled;
          await one.run(place, (text) =>
            place.target.shell.run(text, { waitMs: 15_000, unasked: { inNamespace: true } }),
          );
        });
      }
    });
  }
}
