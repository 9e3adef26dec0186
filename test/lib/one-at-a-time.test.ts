import { expect, test } from "bun:test";
import { OneAtATime } from "../../src/lib/waiting.ts";

test("what was aborted before its turn gets none, also where nothing waits before it", async () => {
  const turns = new OneAtATime();
  const ran: string[] = [];
  const act = (name: string) => async () => void ran.push(name);
  await turns.take(act("aborted"), AbortSignal.abort());
  await turns.take(act("next"), new AbortController().signal);
  await turns.idle();
  expect(ran).toEqual(["next"]);
});
