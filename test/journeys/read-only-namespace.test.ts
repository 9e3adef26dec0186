/**
 * In the read-only namespace, a wrong row in the table of what only reads changes no file, from the first command on: here,
 * over ssh, in a container.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Rows } from "../../src/policy/effects/notation.ts";
import { readOnlyRows } from "../../src/policy/shell/read-only/prove.ts";
import { call, shell } from "../support/calls.ts";
import { type Container, containerTarget } from "../support/container.ts";
import { Here } from "../support/in-process.ts";
import { needs } from "../support/needs.ts";
import { useSshd } from "../support/sshd.ts";

/** The table would say that this only reads. */
const wrong = new Rows(["touch\n  open PATH*\n"]);
const rows = readOnlyRows();
const of = rows.of.bind(rows);
beforeAll(() => {
  rows.of = (program) => (program === "touch" ? wrong.of(program) : of(program));
});
afterAll(() => {
  rows.of = of;
});

type Flags = NonNullable<Parameters<Here["turn"]>[0]>;

async function changesNothing(flags: Flags, first?: (here: Here) => void): Promise<void> {
  const name = `/tmp/buddy-wrong-row-${crypto.randomUUID()}`;
  await using here = new Here([
    shell(`touch ${name}`),
    shell(`touch ${name}-2 "$HOME"/x /dev/shm/x`),
    call("send-keys", {
      literal_text: `touch ${name}-3`,
      enter: true,
      risk: "low",
      mutation: false,
      privesc: false,
      why: "the test wants it",
    }),
    shell(`touch ${name}-4`, { mode: "background" }),
    (request) => call("shell_output", { shell_id: /sh-[0-9a-f]{8}/.exec(JSON.stringify(request.messages))?.[0] }),
    shell(`ls ${name} ${name}-2 ${name}-3 ${name}-4`),
    { text: "done" },
  ]);
  first?.(here);
  const run = await here.compose(flags);
  for await (const _ of run.agent.runTurn("do it", new AbortController().signal));
  expect(here.asked).toHaveLength(0);
  const results = here.results().map(String);
  expect(results[0]).toContain("Read-only file system");
  expect(results[1]).toContain("Read-only file system");
  expect(results[5]?.match(/No such file|cannot access/g)?.length).toBeGreaterThanOrEqual(4);
}

const linux = await needs("linux", "root", "tmux");
linux.test.each([
  ["a pane", { tmux: true }],
  ["a direct shell", { "no-tmux": true }],
] as const)("on this machine, in %s", (_, flags) => changesNothing(flags));

const overSsh = await needs("linux", "root", "sshd");
overSsh.test("over ssh", async () => {
  using server = await useSshd();
  await changesNothing({ ssh: "lab", "no-tmux": true }, () => {
    process.env["PATH"] = server.env.PATH;
  });
});

const inContainer = await needs("linux", "root", "podman");
inContainer.describe("in a container", () => {
  let container: Container;
  beforeAll(async () => {
    container = await containerTarget({ image: "tmux", run: ["--cap-add", "SYS_ADMIN"] });
  });
  afterAll(() => container[Symbol.asyncDispose]());
  test("that allows mount namespaces", () =>
    changesNothing({ container: container.name }, () => {
      process.env["PATH"] = container.env["PATH"];
    }));
});
