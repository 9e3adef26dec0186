/** Files looked at as a whole, and put back as they were, in every place. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { fileAccess } from "../../../src/targets/files/files.ts";
import type { FileAccess, RestorableState, Transport } from "../../../src/targets/target.ts";
import { eachPlace, openPlace, type Opened } from "../../support/transports.ts";

async function sh(transport: Transport, script: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await transport.run(script, { args });
  if (code !== 0) throw new Error(`${script}: ${code} ${stderr}`);
  return stdout.toString();
}

await eachPlace((place) => {
  let opened: Opened;
  let dir: string;
  let files: FileAccess;
  const run = (script: string) => sh(opened.transport, `cd "$1" && ${script}`, dir);
  const look = async (path: string, follow = false) => (await files.look([{ path, follow }]))[0]!;
  beforeAll(async () => {
    opened = await openPlace(place);
    dir = (await sh(opened.transport, "cd /tmp && mktemp -d /tmp/buddy-states-XXXXXX")).trim();
    files = fileAccess(opened.transport, { cwd: () => dir });
  });
  afterAll(async () => {
    await sh(opened.transport, 'rm -rf "$1"', dir);
    await opened[Symbol.asyncDispose]();
  });

  test("several files of every kind come in one answer, byte for byte", async () => {
    await run(`printf 'a\\0b\\377' >bin; : >empty; printf x >'new
line'; ln -s bin link; mkdir sub; printf s >sub/src; mkfifo pipe; chmod 4751 bin`);
    const seen = await files.look([
      { path: "bin", follow: false },
      { path: "empty", follow: false },
      { path: "new\nline", follow: false },
      { path: "link", follow: false },
      { path: "link", follow: true },
      { path: "sub", follow: false },
      { path: "sub/", inside: "src", follow: true },
      { path: "pipe", follow: false },
      { path: "nothing/here", follow: true },
    ]);
    expect(seen.map(({ path }) => path.slice(dir.length + 1))).toEqual([
      "bin",
      "empty",
      "new\nline",
      "link",
      "bin",
      "sub",
      "sub/src",
      "pipe",
      "nothing/here",
    ]);
    expect(seen.map(({ state }) => (state.kind === "unread" ? state.why : state.kind))).toEqual([
      "file",
      "file",
      "file",
      "link",
      "file",
      "directory",
      "file",
      "special",
      "missing",
    ]);
    const [bin] = seen;
    expect(bin?.state).toMatchObject({ mode: 0o4751, bytes: Uint8Array.from([97, 0, 98, 255]) });
  });

  test("a file over the limit is not read, and those behind it are", async () => {
    await run("printf 12345 >large; printf 1 >small");
    const places = ["large", "small"].map((path) => ({ path, follow: false }));
    const seen = await files.look(places, { maxBytes: 4 });
    expect(seen.map(({ state }) => state.kind)).toEqual(["unread", "file"]);
  });

  test("a removed file comes back with its content and mode", async () => {
    await run("printf secret >gone && chmod 640 gone");
    const { path, state } = await look("gone");
    await run("rm gone");
    await files.restore(path, state as RestorableState);
    expect((await look("gone")).state).toEqual(state);
  });

  test("an access control list that was added since is removed, in place and by a rename", async () => {
    await run("printf x >listed && ln listed listed-too && printf x >alone && chmod 640 listed alone");
    const before = [await look("listed"), await look("alone")];
    // It changes nothing where the system has none.
    await run("setfacl -m u:65534:rw,g:65534:r listed alone 2>/dev/null || :");
    for (const { path, state } of before) {
      await files.restore(path, state as RestorableState);
      expect((await look(path)).state).toEqual(state);
    }
  });

  test("a changed file gets its old content and mode; a hard link to it stays one", async () => {
    await run("printf old >linked && ln linked other && chmod 600 linked");
    const { path, state } = await look("linked");
    await run("printf newer >linked && chmod 644 linked");
    await files.restore(path, state as RestorableState);
    expect((await look("linked")).state).toEqual(state);
    expect(await run("cat other")).toBe("old");
  });

  test("a file is put back beside another one that was linked in its place, which stays as it is", async () => {
    await run("printf a >one; printf b >two");
    const { path, state } = await look("two");
    await run("ln -f one two");
    await files.restore(path, state as RestorableState);
    expect(await run("cat one two")).toBe("ab");
    // It had links then, too, but was another file.
    await run("ln two three");
    const linked = await look("three");
    await run("ln -f one three");
    await files.restore(linked.path, linked.state as RestorableState);
    expect(await run("cat one two three")).toBe("abb");
  });

  test("a created file is removed; a directory in its place is left alone", async () => {
    const { path, state } = await look("fresh");
    expect(state).toEqual({ kind: "missing" });
    await run("echo >fresh");
    await files.restore(path, state as RestorableState);
    expect((await look("fresh")).state).toEqual({ kind: "missing" });
    await run("mkdir fresh");
    expect(files.restore(path, state as RestorableState)).rejects.toThrow("directory");
  });

  test("a link comes back as a link, and a file in the place of one as a file", async () => {
    await run("printf 1 >one; printf 2 >two; ln -s one current");
    const link = await look("current");
    const one = await look("one");
    await run("ln -sf two current; ln -sf two one");
    await files.restore(link.path, link.state as RestorableState);
    await files.restore(one.path, one.state as RestorableState);
    expect((await look("current")).state).toEqual({ kind: "link", to: "one" });
    expect((await look("one")).state).toEqual(one.state);
    expect(await run("cat two")).toBe("2");
  });

  test("nothing is put back through a directory that became a link", async () => {
    await run("mkdir real elsewhere && printf x >real/f");
    const { path, state } = await look("real/f");
    await run("rm -r real && ln -s elsewhere real");
    expect(files.restore(path, state as RestorableState)).rejects.toThrow();
    expect(files.restore(path, { kind: "missing" })).rejects.toThrow();
    expect(await run("ls elsewhere")).toBe("");
  });
});
