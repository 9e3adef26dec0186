/**
 * Which small mistakes do the tests not notice? `bun run mutate [--room R,…] [--count N] [--seed S]`
 * All mistakes are compiled in at once, each behind a switch; a mistake is tried with the tests that reach its place.
 */
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { Seeded } from "../test/support/seeded.ts";
import { KINDS, type Place, placesIn, withMistakes } from "./mutate-places.ts";
import { testEnvironment } from "./test-environment.ts";
import { startTestRun } from "./test-leftovers.ts";

const ROOT = join(import.meta.dir, "..");
/** They look at the source, build releases, or try everything at random. */
const NOT_TRIED = /^test\/(?:architecture|scripts\/|soak\/|fuzz\/|journeys\/docs)/;
/** For how long tests of other rooms are tried with a mistake, and looked for, before it counts as not noticed. */
const MISTAKE_MS = 180_000;
const MOST_MEMORY = 4e9;

const { values } = parseArgs({
  options: {
    room: { type: "string", default: "agent,app,changes,policy,session,targets,ui" },
    count: { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    workers: { type: "string", default: String(navigator.hardwareConcurrency) },
  },
});
const [count, seed] = [Number(values.count), Number(values.seed)];
const random = new Seeded(seed);

interface Mistake {
  readonly id: number;
  readonly path: string;
  readonly place: Place;
  /** The source as it was when the mistakes were drawn. */
  readonly source: string;
}
interface TestFile {
  readonly path: string;
  readonly usualMs: number;
}
interface Tried {
  readonly passed: boolean;
  readonly reached: ReadonlySet<number>;
}

const mistakes = chooseMistakes();
if (mistakes.length === 0) throw new Error(`there is nothing to get wrong in src/${values.room}`);
const tests = testFiles();
console.log(`seed ${seed}: ${mistakes.length} mistakes in src/${values.room}, ${tests.length} test files`);
/** What a test file reaches, and whether it passes without a mistake: found out when it is first wanted. */
const baseline = new Map<string, Promise<Tried>>();
const queue = [...mistakes];
const survivors: Mistake[] = [];
let tried = 0;
const interrupt = new AbortController();
const stopped = interrupt.signal;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => interrupt.abort());
await Promise.all(Array.from({ length: Number(values.workers) }, (_, index) => worker(index)));
survivors.sort((a, b) => a.id - b.id);
console.log(`\n${tried - survivors.length} of ${tried} noticed; not noticed:`);
for (const one of survivors) console.log(`${one.id}: ${shown(one)}`);

function chooseMistakes(): Mistake[] {
  const files = values.room.split(",").flatMap((room) => [...new Bun.Glob(`src/${room}/**/*.ts`).scanSync(ROOT)]);
  const found = files.toSorted().flatMap((path) => {
    const source = readFileSync(join(ROOT, path), "utf8");
    return placesIn(path, source).map((place) => ({ path, place, source }));
  });
  const chosen: Mistake[] = [];
  // Each kind is drawn as often as any other: elements of lists would be most of all places.
  for (let tries = 0; chosen.length < count && tries < count * 50; tries++) {
    const kind = random.of(KINDS);
    const candidates = found.filter(({ place }) => place.kind === kind);
    const one = candidates.length === 0 ? undefined : random.of(candidates);
    const overlaps = ({ path, place: { start, end } }: Mistake) =>
      one !== undefined && path === one.path && start < one.place.end && one.place.start < end;
    if (one !== undefined && !chosen.some(overlaps)) chosen.push({ id: chosen.length, ...one });
  }
  return chosen;
}

function testFiles(): TestFile[] {
  const timings: Record<string, number> = JSON.parse(readFileSync(join(ROOT, "test/timings.json"), "utf8")).files;
  return [...new Bun.Glob("test/**/*.test.ts").scanSync(ROOT)]
    .filter((path) => !NOT_TRIED.test(path))
    .map((path) => ({ path, usualMs: timings[path] ?? 5000 }));
}

/** The tests of the file's own folder first, then those of its room, then the quick ones. */
function inOrder({ path }: Mistake): TestFile[] {
  const parts = dirname(path).split("/").slice(1);
  const distance = ({ path: test }: TestFile) => {
    const own = dirname(test).split("/").slice(1);
    const common = parts.findIndex((part, index) => own[index] !== part);
    return -(common === -1 ? parts.length : common);
  };
  return tests.toSorted((a, b) => distance(a) - distance(b) || a.usualMs - b.usualMs);
}

