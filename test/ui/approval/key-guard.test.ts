/** Which keys answer a question, by a clock of the test's own. */
import { describe, expect, test } from "bun:test";
import { KeyGuard } from "../../../src/ui/approval/key-guard.ts";
import { KeyDecoder } from "../../../src/ui/terminal/keys.ts";
import { Seeded } from "../../support/seeded.ts";

/** Bytes, and how long before them nothing was typed. */
type Typed = readonly [pause: number, bytes: string];

/** The keys that answered, by name. */
function answers(...typed: readonly Typed[]): string[] {
  let now = 0;
  const guard = new KeyGuard(() => now);
  const decoder = new KeyDecoder();
  guard.shown();
  const out: string[] = [];
  for (const [pause, bytes] of [...typed, [10_000, ""] as const]) {
    const end = now + pause;
    for (let { due } = guard; due !== undefined && due <= end; { due } = guard) {
      now = due;
      out.push(...guard.look().answer.map(({ name }) => name));
    }
    now = end;
    const inputs = decoder.push(bytes);
    if (inputs.length > 0) out.push(...guard.take(inputs).answer.map(({ name }) => name));
  }
  return out;
}

const repeated = (bytes: string, times: number, every: number): Typed[] =>
  Array.from({ length: times }, (_, at) => [at === 0 ? 600 : every, bytes]);

describe("a key", () => {
  test.each<[string, Typed[], string[]]>([
    ["alone, after a moment", [[600, "y"]], ["y"]],
    ["at once", [[3, "y"]], []],
    [
      "while the keys have not rested",
      [
        [300, "x"],
        [300, "y"],
      ],
      [],
    ],
    [
      "again, after they have",
      [
        [3, "y"],
        [600, "y"],
      ],
      ["y"],
    ],
    [
      "and Enter, by hand",
      [
        [600, "y"],
        [100, "\r"],
      ],
      ["y"],
    ],
    [
      "of a written-out yes",
      [
        [600, "y"],
        [90, "e"],
        [90, "s"],
        [90, "\r"],
      ],
      ["y"],
    ],
    [
      "of no, which is entered",
      [
        [600, "n"],
        [90, "\r"],
      ],
      ["n", "enter"],
    ],
    [
      "of a word that begins like it",
      [
        [600, "y"],
        [90, "e"],
        [90, "l"],
        [90, "p"],
      ],
      [],
    ],
    [
      "of half a word",
      [
        [600, "y"],
        [90, "e"],
      ],
      [],
    ],
    [
      "tapped twice",
      [
        [600, "y"],
        [120, "y"],
      ],
      [],
    ],
    ["held down", repeated("y", 40, 30), []],
    ["in a burst", [[600, "yum list installed"]], []],
    ["in a burst of one letter a read", [..."yum list"].map((one, at): Typed => [at === 0 ? 600 : 2, one]), []],
    ["with Enter in a burst", [[600, "y\r"]], []],
    ["pasted", [[600, "\x1b[200~y\x1b[201~"]], []],
    [
      "before a paste",
      [
        [600, "y"],
        [50, "\x1b[200~y\x1b[201~"],
      ],
      [],
    ],
    ["Ctrl-C, which approves nothing, at any time", [[1, "\x03"]], ["c"]],
  ])("%s", (_, typed, expected) => expect(answers(...typed)).toEqual(expected));

  test("in a thousand bursts and pastes, in pieces of any size, answers nothing", () => {
    const random = new Seeded(41);
    const WORDS = [
      "yum list installed",
      "yes",
      "y",
      "always",
      "apt",
      "a\r",
      "cd /etc",
      "ls; y",
      "echo y | rm",
      "k",
      "clear",
    ];
    for (let round = 0; round < 1000; round++) {
      const text = `${random.of(WORDS)}${random.of(["", "\r", "\n", " ", "\ry\r"])}${random.of(WORDS)}`;
      const isPaste = random.below(10) < 3;
      const typed: Typed[] = [[random.of([0, 3, 200, 600, 5000]), ""]];
      if (isPaste) typed.push([0, `\x1b[200~${text}\x1b[201~`]);
      else
        for (let at = 0; at < text.length;) {
          const size = 1 + random.below(6);
          typed.push([random.below(24), text.slice(at, (at += size))]);
        }
      expect({ text, answered: answers(...typed) }).toEqual({ text, answered: [] });
    }
  });
});
