/** time: the clock of the machine buddy runs on, in the usual notations. */
import { z } from "zod";
import type { Tool } from "./tool.ts";

export const timeTool: Tool<Record<string, never>> = {
  name: "time",
  description: "Current time (buddy's clock, UTC).",
  input: z.strictObject({}),
  intent: () => ({ kind: "read", title: "time" }),
  run: () => {
    const result = clock(Date.now());
    return Promise.resolve({ ok: true, outcome: "done", result, display: String(result.iso8601) });
  },
};

function clock(millis: number): Record<string, unknown> {
  const iso = new Date(millis).toISOString();
  return {
    unix_seconds: Math.floor(millis / 1000),
    unix_millis: millis,
    // A string: JSON numbers lose nanoseconds.
    unix_nanos: (BigInt(millis) * 1_000_000n).toString(),
    iso8601: `${iso.slice(0, 19)}Z`,
    iso8601_millis: iso,
    rfc2822: new Date(millis).toUTCString().replace("GMT", "+0000"),
    date_utc: iso.slice(0, 10),
    time_utc: iso.slice(11, 19),
    weekday_utc: new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" }).format(millis),
  };
}
