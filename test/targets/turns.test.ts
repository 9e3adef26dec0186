import { expect, test } from "bun:test";
import { Turns } from "../../src/targets/turns.ts";

test("what was aborted before its turn gets none, also where nothing waits before it", async () => {
  const turns = new Turns();
  const ran: string[] = [];
  const act = (name: string) => async () => void ran.push(name);
  await turns.take(act("aborted"), AbortSignal.abort());
  await turns.take(act("next"), new AbortController().signal);
  await turns.idle();
  expect(ran).toEqual(["next"]);
});
