/** A line being typed at a prompt, as the screen shows it. */
import { ScreenText } from "../output/screen-text.ts";

const MAX_BYTES = 8192;

export class TypedLine {
  #bytes = 0;
  readonly #screen = new ScreenText(() => {});

  write(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes < MAX_BYTES) this.#screen.write(bytes);
  }

  text(): string {
    return this.#screen.pending().split("\n").join(" ").trim();
  }

  firstLine(): string {
    return this.#screen.pending().split("\n")[0]?.trim() ?? "";
  }
}
