import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quote, quoteAll } from "../../src/lib/quote.ts";
import { LOADER, loaderLine, OWN_DIRECTORY, quoteOnOneLine } from "../../src/targets/script-line.ts";
import { available } from "../support/needs.ts";

const AWKWARD = [
  "",
  "plain",
  "two words",
  "it's",
  `"double"`,
  "$HOME `id` $(id)",
  "back\\slash\\",
  "new\nline\n",
  "!history!",
  "-dash",
  "*?[a]{b,c}",
  "~root",
  "=ls",
  "tab\there",
  "ümläut 漢字 🙂",
  "#comment",
  "a;b&c|d>e<f",
];

const PRESENT: readonly string[] = ["sh", ...(await available("bash", "busybox", "mksh", "zsh", "fish"))];
const SHELLS = [["sh"], ["bash"], ["busybox", "ash"], ["mksh"], ["zsh"]].filter(([name = ""]) =>
  PRESENT.includes(name),
);

test.each(SHELLS)("%s reads quoted words as they were", (...shell) => {
  const script = `printf '%s\\0' ${quoteAll(AWKWARD)}`;
  const { stdout } = Bun.spawnSync([...shell.filter((word) => typeof word === "string"), "-c", script]);
  expect(stdout.toString().split("\0").slice(0, -1)).toEqual(AWKWARD);
});

test.each(PRESENT.filter((name) => name !== "busybox").map((name) => [name]))(
  "a login shell %s passes the loader on unharmed",
  (shell) => {
    const script = `printf '%s\\0' ${quoteAll(AWKWARD)}; cat`;
    const { stdout } = Bun.spawnSync([shell, "-c", `exec sh -c '${LOADER}'`], {
      stdin: Buffer.from(`${loaderLine(script)}the rest\n`),
    });
    const words = stdout.toString().split("\0");
    expect(words.slice(0, -1)).toEqual(AWKWARD);
    expect(words.at(-1)).toBe("the rest\n");
  },
);

test("one line stays one line", () => {
  expect(quoteOnOneLine("a\nb'\nc")).not.toContain("\n");
});

test("NUL cannot be passed and is refused", () => {
  expect(() => quote("a\0b")).toThrow("NUL");
});

// mksh passes no file above 2 on to a program.
test.each(SHELLS.filter(([name]) => name !== "zsh" && name !== "mksh"))(
  "%s: the lock of a directory is not made through a link",
  (...shell) => {
    const directory = mkdtempSync(join(tmpdir(), "buddy-test-"));
    const lock = join(directory, "lock");
    const take = () =>
      Bun.spawnSync([
        ...shell.filter(Boolean),
        "-c",
        `${OWN_DIRECTORY}\n__buddy_lock "$1"\necho on; flock -n 9 && echo held`,
        "sh",
        directory,
      ]).stdout.toString();
    try {
      symlinkSync(join(directory, "elsewhere"), lock);
      expect([take(), existsSync(join(directory, "elsewhere"))]).toEqual(["on\nheld\n", false]);
      expect(take()).toBe("on\nheld\n");
      // Something else than a file: without a lock, it neither ends nor waits.
      rmSync(lock);
      mkdirSync(lock);
      expect(take()).toBe("on\n");
      rmSync(lock, { recursive: true });
      Bun.spawnSync(["mkfifo", lock]);
      expect(take()).toBe("on\n");
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
);
