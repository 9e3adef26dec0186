/** Reads the JUnit file of `bun test`: how many passed, and the names of what failed or was skipped. */
import { existsSync, readFileSync } from "node:fs";

export interface TestReport {
  readonly passed: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
}

export function readTestReport(path: string): TestReport {
  const report = { passed: 0, failed: [] as string[], skipped: [] as string[] };
  if (!existsSync(path)) return report;
  const cases = readFileSync(path, "utf8").matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g);
  for (const [, attributes = "", body = ""] of cases) {
    const name = [attribute(attributes, "file"), attribute(attributes, "classname"), attribute(attributes, "name")]
      .filter((part) => part !== "")
      .join(" > ");
    if (/<(failure|error)\b/.test(body)) report.failed.push(name);
    else if (body.includes("<skipped")) report.skipped.push(name);
    else report.passed += 1;
  }
  return report;
}

function attribute(text: string, name: string): string {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(text)?.[1] ?? "";
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return value.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] ?? "");
}