async function worker(index: number): Promise<void> {
  const copy = `/tmp/buddy-mutate-${process.pid}-${index}`;
  try {
    prepare(copy);
    for (let mistake = queue.shift(); mistake !== undefined && !stopped.aborted; mistake = queue.shift()) {
      const noticedBy = await firstToNotice(copy, mistake);
      if (stopped.aborted) return;
      tried++;
      if (noticedBy === undefined) survivors.push(mistake);
      console.log(`${mistake.id} ${noticedBy ?? "NOT NOTICED"}: ${shown(mistake)}`);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function firstToNotice(copy: string, mistake: Mistake): Promise<string | undefined> {
  const started = performance.now();
  for (const test of inOrder(mistake)) {
    const isOwn = test.path.split("/")[1] === mistake.path.split("/")[1];
    if (stopped.aborted || (!isOwn && performance.now() - started > MISTAKE_MS)) return undefined;
    let usual = baseline.get(test.path);
    if (usual === undefined) baseline.set(test.path, (usual = tryTests(copy, test, undefined)));
    const { passed, reached } = await usual;
    if (!passed || !reached.has(mistake.id)) continue;
    // Tried twice: a test that fails for another reason notices nothing.
    if (!(await tryTests(copy, test, mistake)).passed && !(await tryTests(copy, test, mistake)).passed)
      return test.path;
  }
  return undefined;
}

async function tryTests(copy: string, test: TestFile, mistake: Mistake | undefined): Promise<Tried> {
  const state = join(copy, ".mistakes");
  rmSync(state, { recursive: true, force: true });
  mkdirSync(state);
  // Some tests run as another user.
  chmodSync(state, 0o777);
  writeFileSync(join(state, "on"), String(mistake?.id ?? -1));
  rmSync(join(copy, "coverage"), { recursive: true, force: true });
  mkdirSync(join(copy, "coverage/needs"), { recursive: true });
  const run = startTestRun("/tmp", 500);
  const child = Bun.spawn([process.execPath, "test", "--timeout=60000", "--bail", test.path], {
    cwd: copy,
    env: testEnvironment(copy, run),
    stdio: ["ignore", "ignore", "ignore"],
    detached: true,
  });
  const end = () => process.kill(-child.pid, "SIGKILL");
  stopped.addEventListener("abort", end);
  const timer = setTimeout(end, 60_000 + 5 * test.usualMs);
  const memory = setInterval(() => residentBytes(child.pid) > MOST_MEMORY && end(), 500);
  const code = await child.exited;
  stopped.removeEventListener("abort", end);
  clearTimeout(timer);
  clearInterval(memory);
  await run.end();
  const reached = await Bun.file(join(state, "reached"))
    .text()
    .catch(() => "");
  return { passed: code === 0, reached: new Set(reached.split("\n").filter(Boolean).map(Number)) };
}

function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096;
  } catch {
    return 0;
  }
}

/** A copy of the checkout with all mistakes in it, and its binary. */
function prepare(copy: string): void {
  rmSync(copy, { recursive: true, force: true });
  const files = Bun.spawnSync(["git", "ls-files", "-co", "--exclude-standard"], { cwd: ROOT }).stdout.toString();
  for (const path of files.split("\n").filter(Boolean)) cpSync(join(ROOT, path), join(copy, path));
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  writeFileSync(join(copy, "src/mistakes.ts"), switchesFor(join(copy, ".mistakes")));
  for (const [path, here] of Map.groupBy(mistakes, (one) => one.path)) {
    const changed = withMistakes(
      here[0]?.source ?? "",
      here.map(({ id, place }) => ({ place, has: `__hasMistake(${id})` })),
    );
    const imported = relative(dirname(path), "src/mistakes.ts");
    const from = imported.startsWith(".") ? imported : `./${imported}`;
    writeFileSync(join(copy, path), `import { hasMistake as __hasMistake } from "${from}";\n${changed}`);
  }
  const built = Bun.spawnSync([process.execPath, "scripts/build.ts"], { cwd: copy, stderr: "pipe", stdout: "pipe" });
  if (built.exitCode !== 0) throw new Error(`the build with mistakes failed:\n${built.stderr.toString()}`);
}

/** Tests give buddy an environment of their own, so the switch is a file. */
function switchesFor(state: string): string {
  return `import { appendFileSync, readFileSync } from "node:fs";
const seen = new Set();
let on;
export function hasMistake(id) {
  if (!seen.has(id)) {
    seen.add(id);
    // In a container or another root it is not there: then no mistake is on.
    try {
      on ??= Number(readFileSync(${JSON.stringify(join(state, "on"))}, "utf8"));
      if (on === -1) appendFileSync(${JSON.stringify(join(state, "reached"))}, id + "\\n", { mode: 0o666 });
    } catch {}
  }
  return id === on;
}
`;
}

function shown({ path, source, place: { kind, line, start, end } }: Mistake): string {
  const text = source.slice(start, end).replaceAll(/\s+/g, " ");
  return `${path}:${line} ${kind}: ${text.length > 100 ? `${text.slice(0, 99)}…` : text}`;
}
