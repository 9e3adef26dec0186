import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { devDependencies, scripts } from "../../package.json";

const ROOT = join(import.meta.dir, "../..");

interface Workflow {
  readonly on: Record<string, unknown>;
  readonly jobs: Record<
    string,
    { needs?: string; permissions?: object; "timeout-minutes"?: number; steps: { run?: string; uses?: string }[] }
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

describe("the workflows", () => {
  test.each(["ci", "release"])("%s runs the test command of the README", (name) => {
    expect(runs(name)).toContain(`'${testCommand}'`);
  });

  test.each(["ci", "release"])("%s names only scripts and a Bun that are there", (name) => {
    const text = runs(name);
    for (const [, path = ""] of text.matchAll(/\bbun (scripts\/\S+)/g)) expect(existsSync(join(ROOT, path))).toBe(true);
    for (const [, script = ""] of text.matchAll(/\bnpm (?:run )?(\w+)/g))
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
    expect(runs("release", "build")).toContain('"$GITHUB_REF_NAME"');
    expect([jobs["smoke"]?.needs, jobs["publish"]?.needs]).toEqual(["build", "smoke"]);
    expect(runs("release", "publish")).toContain("--notes-file NOTES.md release/*");
    expect(Object.entries(jobs).flatMap(([name, { permissions }]) => (permissions ? [name] : []))).toEqual(["publish"]);
  });
});
