/**
 * The contracts of execution: WHERE a process starts (Transport) × HOW commands run there (Shell), joined in a Target.
 */
import type { LineEnds, TextEncodingName } from "../lib/text-encoding.ts";
import type { Place } from "./place.ts";

export interface Target extends AsyncDisposable {
  readonly identity: TargetIdentity;
  readonly transport: Transport;
  /** The shared pane where there is tmux, otherwise a persistent direct shell. */
  readonly shell: Shell;
  readonly files: FileAccess;
  readonly background: BackgroundShells;
  /** Present where the target has tmux. */
  readonly panes?: Panes | undefined;
  /** Without `panes`: the operator's own tmux pane that buddy was started in; for capture and keys only. */
  readonly ownPane?: Pane | undefined;
  readonly locks: Locks;
  /** It is a shell that the operator started in the shared pane, without a connection of its own. */
  readonly isAdopted?: boolean;
  /** That shell sees other files than the connection, or runs as another user: what needs the connection is refused. */
  readonly isElsewhere?: boolean;
  /** With tmux: works in the shell that the operator started in the shared pane, as its user and on its machine. */
  adopt?(): Promise<TargetIdentity>;
  /** The target as it is now: it does not change to the pane's own shell when an adopted shell ends. */
  now?(): Target;
  /** Notices for the operator and the model: reconnected, pane recreated, state lost, the operator ran something. */
  onNotice(listener: (notice: TargetNotice) => void): () => void;
}

export interface TargetNotice {
  readonly kind: "info" | "warning" | "lost-state" | "reconnecting" | "reconnected" | "operator";
  readonly text: string;
}

/** Who and where, reported by the machine itself when it connects and checked again after a reconnect. */
export interface TargetIdentity {
  /** "local", "ssh deploy@web1", "container api", "container api on ssh deploy@web1": the whole path. */
  readonly label: string;
  readonly user: string;
  readonly host: string;
  /** machine-id, container id or the closest equivalent; never empty. */
  readonly machine: string;
  readonly os: string;
  readonly cwd: string;
  /** Name of the shell that runs commands: bash, zsh, fish, dash, ash, mksh, sh. */
  readonly shellName: string;
  /** Shell command the operator types to watch, if there is tmux. */
  readonly attach?: string | undefined;
  readonly tmuxSession?: string | undefined;
}

export interface Transport extends AsyncDisposable {
  readonly label: string;
  /** The transport on which it starts its processes; absent for this machine and over ssh. */
  readonly base?: Transport;
  readonly kind: "local" | "ssh" | "container" | "via";
  /** Path of docker or podman, for a container. */
  readonly engine?: string;
  /** Behind `via`: distinguishes the namespaces and environment of its processes from others. */
  readonly surroundings?: string;
  /** Starts argv on the target with piped stdio; no shell is involved unless argv names one. */
  spawn(argv: readonly string[], options?: SpawnOptions): Process;
  /** Makes sure that processes can be started: reconnects after a drop; throws if that fails. */
  ensure(signal?: AbortSignal): Promise<void>;
  /** At the operator's request: reconnects even after a refusal, and may ask for a password on the terminal. */
  reconnect(signal?: AbortSignal): Promise<void>;
  /** Whether the target itself answers in time; never reconnects. */
  answers(timeoutMs: number): Promise<boolean>;
  /** Resolves when processes on the target are gone although their clients still run; rejects when the signal fires. */
  gone?(signal: AbortSignal): Promise<void>;
  /** Opens a second connection without questions, to test that; returns why it fails. */
  connectAnew(signal: AbortSignal): Promise<string | undefined>;
  /** Closes without waiting for the target, which cleans up by itself: local processes and waits end at once. */
  abandon(): Promise<void>;
  /**
   * Runs a short POSIX sh script on a persistent runner: one round trip, several in parallel, bytes in and out.
   * Runs it again after a drop, so it must be safe to repeat.
   */
  run(script: string, options?: ScriptOptions): Promise<ScriptResult>;
  /** What the machine reports about itself; compared after every reconnect. */
  readonly facts: MachineFacts;
  readonly isReconnecting?: boolean;
  /** One of many machines: what needs no further session on its connection. Replaced by a reconnect. */
  readonly guardShell?: GuardShell | undefined;
}

