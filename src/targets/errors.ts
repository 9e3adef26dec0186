/** What can go wrong with a target, as classes: callers decide by class, never by the text of a message. */
import { BuddyError } from "../lib/errors.ts";

/** No further attempt can succeed: the machine refused, or what was asked for does not exist. */
export class PermanentRefusal extends BuddyError {}

/** The same name now leads to a different machine or container: nothing runs there. */
export class MachineChanged extends PermanentRefusal {}

/** buddy itself closed the target during this operation. */
export class TargetClosed extends PermanentRefusal {}

/** ssh could not log in; tried again only at the operator's request. */
export class LoginRefused extends PermanentRefusal {}

/** The sshd allows fewer sessions on one connection than buddy needs (MaxSessions). */
export class TooFewSessions extends PermanentRefusal {}

/** The user may not read or write it; root might. */
export class PermissionDenied extends BuddyError {}

/** The connection dropped, or the machine cannot be reached; another attempt may succeed. */
export class ConnectionLost extends BuddyError {}

/** The other side closed a new connection, as an overloaded sshd does. */
export class ConnectionDropped extends ConnectionLost {}

/** The tmux session, its pane or its whole server no longer exists. */
export class SessionGone extends BuddyError {}

/** tmux on the target cannot be used; a direct shell can. */
export class TmuxUnusable extends BuddyError {}
