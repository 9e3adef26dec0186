/** The adopted shells of one pane, one inside the other: when an outer one is at its prompt, those in it have ended. */
import { type AdoptedPane, AdoptedShell } from "./adopted-shell.ts";

export class AdoptedShells {
  readonly #shells: { readonly shell: AdoptedShell; ended: () => void }[] = [];

  get innermost(): AdoptedShell | undefined {
    return this.#shells.at(-1)?.shell;
  }

  feed(bytes: Buffer): void {
    for (const { shell } of this.#shells.slice()) shell.feed(bytes);
  }

  /** What is in the foreground of the pane now, with buddy's hooks in it. */
  async adopt(pane: AdoptedPane, ended: () => void): Promise<AdoptedShell> {
    const shell = new AdoptedShell(pane, () => this.#endInside(shell));
    const entry = { shell, ended: () => {} };
    this.#shells.push(entry);
    try {
      await shell.start();
      entry.ended = ended;
      return shell;
    } catch (error) {
      const at = this.#shells.indexOf(entry);
      if (at >= 0) this.#shells.splice(at, 1);
      throw error;
    }
  }

  /** The pane's own prompt is back, or the pane is gone. */
  endAll(): void {
    for (const { shell, ended } of this.#shells.splice(0).toReversed()) {
      shell.end();
      ended();
    }
  }

  /** Takes the hooks out of the one that is at its prompt. */
  async leave(): Promise<void> {
    await this.innermost?.leave();
  }

  #endInside(outer: AdoptedShell): void {
    const at = this.#shells.findIndex(({ shell }) => shell === outer);
    if (at < 0) return;
    for (const { shell, ended } of this.#shells.splice(at + 1).toReversed()) {
      shell.end();
      ended();
    }
  }
}