/** Runs texts that need no approval, and holds the read-only namespace, in the session that every connection has. */
export interface GuardShell {
  /** In the marks that end a text. */
  readonly key: string;
  /** In the environment of everything that a text starts. */
  readonly job: string;
  /** The shell that runs texts: it takes lines from `line` and `question`, and marks the end of each with `key`. */
  texts(): LentProcess;
  line(script: string, tag: number, cwd: string): string;
  /** For the clean shell in the namespace, if it `stands`; the mark "incomplete" reports that it has not taken it. */
  question(text: string, tag: number, cwd: string): string;
  readonly stands: boolean;
  /** Makes the namespace, which ends with the connection; returns the line that its script prints. */
  start(namespace: NamespaceStart): Promise<string>;
  /** From now on the namespace follows new mounts of the machine; starting any other process has the same effect. */
  watch(): void;
  /** Starts another clean shell: lines of sh that look for the namespace, and words that enter it. */
  serveAgain(look: string, enter: string): void;
  /** The last text was stopped and may never end: it is not waited for. */
  forget(): void;
}

export interface NamespaceStart {
  /** Path of the clean shell; "" if it is not bash. */
  readonly bash: string;
  /** Where texts start. */
  readonly cwd: string;
  /** NAME=VALUE words of its environment. */
  readonly own: readonly string[];
}

export interface MachineFacts {
  readonly user: string;
  readonly uid: number;
  readonly host: string;
  /** machine-id, container id or the closest equivalent. */
  readonly machine: string;
  readonly os: string;
  /** Where processes start. */
  readonly cwd: string;
  readonly home: string;
  /** The PATH of the login, of it what only the user and root can change, outside the directory to work in. */
  readonly path: string;
  /** Path of the login shell; "" when unknown. */
  readonly loginShell: string;
  /** Paths of tmux, setsid and the shells that are installed. */
  readonly programs: Readonly<Record<string, string>>;
  /** "3.3a"; undefined without a working tmux. */
  readonly tmuxVersion?: string;
  /** Why the installed tmux does not work. */
  readonly tmuxProblem?: string;
  /** tmux is installed; on one of many machines its version is asked only when a pane is needed. */
  readonly tmuxUnasked?: boolean;
}

