/** The environment of the tests. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestRun } from "./test-leftovers.ts";

/**
 * What tests see, and no more, whoever runs them: proxies, colors, editors, locales, GIT_… and BUDDY_… of the developer are
 * for tests to set. Without a LANG, as in a container, zsh shows each byte of a letter by its number; where TERM is dumb, as
 * in some continuous integration, buddy asks in plain lines.
 */
export function testEnvironment(root: string, { dir, bin, containers }: TestRun): Record<string, string | undefined> {
  const HOME = join(root, "coverage/home");
  mkdirSync(HOME);
  // ssh finds the developer's configuration by the password file, not by HOME.
  const ssh = Bun.which("ssh");
  if (ssh !== null) writeFileSync(join(bin, "ssh"), `#!/bin/sh\nexec ${ssh} -F none "$@"\n`, { mode: 0o755 });
  // podman keeps a process and directories for a user: for this one those that go with the tests. (It takes a `$` in a
  // path, as homes of tests have it, for a variable.)
  const podman = process.getuid?.() === 0 ? null : Bun.which("podman");
  if (podman !== null)
    writeFileSync(
      join(bin, "podman"),
      `#!/bin/sh\nHOME=${containers} XDG_RUNTIME_DIR=${containers}/xdg exec ${podman} "$@"\n`,
      {
        mode: 0o755,
      },
    );
  // As root in a checkout of somebody else's git says no more than that.
  writeFileSync(join(HOME, ".gitconfig"), `[safe]\n  directory = ${JSON.stringify(root)}\n`);
  const { PATH, USER, LOGNAME, BUDDY_SEED, BUDDY_FUZZ, BUDDY_SOAK_SEED, BUDDY_TEST_SHELL } = process.env;
  return {
    PATH: `${bin}:${PATH}`,
    USER,
    LOGNAME,
    HOME,
    TMPDIR: dir,
    LANG: process.platform === "darwin" ? "en_US.UTF-8" : "C.UTF-8",
    TERM: "xterm",
    BUDDY_TEST_NEEDS: join(root, "coverage/needs"),
    BUDDY_TEST_CONTAINERS: containers,
    BUDDY_SEED,
    BUDDY_FUZZ,
    BUDDY_SOAK_SEED,
    BUDDY_TEST_SHELL,
  };
}
