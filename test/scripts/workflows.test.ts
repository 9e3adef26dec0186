import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { devDependencies, scripts } from "../../package.json";
import { needs } from "../support/needs.ts";

const ROOT = join(import.meta.dir, "../..");

interface Workflow {
  readonly on: Record<string, unknown>;
  readonly permissions?: Record<string, string>;
  readonly jobs: Record<
    string,
    {
      needs?: string | string[];
      strategy?: object;
      permissions?: Record<string, string>;
      "timeout-minutes"?: number;
      steps: { run?: string; uses?: string; with?: Record<string, unknown> }[];
    }
  >;
}

function workflow(name: string): Workflow {
  return Bun.YAML.parse(readFileSync(join(ROOT, `.github/workflows/${name}.yml`), "utf8")) as Workflow;
}

function runs(name: string, job?: string): string {
  const jobs = Object.entries(workflow(name).jobs).filter(([key]) => job === undefined || key === job);
  return jobs.flatMap(([, { steps }]) => steps.map(({ run = "" }) => run)).join("\n");
}

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const testCommand = /^npx --yes bun@\S+ install --frozen-lockfile && npm test$/m.exec(readme)?.[0] ?? "none";

const checked = await needs("shellcheck");
checked.test("a step continued in the wrong directory after a failure: shellcheck has no objection to any", () => {
  const steps = ["ci", "release"].flatMap((name) => Object.values(workflow(name).jobs).flatMap((job) => job.steps));
  const objections = steps.flatMap(({ run }) => {
    if (run === undefined) return [];
    const script = run.replaceAll(/\$\{\{.*?\}\}/g, "value");
    const { stdout } = Bun.spawnSync(["shellcheck", "--shell=bash", "--format=gcc", "-"], {
      stdin: Buffer.from(script),
    });
    return stdout.length === 0 ? [] : [`${script}\n${stdout.toString()}`];
  });
  expect(objections).toEqual([]);
});

describe("the workflows", () => {
  test.each(["ci", "release"])("%s runs the test command of the README", (name) => {
    expect(runs(name)).toContain(`'${testCommand}'`);
  });

  test.each(["ci", "release"])("%s names only scripts and a Bun that are there", (name) => {
    const text = runs(name);
    for (const [, path = ""] of text.matchAll(/\bbun (scripts\/\S+)/g)) expect(existsSync(join(ROOT, path))).toBe(true);
    for (const [, script = ""] of text.matchAll(/\bnpm (?:run )?(?!version|publish|view)(\w+)/g))
      expect(Object.keys(scripts)).toContain(script);
    for (const [, version = ""] of text.matchAll(/\bbun@([\d.]+)/g)) expect(version).toBe(devDependencies.bun);
  });

  test.each(["ci", "release"])("every job of %s has a time limit", (name) => {
    for (const job of Object.values(workflow(name).jobs)) expect(job["timeout-minutes"]).toBeNumber();
  });

  test("a release comes from a tag that is the version, and is published when it has been tried", () => {
    const { on, jobs } = workflow("release");
    expect(on).toEqual({ push: { tags: ["v*"] } });
    expect(runs("release", "build")).toContain("bun scripts/release.ts");
    expect(runs("release", "test")).toContain('"$GITHUB_REF_NAME"');
    expect(["compare", "smoke", "publish"].map((name) => jobs[name]?.needs)).toEqual([
      "build",
      "compare",
      ["test", "smoke"],
    ]);
    expect(runs("release", "publish")).toContain("--notes-file NOTES.md release/*");
    expect(runs("release", "publish")).toContain("--prerelease");
  });

  test("a release is built twice and compared before anything else happens to it", () => {
    expect(workflow("release").jobs["build"]?.strategy).toEqual({ matrix: { machine: ["one", "two"] } });
    expect(runs("release", "compare")).toContain("diff --recursive");
  });

  test.each(["ci", "release"])("%s pins every action by commit, and says which version that is", (name) => {
    const lines = readFileSync(join(ROOT, `.github/workflows/${name}.yml`), "utf8").split("\n");
    const uses = lines.filter((line) => /\buses:/.test(line));
    expect(uses.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+(\.\d+)*$/.test(line))).toEqual([]);
  });

  test("only what publishes may write, and only what it writes", () => {
    const { jobs, permissions } = workflow("release");
    expect(permissions).toEqual({});
    const writing = Object.entries(jobs).map(([name, job]) => [
      name,
      Object.entries(job.permissions ?? {}).flatMap(([scope, level]) => (level === "write" ? [scope] : [])),
    ]);
    expect(Object.fromEntries(writing)).toEqual({
      test: [],
      build: [],
      compare: [],
      smoke: [],
      publish: ["contents", "id-token", "attestations"],
      distribute: ["id-token"],
    });
    const reading = Object.values(jobs).filter((job) => job.permissions?.["contents"] === "read");
    const checkingOut = Object.values(jobs).filter(({ steps }) =>
      steps.some(({ uses = "" }) => uses.startsWith("actions/checkout@")),
    );
    expect(reading).toEqual(checkingOut);
  });

  test.each(["ci", "release"])("a checkout of %s does not leave its token to what runs after it", (name) => {
    const steps = Object.values(workflow(name).jobs).flatMap((job) => job.steps);
    const checkouts = steps.filter(({ uses = "" }) => uses.startsWith("actions/checkout@"));
    expect(checkouts.filter((step) => step.with?.["persist-credentials"] !== false)).toEqual([]);
  });
});
