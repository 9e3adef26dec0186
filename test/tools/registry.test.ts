import { expect, test } from "bun:test";
import { Registry } from "../../src/tools/registry.ts";
import { schemasOf } from "../../src/tools/schemas.ts";
import { readTool } from "../support/agent.ts";

test("a failed load of the tools was remembered for ever", async () => {
  const tools = [readTool("ok", () => ({ ok: true, outcome: "done", result: "" }))];
  let loads = 0;
  const registry = new Registry({
    schemas: schemasOf(tools),
    load: () => (++loads === 1 ? Promise.reject(new Error("too many open files")) : Promise.resolve(tools)),
  });
  expect(await registry.get("ok").catch((error: Error) => error.message)).toBe("too many open files");
  expect((await registry.get("ok"))?.name).toBe("ok");
  expect((await registry.get("ok"))?.name).toBe("ok");
  expect(loads).toBe(2);
});
