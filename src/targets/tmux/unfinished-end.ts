/** The beginning of a terminal sequence or character whose rest is still to come. */
export function unfinishedEnd(bytes: Buffer): Buffer {
  const escape = bytes.lastIndexOf(0x1b);
  if (escape >= 0 && !WHOLE_SEQUENCE.test(bytes.toString("latin1", escape))) return bytes.subarray(escape);
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(-back) : NOTHING;
  }
  return NOTHING;
}

const NOTHING = Buffer.alloc(0);
/** CSI, OSC, the other strings, and short ones. */
const WHOLE_SEQUENCE =
  // oxlint-disable-next-line no-control-regex
  /^\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*\x07|[PX^_][^\x1b]*\x07|[ -/]+[0-~]|[0-OQ-WYZ\\`-~=>])/;