export interface ScriptOptions {
  /** "$1", "$2", … of the script. */
  readonly args?: readonly string[];
  /** stdin of the script; empty by default. */
  readonly input?: string | Uint8Array;
  /** How long the target may stay silent; 30 s by default. */
  readonly timeoutMs?: number;
  /** The script waits for something: it gets a runner of its own, so that others do not wait for it. */
  readonly slow?: boolean;
  /** The script uses only /proc and buddy's own files, so it cannot hang: it needs no runner. */
  readonly quick?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface ScriptResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A script that `ps` does not show. */
export interface ShellScript {
  /** "$0" of the script. */
  readonly name: string;
  readonly text: string;
  readonly args?: readonly string[];
}

export interface SpawnOptions {
  readonly signal?: AbortSignal;
  /** argv is a shell that runs this; what is written to stdin is for the script. */
  readonly script?: ShellScript;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A client (ssh, docker exec) or helper that ends by itself when its stdin ends, and gets time for that. */
  readonly isClient?: boolean;
}

/** A process on the target with its own session and group; it ends with the connection and with buddy. */
export interface Process {
  /** On the target; also the id of its group. Rejects if it never started. */
  readonly pid: Promise<number>;
  readonly stdin: { write(data: string | Uint8Array): void; end(): void };
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  /** 255 if the connection was lost. */
  readonly exited: Promise<number>;
  /** Signals the whole group; by default TERM, then KILL. */
  kill(signal?: NodeJS.Signals): void;
}

/** A process whose output is handed over as it comes: a stream would cost more than the few bytes it carries. */
export interface LentProcess extends Omit<Process, "stdout" | "stderr"> {
  /** A promise says that no more is to be read before it is settled. */
  listen(take: (stream: "stdout" | "stderr", bytes: Uint8Array) => Promise<void> | undefined): void;
}

export type RunOutcome =
  /** Non-zero is a result, not an exception. */
  | { readonly kind: "exited"; readonly code: number }
  /** `busy`: nothing was typed, because another program is in the foreground of the pane. */
  | { readonly kind: "running"; readonly why: "deadline" | "no-wait" | "busy"; readonly program?: string }
  | {
      readonly kind: "waiting";
      readonly for: "password" | "line" | "repl" | "full-screen";
      readonly program: string;
      /** Nothing was typed: the waiting program was in the foreground before. */
      readonly earlier?: true;
      /** The command needed no approval, so the operator is not asked for its password. */
      readonly uninvited?: true;
    }
  | { readonly kind: "incomplete"; readonly hint: string }
  | { readonly kind: "shell-ended"; readonly code: number }
  /** `guard`: a revert waits for its end. `unseen`: it may still run. */
  | { readonly kind: "stopped"; readonly by: "user" | "deadline" | "guard"; readonly unseen?: true }
  /** The connection, pane or shell is gone. `notRun`: the command did not run; otherwise that is not known. */
  | { readonly kind: "lost"; readonly why: string; readonly notRun?: true };

export interface RunResult {
  readonly outcome: RunOutcome;
  /** What the command printed, as a person would read it; head and tail if it was large. */
  readonly output: CapturedText;
  /** Only in direct shells; a pane has one stream. */
  readonly stderr?: CapturedText;
  readonly cwd: string;
  /** For reading the full text later. */
  readonly outputId?: string;
  readonly stderrId?: string;
  /** What else happened: the operator ran X, a half-typed line was set aside, … */
  readonly notes: readonly string[];
}

export interface CapturedText {
  readonly head: string;
  /** Empty when everything is in head. */
  readonly tail: string;
  /** Bytes left out between head and tail. */
  readonly omittedBytes: number;
  readonly totalBytes: number;
  /** Not text: control characters are left out of it. */
  readonly binary?: true;
}

export interface RunOptions {
  /** How long to wait; undefined: no limit. */
  readonly waitMs?: number;
  /** Send the command and return (panes only). */
  readonly noWait?: boolean;
  readonly signal?: AbortSignal;
  readonly onOutput?: (chunk: { stream: "stdout" | "stderr"; text: string }) => void;
  /** Characters kept of head and tail together. */
  readonly keep?: number;
  /** The command without its secrets: what a pane and its shell's history may show. */
  readonly shown?: string;
  /** The command was approved for this directory (`Shell.cwd`): if the shell has left it, the command does not run. */
  readonly onlyIn?: string;
  /** It only reads, so it needed no approval: it runs in a clean child, and only its last directory is kept. */
  readonly unasked?: Unasked;
  /** The command has not started yet, for a temporary reason: the operator is typing. */
  readonly onDelay?: (why: string) => void;
  /** Reports why the command waits, as soon as it is known (password prompt, ...). */
  readonly onWaiting?: (what: RunOutcome & { kind: "waiting" }) => void;
  /** Asks the operator when a program wants a password. */
  readonly password?: AskPassword;
}

/** A program on the target wants a password. */
export interface PasswordRequest {
  readonly program: string;
  /** The program's own prompt: "[sudo] password for deploy:". */
  readonly prompt: string;
  /** Where it would be typed; `shell`: a direct shell, into which only buddy can type. */
  readonly into: "pane" | "shell";
  /** Fires when the program no longer asks. */
  readonly signal: AbortSignal;
}

/** Undefined: the operator gave none. The bytes go only to that program; the receiver then overwrites them. */
export type AskPassword = (request: PasswordRequest) => Promise<Uint8Array | undefined>;

/** [safety] read_only_namespace. */
export type SecondLock = "auto" | "required" | "off";

/** Whether commands without approval run where every file system is read-only. */
export type NamespaceState =
  | { readonly kind: "making" }
  | {
      readonly kind: "ready";
      /** Files of other users keep their owner's name inside. */
      readonly owners: boolean;
      /** Programs inside cannot make it writable again. */
      readonly sealed: boolean;
    }
  | { readonly kind: "none"; readonly why: string };

/** The locks on commands that run without approval. */
export interface Locks {
  /** The shell of the clean child, whose syntax the policy must judge. */
  readonly shell: "bash" | "sh";
  readonly namespace: NamespaceState;
  /** Resolves when it is known whether there is a namespace. */
  readonly settled: Promise<NamespaceState>;
  /** The PATH of the commands. */
  readonly path: string;
  /** Whether they get this variable from their shell. */
  passesOn(name: string, value: string): boolean;
}

export interface Unasked {
  /** In the read-only namespace, if the target has one. */
  readonly inNamespace: boolean;
  /** For the model, with the result. */
  readonly note?: string;
  /** Variables that the command names: in its shell, but not in the environment of what it starts. */
  readonly variables?: readonly (readonly [name: string, value: string])[];
}

/** Where a command would run now, as the machine reports it. */
export interface ShellPlace {
  /** Links followed; "" if unknown. */
  readonly cwd: string;
  /** "" if unknown. */
  readonly user: string;
  /** What is in the foreground, if not the shell itself. */
  readonly program?: string;
  /** Name of the pane, if not the shared one. */
  readonly pane?: string;
  /** The text in the line at the prompt. */
  readonly typed: string;
  /** Where a program is in the foreground: the row of the screen up to the cursor. */
  readonly row?: string;
  /** And the command that started it, if known. */
  readonly running?: string;
}

export interface Shell {
  readonly kind: "tmux" | "direct";
  readonly cwd: string;
  where(): Promise<ShellPlace>;
  /** File on the target with the exported variables and the umask, as sh commands; may not exist yet. */
  readonly environmentFile?: string | undefined;
  /** Changes with each command that may have exported something; 0: none has. Undefined: not known. */
  readonly environmentVersion?: number | undefined;
  run(command: string, options?: RunOptions): Promise<RunResult>;
  /** Waits again for the command that was left running or waiting; if it has ended, returns its result. */
  wait(options?: Omit<RunOptions, "noWait">): Promise<RunResult>;
  /** Full text of an earlier command of this session, also from before a restart of buddy. */
  readOutput(id: string, options?: ReadOutputOptions): Promise<OutputPage>;
}

export interface ReadOutputOptions {
  /** Byte offset into the text. */
  readonly offset?: number;
  readonly limit?: number;
  /** Regular expression: only lines that match. */
  readonly filter?: string;
}

export interface OutputPage {
  readonly text: string;
  readonly nextOffset: number;
  readonly totalBytes: number;
  readonly done: boolean;
  /** What a filter left out: lines too long to search, or time ran out. */
  readonly note?: string;
}

/** Managed tmux objects, in addition to the shared pane. */
export interface Panes {
  /** A managed pane; by default the shared one. */
  pane(selector?: PaneSelector): Promise<Pane>;
  createSession(name: string): Promise<{ session: string; created: boolean }>;
  killSession(name: string): Promise<void>;
  createPane(name: string, session?: string): Promise<{ session: string; pane: string; created: boolean }>;
  killPane(name: string, session?: string): Promise<void>;
  list(): Promise<readonly ManagedPane[]>;
}

export interface PaneSelector {
  readonly session?: string;
  readonly pane?: string;
  /** A tmux -t target (legacy): any pane for capture, only managed ones for keys. */
  readonly target?: string;
}

export interface ManagedPane {
  readonly session: string;
  readonly pane: string;
  readonly shared: boolean;
  /** The program in the foreground. */
  readonly command: string;
  /** The line that the shell itself runs (`read x`, a loop); "" if unknown. */
  readonly running?: string;
}

export interface Pane extends Shell {
  readonly id: string;
  capture(options?: CaptureOptions): Promise<{ text: string; notice?: string }>;
  keys(options: KeysOptions): Promise<void>;
}

export interface CaptureOptions {
  readonly start?: number | "-";
  readonly end?: number | "-";
  readonly joinWrappedLines?: boolean;
  readonly preserveTrailingSpaces?: boolean;
  readonly includeEscapeSequences?: boolean;
  readonly escapeNonPrintable?: boolean;
  readonly includeAlternateScreen?: boolean;
  readonly delayMs?: number;
  readonly signal?: AbortSignal;
}

export interface KeysOptions {
  /** tmux key names: C-c, Enter, Up, F1, … */
  readonly keys?: readonly string[];
  readonly literalText?: string;
  readonly enter?: boolean;
  readonly delayMs?: number;
  /** What they were approved for: if program, user, directory or line have changed, nothing is typed. */
  readonly onlyWhere?: ShellPlace;
  readonly signal?: AbortSignal;
}

export interface FileAccess {
  /** The same files, accessed as root. */
  asRoot(how?: AsRootOptions): FileAccess;
  /** Follows `..` and symlinks on the target, at the end unless `follow` is false; the last name need not exist. */
  resolve(path: string, options?: { readonly follow?: boolean }): Promise<ResolvedPath>;
  read(path: string, options?: ReadOptions): Promise<FileSlice>;
  /**
   * Atomic (temporary file + rename); keeps mode, owner, ACL and security context; creates directories. As root, files
   * that a program on the target can check are checked first, and not written if the check fails.
   */
  write(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<Written>;
  /** The state of files, in one round trip; links in their directories are followed. */
  look(places: readonly FilePlace[], options?: LookOptions): Promise<readonly SeenFile[]>;
  /** Puts the file at this path back: atomic, follows no link; owner and ACL only if it may set them. */
  restore(path: string, state: RestorableState, options?: { readonly signal?: AbortSignal }): Promise<void>;
}

export interface FilePlace {
  readonly path: string;
  /** If `path` is a directory: the file of this name in it. */
  readonly inside?: string;
  /** Follow a link at the end of the path. */
  readonly follow: boolean;
}

export interface LookOptions {
  /** Where relative paths start; by default the directory of the shell. */
  readonly cwd?: string;
  /** For one file, and for all. */
  readonly maxBytes?: number;
  readonly maxTotal?: number;
  readonly signal?: AbortSignal;
}

export interface SeenFile {
  /** Absolute, without links in its directories. */
  readonly path: string;
  readonly state: FileState;
}

export type FileState =
  | RestorableState
  /** Its content was not read. */
  | { readonly kind: "unread"; readonly why: "directory" | "special" | "large" | "unreadable" };

export type RestorableState =
  | { readonly kind: "missing" }
  | { readonly kind: "link"; readonly to: string }
  | {
      readonly kind: "file";
      readonly bytes: Uint8Array;
      /** Permission, set-id and sticky bits. */
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
      /** user:group by name. */
      readonly owner: string;
      /** As getfacl prints it, if there is one and the target has getfacl. */
      readonly acl?: string;
      /** Where it has other hard links. */
      readonly inode?: string;
    };

/** How to ask for a password if sudo needs one. */
export type AsRootOptions = Pick<RunOptions, "password" | "onWaiting" | "onDelay">;

export interface WriteOptions {
  readonly signal?: AbortSignal;
  /** The resolved path that was approved: if the path now leads elsewhere, nothing is written. */
  readonly onlyAt?: string;
}

export interface Written {
  readonly bytes: number;
  readonly created: boolean;
  /** The program on the target that checked the file, and how. */
  readonly checked?: { readonly by: string; readonly how: "copy" | "whole" | "after"; readonly said?: string };
  /** The check fails on the old file in the same way, so its result says nothing about the new one. */
  readonly uncheckable?: string;
}

export interface ResolvedPath {
  readonly path: string;
  readonly exists: boolean;
  readonly kind: "file" | "directory" | "other" | "missing";
  /** The home directory on the target, for the path policy. */
  readonly home: string;
  readonly caseInsensitive: boolean;
  /** A directory in the path may not be entered, so the rest of the path is unknown. */
  readonly hidden: boolean;
}

export interface ReadOptions {
  /** First line, counted from 1. */
  readonly offset?: number;
  /** Lines. */
  readonly limit?: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
  /** The path that was judged, with links followed: if the name leads elsewhere by then, nothing is read. */
  readonly onlyAt?: string;
}

export interface FileSlice {
  readonly text: string;
  readonly binary: boolean;
  /** Of this slice: plain ASCII is UTF-8 whatever the rest of the file is. */
  readonly encoding: TextEncodingName;
  readonly lineEnds: LineEnds;
  /** The slice as stored in the file. */
  readonly bytes: Uint8Array;
  readonly sizeBytes: number;
  readonly access: FileMode;
  /** Lines in the slice, and lines after it (undefined if unknown). */
  readonly lines: number;
  readonly linesLeft?: number;
  /** The only line in the slice is longer than maxBytes and was cut. */
  readonly cutLine?: boolean;
}

export interface FileMode {
  /** As `ls -l` prints it: "-rw-r--r--", with a final "+" if there is an ACL. */
  readonly mode: string;
  readonly links: number;
  /** Set if the file belongs to another user than the one buddy works as. */
  readonly owner?: string;
}

export interface BackgroundShells {
  /**
   * `cwd`: by default the directory of the target's shell. `unasked`: the command only reads and needed no approval, so
   * it runs as a clean child. `shown`: listed instead of a command with secrets.
   */
  start(
    command: string,
    options?: { cwd?: string; signal?: AbortSignal; unasked?: Unasked; shown?: string },
  ): Promise<BackgroundShell>;
  /** Output since the last call; with a filter, since the last call with the same filter. */
  output(id: string, options?: { filter?: string; limit?: number }): Promise<BackgroundOutput>;
  /** Ends it and everything it started. If it has ended already, what it left running is reported, not ended. */
  kill(id: string): Promise<BackgroundShell & { readonly leftRunning?: readonly number[] }>;
  /** Of all sessions; `own`: started by this one. */
  list(): Promise<readonly (BackgroundShell & { readonly own: boolean })[]>;
}

export interface BackgroundShell {
  readonly id: string;
  readonly pid: number;
  readonly command: string;
  readonly outputFile: string;
  readonly status: "running" | "completed" | "failed" | "killed";
  readonly exitCode?: number;
  readonly startedAt: number;
}

export interface BackgroundOutput extends BackgroundShell {
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes of new output that did not fit; the next call returns them. */
  readonly moreBytes: number;
  /** What a filter left out. */
  readonly note?: string;
}

/** Options of `openTarget`, resolved from flags and configuration. */
export interface TargetOptions {
  readonly place: Place;
  readonly tmux: "auto" | "required" | "never";
  /** Session name of --tmux NAME; otherwise buddy-<agentName> or buddy-<12 hex digits of the target>. */
  readonly tmuxSession?: string;
  /** A pane of the operator's own tmux on this machine (`%3`), instead of a session of buddy. */
  readonly pane?: string;
  readonly agentName: string;
  /** tmux server socket name (-L); "": the operator's default server. */
  readonly tmuxSocket: string;
  readonly maxSessions: number;
  readonly maxPanes: number;
  /** tmux sessions that are unused for this long end by themselves; 0 or undefined: never. */
  readonly tmuxIdleMs?: number;
  readonly cwd?: string;
  /** Shell of the panes instead of the login shell: a name or a path. */
  readonly shell?: string;
  /** All commands are sh: a login shell of another family (fish) is not that of the panes. */
  readonly bourne?: boolean;
  /** How long a connection may be silent before it is checked. */
  readonly heartbeatMs?: number;
  readonly backgroundTimeoutMs: number;
  /** Id of the current session, to know which background shells are its own. */
  readonly session?: () => string;
  /** `auto` unless given. */
  readonly secondLock?: SecondLock;
  /** Where to keep the full output of commands: the same for all targets of a run. */
  readonly outputs?: OutputDirectory;
  /** One of many machines: as few processes as possible. */
  readonly frugal?: boolean;
  /** The pane is opened with the first command that needs it: one that is refused leaves none. */
  readonly paneLater?: boolean;
  /** False: opening asks nothing on the terminal. */
  readonly interactive?: boolean;
  readonly signal?: AbortSignal;
  readonly onNotice?: (notice: TargetNotice) => void;
}

export interface OutputDirectory {
  /** Of the current session, which may change; it may not exist yet. Undefined: removed with the targets. */
  directory(): string | undefined;
  /** Creates it, for its owner only. */
  prepare(directory: string): void;
  /** A filter for a new output that masks what may not be stored; keeps the number of bytes. */
  hide(): (text: string) => string;
  /** A warning about all outputs, instead of one from the first target. */
  tell?(warning: string): void;
}
