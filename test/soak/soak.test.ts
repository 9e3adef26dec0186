/**
 * Two minutes of the soak, starting and ending included: everything at once, and nothing lost, doubled or left behind.
 */
import { expect, test } from "bun:test";
import { countsOf, soak } from "./soak.ts";

test("two minutes of everything at once: nothing is lost, doubled or left behind", async () => {
  const lines: string[] = [];
  const seed = Number(process.env["BUDDY_SOAK_SEED"] ?? 1);
  const report = await soak({ seed, seconds: 120, atOnce: 2, say: (line) => lines.push(line) });
  if (report.wrong.length > 0) console.log(`bun run soak --seed ${seed}\n${lines.join("\n")}`);
  expect(report.wrong).toEqual([]);
  expect(Object.keys(countsOf(report)["faults"] ?? {}).length).toBeGreaterThan(3);
}, 600_000);
