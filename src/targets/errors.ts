/** What can go wrong with a target, as classes: callers decide by class, never by the words of a message. */
import { BuddyError } from "../lib/errors.ts";

/** Another attempt cannot succeed: the machine was reached and refused, or what was asked for does not exist. */
export class PermanentRefusal extends BuddyError {}

/** The same name leads to a different machine or container than before: nothing is run there. */
export class MachineChanged extends PermanentRefusal {}

/** The target was closed by buddy itself while work on it was under way. */
export class TargetClosed extends PermanentRefusal {}

/** ssh could not log in, and would not the next time: tried again only when the operator asks for it. */
export class LoginRefused extends PermanentRefusal {}

/** The sshd allows fewer sessions on one connection than buddy needs (MaxSessions). */
export class TooFewSessions extends PermanentRefusal {}

/** The user may not read or write it; root might. */
export class PermissionDenied extends BuddyError {}

/** The connection dropped, or the machine cannot be reached now; another attempt may succeed. */
export class ConnectionLost extends BuddyError {}

/** The other side closed a connection that was being made, as an sshd does that gets too many at once. */
export class ConnectionDropped extends ConnectionLost {}

/** tmux answered: the session, its pane or its whole server does not exist any more. */
export class SessionGone extends BuddyError {}

/** tmux is present on the target but cannot be used; a direct shell can. */
export class TmuxUnusable extends BuddyError {}
