/** The body of a request of megabytes, written while it is sent: as JSON and as bytes it would be in memory twice. */
import { gathered, jsonPieces } from "../../lib/json-pieces.ts";
import { wellFormed } from "../request-text.ts";

export class StreamedBody {
  /** Not every server takes a body of unknown length. */
  readonly bytes: number;
  readonly #pieces: () => Iterable<string>;

  constructor(body: object) {
    this.#pieces = () => gathered(jsonPieces(body)).map(wellFormed);
    let bytes = 0;
    for (const piece of this.#pieces()) bytes += Buffer.byteLength(piece);
    this.bytes = bytes;
  }

  // oxlint-disable-next-line require-await -- fetch asks for one piece after another
  async *send(): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    for (const piece of this.#pieces()) yield encoder.encode(piece);
  }
}
