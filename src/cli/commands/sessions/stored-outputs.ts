/** `buddy sessions output`: what the commands of a saved session printed, in full. */
import { BuddyError } from "../../../lib/errors.ts";
import { outputsDirectory } from "../../../session/outputs.ts";
import { SessionOutputs } from "../../../targets/output/session-outputs.ts";

/** Without an id: the ids there are, one per line. */
export function* storedOutputs(state: string | undefined, session: string, output?: string): Generator<string> {
  const directory = state === undefined ? undefined : outputsDirectory(state, session);
  const outputs = new SessionOutputs({
    directory,
    prepare: () => {},
    temporary: () => directory ?? "",
    hide: () => (text) => text,
    failed: () => {},
    segmentBytes: 1 << 30,
    maxBytes: Number.POSITIVE_INFINITY,
  });
  const ids = outputs.ids();
  if (output === undefined) {
    if (ids.length === 0) yield "no output of this session was kept\n";
    for (const id of ids) yield `${id}\n`;
    return;
  }
  if (!ids.includes(output))
    throw new BuddyError("usage", `session ${session} has no output "${output}"`, {
      hint: ids.length === 0 ? "none are kept" : `buddy sessions output ${session} lists them`,
    });
  try {
    for (let offset = 0; ;) {
      const page = outputs.find(output)?.read({ offset });
      if (page === undefined) return;
      yield page.text;
      if (page.done || page.nextOffset <= offset) return;
      offset = page.nextOffset;
    }
  } finally {
    outputs.close();
  }
}
