/** The beginning of a terminal sequence or character whose rest is still to come. */
import { wholeCharacters } from "../../lib/whole-characters.ts";

export function unfinishedEnd(bytes: Buffer): Buffer {
  const escape = bytes.lastIndexOf(0x1b);
  if (escape >= 0 && !WHOLE_SEQUENCE.test(bytes.toString("latin1", escape))) return bytes.subarray(escape);
  return bytes.subarray(wholeCharacters(bytes));
}

/** CSI, OSC, the other strings, and short ones. */
const WHOLE_SEQUENCE =
  // oxlint-disable-next-line no-control-regex
  /^\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*\x07|[PX^_][^\x1b]*\x07|[ -/]+[0-~]|[0-OQ-WYZ\\`-~=>])/;
