/** Reads the JUnit file of `bun test`: how many passed, what failed and why, what was skipped. */
import { existsSync, readFileSync } from "node:fs";

export interface TestReport {
  readonly passed: number;
  readonly failed: readonly FailedTest[];
  readonly skipped: readonly string[];
}

export interface FailedTest {
  readonly name: string;
  readonly why: string;
}

export function readTestReport(path: string): TestReport {
  const report = { passed: 0, failed: [] as FailedTest[], skipped: [] as string[] };
  if (!existsSync(path)) return report;
  const cases = readFileSync(path, "utf8").matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g);
  for (const [, attributes = "", body = ""] of cases) {
    const name = [attribute(attributes, "file"), attribute(attributes, "classname"), attribute(attributes, "name")]
      .filter((part) => part !== "")
      .join(" > ");
    const failure = /<(?:failure|error)\b([^>]*)/.exec(body)?.[1];
    if (failure !== undefined) report.failed.push({ name, why: attribute(failure, "message").trim() });
    else if (body.includes("<skipped")) report.skipped.push(name);
    else report.passed += 1;
  }
  return report;
}

function attribute(text: string, name: string): string {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(text)?.[1] ?? "";
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&", "#10": "\n" };
  return value.replace(/&(lt|gt|quot|apos|amp|#10);/g, (_, entity: string) => entities[entity] ?? "");
}
