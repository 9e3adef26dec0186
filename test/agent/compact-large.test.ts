import { expect, test } from "bun:test";
import { summarise } from "../../src/agent/compact.ts";
import { History } from "../../src/agent/history.ts";
import { startModel } from "../support/model.ts";

test("a session of many megabytes is summarised from its ends: the middle is counted, not put together", async () => {
  await using model = startModel([{ text: "in short" }], { contextLimit: 8_000 });
  const history = new History();
  for (let i = 0; i < 4_000; i += 1) history.add({ role: "user", content: `prompt ${i} ${"x".repeat(2_000)}` });
  const { summary, replaced } = await summarise(history, 3_999, model.client, new AbortController().signal);
  expect(summary).toStartWith("in short");
  expect(replaced).toBe(3_999);
  const sent = JSON.stringify(model.requests[0]?.body);
  expect(sent).toContain("prompt 0 ");
  expect(sent).toContain("prompt 3998 ");
  expect(sent).not.toContain("prompt 2000 ");
  expect(sent.length).toBeLessThan(40_000);
});
