/** The keys a run knows, and the filters that take them out of what is shown, stored or sent on. */
import { HiddenSecrets, RedactedStream, redactor, secretHider, secretMask } from "../lib/redact.ts";

export class Secrets {
  readonly #known = new Set<string>();
  #redact = redactor([]);
  #mask = secretMask([]);

  learn(secrets: readonly string[]): void {
    for (const secret of secrets) this.#known.add(secret);
    this.#redact = redactor([...this.#known]);
    this.#mask = secretMask([...this.#known]);
  }

  /** Takes keys and tokens out of what is shown or stored. */
  readonly redact = (text: string): string => this.#redact(text);

  /** The same for text in pieces. */
  readonly redactedStream = (): RedactedStream => new RedactedStream([...this.#known]);

  /** Keeps the number of bytes: for outputs that are read by offset. */
  mask(text: string): string {
    return this.#mask(text);
  }

  /** Takes buddy's own secrets out of an answer, and nothing else. */
  readonly hide = (text: string): string => secretHider([...this.#known])(text);

  /** The same for text in pieces; undefined when there is nothing to hide. */
  hidden(): HiddenSecrets | undefined {
    return this.#known.size === 0 ? undefined : new HiddenSecrets([...this.#known]);
  }
}
