/** Which shell or pane a call means. */
import { defined } from "../lib/values.ts";
import type { Pane, Shell, Target } from "../targets/target.ts";

interface Selection {
  readonly target?: string | undefined;
  readonly session?: string | undefined;
  readonly pane?: string | undefined;
}

/** The shared pane or direct shell, or another managed pane. */
export async function shellFor(target: Target, select: Selection): Promise<Shell> {
  if (select.session === undefined && select.pane === undefined) return target.shell;
  return paneFor(target, select);
}

export async function paneFor(target: Target, select: Selection): Promise<Pane> {
  const any = select.target === undefined && select.session === undefined && select.pane === undefined;
  if (target.panes === undefined && target.ownPane !== undefined && any) return target.ownPane;
  if (target.panes === undefined) throw new NoTmux();
  return target.panes.pane(defined({ session: select.session, pane: select.pane, target: select.target }));
}

/** The call needs a target with tmux. */
export class NoTmux extends Error {
  constructor() {
    super('this target has no tmux: leave out session and pane; for long work use mode="background"');
    this.name = "NoTmux";
  }
}
