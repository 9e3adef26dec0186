/** The keys that a run knows, the secrets it has found, and the filters that hide both. */
import { type HeldText, HiddenSecrets, redactedStream, redactor, secretHider } from "../lib/secrets/redact.ts";
import { type NamedSecret, Privacy } from "../policy/privacy/privacy.ts";

export interface SecretsOptions {
  /** [privacy] to_model is "mask". */
  readonly mask: boolean;
  /** Stores the secrets of the session; returns what went wrong. */
  keep(secrets: readonly NamedSecret[]): Promise<string | undefined>;
  readonly problem: (message: string) => void;
}

export class Secrets {
  /** Names for secrets that the model must not see. */
  readonly privacy: Privacy;
  readonly #known = new Set<string>();
  readonly #options: SecretsOptions;
  /** Made with the first text. */
  #redact: ((text: string) => string) | undefined;
  #kept: Promise<void> | undefined;

  constructor(options: SecretsOptions) {
    this.#options = options;
    let own: readonly string[] = [];
    this.privacy = new Privacy({
      mask: options.mask,
      own: () => (own.length === this.#known.size ? own : (own = [...this.#known])),
      changed: () => this.#keep(),
    });
  }

  learn(secrets: readonly string[]): void {
    for (const secret of secrets) this.#known.add(secret);
    this.#redact = undefined;
  }

  /** Takes keys and tokens out of what is shown or stored. */
  readonly redact = (text: string): string =>
    (this.#redact ??= redactor([...this.#known]))(this.privacy.maskKnown(text));

  /** The same for text in pieces. */
  readonly redactedStream = (): HeldText => redactedStream([...this.#known], this.redact);

  /** Takes buddy's own secrets, and those that have a name, out of an answer, and nothing else. */
  readonly hide = (text: string): string => secretHider([...this.#known])(this.privacy.maskKnown(text));

  /** The same for text in pieces; undefined when there is nothing to hide. */
  hidden(): HiddenSecrets | undefined {
    return this.#known.size === 0 ? undefined : new HiddenSecrets([...this.#known]);
  }

  /** Resolves when the secrets found so far are stored. */
  settled(): Promise<void> | undefined {
    return this.#kept;
  }

  /** Once for all secrets of one text. */
  #keep(): void {
    this.#kept ??= Promise.resolve().then(async () => {
      this.#kept = undefined;
      const problem = await this.#options.keep(this.privacy.list());
      if (problem !== undefined) this.#options.problem(problem);
    });
  }
}
