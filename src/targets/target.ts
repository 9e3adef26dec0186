/**
 * The contracts of execution: WHERE a process starts (Transport) × HOW commands run there (Shell), joined in a Target.
 */
import type { OutputStore } from "./output/output-store.ts";
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
  readonly ownPane?: Pane;
  readonly locks: Locks;
  /** It is a shell that the operator started in the shared pane, which has no connection of its own. */
  readonly isAdopted?: boolean;
  /**
   * That shell sees other files than the connection reaches, or as another user: what needs the connection is refused.
   */
  readonly isElsewhere?: boolean;
  /** With tmux: works in the shell that the operator started in the shared pane, as the user and machine in it. */
  adopt?(): Promise<TargetIdentity>;
  /** The target as it is now: an adopted shell that ends later does not become the pane's own shell. */
  now?(): Target;
  /** News for the operator and the model: reconnected, pane recreated, state lost, the operator ran something. */
  onNotice(listener: (notice: TargetNotice) => void): () => void;
}

export interface TargetNotice {
  readonly kind: "info" | "warning" | "lost-state" | "reconnecting" | "reconnected" | "operator";
  readonly text: string;
}

/** Who and where, taken from the machine itself at connect and checked again after a reconnect. */
export interface TargetIdentity {
  /** "local", "ssh deploy@web1", "container api", "container api on ssh deploy@web1": the whole path. */
  readonly label: string;
  /** Of the innermost step. */
  readonly kind: "local" | "ssh" | "container" | "via";
  readonly user: string;
  readonly host: string;
  /** machine-id, container id or the nearest thing the system has. */
  readonly machine: string;
  readonly os: string;
  readonly cwd: string;
  /** Name of the shell that runs commands: bash, zsh, fish, dash, ash, mksh, sh. */
  readonly shellName: string;
  /** Shell command the operator types to watch, where there is tmux. */
  readonly attach?: string | undefined;
  readonly tmuxSession?: string | undefined;
}

export interface Transport extends AsyncDisposable {
  readonly label: string;
  /** The transport on which it starts its processes; absent for this machine and over ssh. */
  readonly base?: Transport;
  readonly kind: "local" | "ssh" | "container" | "via";
  /** Starts argv on the target with piped stdio; no shell is involved unless argv names one. */
  spawn(argv: readonly string[], options?: SpawnOptions): Process;
  /** Makes sure processes can be started: reconnects when the connection was dropped; throws when that fails. */
  ensure(signal?: AbortSignal): Promise<void>;
  /** The operator asks for it: connects again, also after a refusal, and may ask for a password on the terminal. */
  reconnect(signal?: AbortSignal): Promise<void>;
  /** Whether a real answer comes from the target in time; never reconnects. */
  answers(timeoutMs: number): Promise<boolean>;
  /** Resolves when processes there are gone though their clients do not say so; rejects when the signal fires. */
  gone?(signal: AbortSignal): Promise<void>;
  /** Whether a new connection can be made, in addition to the one in use and without questions; says why not. */
  connectAnew(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Closes without waiting for the other side, which cleans up by itself: whatever runs or waits locally ends at once.
   */
  abandon(): Promise<void>;
  /**
   * Runs a short POSIX sh script there on a standing runner: one round trip, many at once, bytes in and out.
   * After a drop it is run again: what it does must bear repeating.
   */
  run(script: string, options?: ScriptOptions): Promise<ScriptResult>;
  /** What the machine says about itself; taken when it is reached and compared after every reconnect. */
  readonly facts: MachineFacts;
  /** The connection was lost and is being put up again. */
  readonly isReconnecting?: boolean;
  /**
   * One of many machines: what can be done without a further session on its connection. Another one after a reconnect.
   */
  readonly own?: SessionTexts | undefined;
}

/** Texts that run unasked, and what holds the read-only namespace, in the session that the connection has anyway. */
export interface SessionTexts {
  /** In the marks that end a text. */
  readonly key: string;
  /** In the environment of everything a text starts. */
  readonly job: string;
  /** The shell that runs them: it takes lines of `line` and `question`, and marks the end of each with `key`. */
  texts(): Process;
  line(script: string, tag: number, cwd: string): string;
  /** For the clean shell in the namespace, where that `stands`; "incomplete" says that it has not taken the text. */
  question(text: string, tag: number, cwd: string): string;
  readonly stands: boolean;
  /** Makes the namespace, which ends with the connection; gives the line that it says. */
  start(namespace: NamespaceStart): Promise<string>;
  /** From now on the namespace follows the mounts of the machine; so it does once anything else was started there. */
  watch(): void;
  /** Another clean shell; lines of sh that look for the namespace, and words that enter it. */
  serveAgain(look: string, enter: string): void;
  /** The last text was stopped, and may not end. */
  forget(): void;
}

export interface NamespaceStart {
  /** The clean shell; "" where it is not bash. */
  readonly bash: string;
  /** Where texts begin. */
  readonly cwd: string;
}

export interface MachineFacts {
  readonly user: string;
  readonly uid: number;
  readonly host: string;
  /** machine-id, container id or the nearest thing the system has. */
  readonly machine: string;
  readonly os: string;
  /** Where processes start. */
  readonly cwd: string;
  readonly home: string;
  /** Path of the login shell; "" when unknown. */
  readonly loginShell: string;
  /** Paths of the programs that matter, where they exist: tmux, setsid and the shells. */
  readonly programs: Readonly<Record<string, string>>;
  /** "3.3a"; undefined without a tmux that works. */
  readonly tmuxVersion?: string;
  /** Why the tmux that is there does not work. */
  readonly tmuxProblem?: string;
  /** One is there, and was not asked for its version: on one of many machines that waits for the pane. */
  readonly tmuxUnasked?: boolean;
}

export interface ScriptOptions {
  /** "$1", "$2", ... of the script. */
  readonly args?: readonly string[];
  /** What the script reads on stdin; without it stdin is empty. */
  readonly input?: string | Uint8Array;
  /** How long the target may stay silent; 30 s by default. */
  readonly timeoutMs?: number;
  /** Waits for something on purpose: kept apart, so that others need not wait behind it. */
  readonly slow?: boolean;
  readonly signal?: AbortSignal;
}

export interface ScriptResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A script that reaches its shell in a way that `ps` does not show. */
export interface ShellScript {
  /** "$0" of the script. */
  readonly name: string;
  readonly text: string;
  readonly args?: readonly string[];
}

export interface SpawnOptions {
  readonly signal?: AbortSignal;
  /** Then argv is a shell, which runs this; what is written to stdin afterwards is for the script. */
  readonly script?: ShellScript;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A client (ssh, docker exec) or helper that ends by itself when its stdin does: it gets time for that. */
  readonly isClient?: boolean;
}

/** A session and process group of its own there; it ends with the connection, and with buddy. */
export interface Process {
  /** Its number there, which is its group's too; rejected when it never started. */
  readonly pid: Promise<number>;
  readonly stdin: { write(data: string | Uint8Array): void; end(): void };
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  /** 255 when the connection was lost. */
  readonly exited: Promise<number>;
  /** To the whole group; without a signal TERM, then KILL. */
  kill(signal?: NodeJS.Signals): void;
}

export type RunOutcome =
  /** Non-zero is a result, not an exception. */
  | { readonly kind: "exited"; readonly code: number }
  /** `busy`: nothing was typed, because a program is still in the foreground of the pane. */
  | { readonly kind: "running"; readonly why: "deadline" | "no-wait" | "busy"; readonly program?: string }
  | {
      readonly kind: "waiting";
      readonly for: "password" | "line" | "repl" | "full-screen";
      readonly program: string;
      /** Nothing was typed: what waits was in the foreground of the pane before. */
      readonly earlier?: true;
      /** The operator was not asked about the command, and so is not asked for its password. */
      readonly uninvited?: true;
    }
  | { readonly kind: "incomplete"; readonly hint: string }
  | { readonly kind: "shell-ended"; readonly code: number }
  | { readonly kind: "stopped"; readonly by: "user" | "deadline" }
  /** Connection, pane or shell gone; nothing is known about the command. */
  /** `notRun`: it had not begun, and `why` says so; otherwise that is not known. */
  | { readonly kind: "lost"; readonly why: string; readonly notRun?: true };

export interface RunResult {
  readonly outcome: RunOutcome;
  /** What the command printed as a person would read it; head and tail when it was large. */
  readonly output: CapturedText;
  /** Apart only in direct shells; a pane has one stream. */
  readonly stderr?: CapturedText;
  readonly cwd: string;
  /** Handle for reading the full text later. */
  readonly outputId?: string;
  /** The same for stderr, where it is apart. */
  readonly stderrId?: string;
  /** What else happened: the operator ran X, a half-typed line was set aside, ... */
  readonly notes: readonly string[];
}

export interface CapturedText {
  readonly head: string;
  /** Empty when everything is in head. */
  readonly tail: string;
  /** Bytes left out between head and tail. */
  readonly omittedBytes: number;
  readonly totalBytes: number;
}

export interface RunOptions {
  /** How long to wait; undefined = without limit. */
  readonly waitMs?: number;
  /** Send and return at once (panes only). */
  readonly noWait?: boolean;
  readonly signal?: AbortSignal;
  readonly onOutput?: (chunk: { stream: "stdout" | "stderr"; text: string }) => void;
  /** Characters kept of head and tail together. */
  readonly keep?: number;
  /** The command without the secrets in it: what a pane and its shell's history may show. */
  readonly shown?: string;
  /** The command was approved for this directory (`Shell.cwd`): when the shell has left it, nothing is run. */
  readonly onlyIn?: string;
  /** It only reads, so no question was asked: it runs in a clean child, and only its last directory is taken over. */
  readonly unasked?: Unasked;
  /** The command has not begun, for a reason that passes: the operator is typing. */
  readonly onDelay?: (why: string) => void;
  /** Reports why the command waits, as soon as it is known (password prompt, ...). */
  readonly onWaiting?: (what: RunOutcome & { kind: "waiting" }) => void;
  /** Asks the operator when a program wants a password. */
  readonly password?: AskPassword;
}

/** A program on the target wants a password. */
export interface PasswordRequest {
  readonly program: string;
  /** What the program itself says: "[sudo] password for deploy:". */
  readonly prompt: string;
  /** Where it would be typed; `shell`: a direct shell, which no one else can type into. */
  readonly into: "pane" | "shell";
  /** Aborts when the program does not ask any more. */
  readonly signal: AbortSignal;
}

/**
 * Undefined: the operator did not give one. The bytes go to that program and nowhere else; the receiver fills them
 * with zeros.
 */
export type AskPassword = (request: PasswordRequest) => Promise<Uint8Array | undefined>;

/** [safety] second_lock. */
export type SecondLock = "auto" | "required" | "off";

/** Whether unasked commands run where every file system is read-only. */
export type NamespaceState =
  | { readonly kind: "making" }
  | {
      readonly kind: "ready";
      /** Files of other users keep their owner's name inside. */
      readonly owners: boolean;
      /** What runs inside cannot make it writable again. */
      readonly sealed: boolean;
    }
  | { readonly kind: "none"; readonly why: string };

/** The locks on what runs without a question. */
export interface Locks {
  /** The shell of the clean child: what the policy has to judge for. */
  readonly shell: "bash" | "sh";
  readonly namespace: NamespaceState;
  /** Once it is known whether there is a namespace. */
  readonly settled: Promise<NamespaceState>;
}

export interface Unasked {
  /** In the read-only namespace, where the target has one; what would get wrong facts in it runs outside. */
  readonly inNamespace: boolean;
}

/** Where a command would run, asked of the machine now. */
export interface ShellPlace {
  /** The directory itself, links followed; "" where the machine does not say. */
  readonly cwd: string;
  /** "" where the machine does not say. */
  readonly user: string;
  /** What is in the foreground, when it is not the shell itself. */
  readonly program?: string;
  /** Name of the pane, when it is not the shared one. */
  readonly pane?: string;
  /** What is in the line at the prompt; "" where nothing is. */
  readonly typed: string;
}

export interface Shell {
  readonly kind: "tmux" | "direct";
  readonly cwd: string;
  where(): Promise<ShellPlace>;
  /** File on the target with the exported variables and the umask, for sh to read; it may not exist yet. */
  readonly environmentFile?: string | undefined;
  run(command: string, options?: RunOptions): Promise<RunResult>;
  /**
   * Waits again for the command that was left running or waiting; the result of the last one when it has ended since.
   */
  wait(options?: Omit<RunOptions, "noWait">): Promise<RunResult>;
  /** Full text of an earlier command of this session, also from before buddy was started again. */
  readOutput(id: string, options?: ReadOutputOptions): Promise<OutputPage>;
}

export interface ReadOutputOptions {
  /** Byte offset into the text. */
  readonly offset?: number;
  readonly limit?: number;
  /** Keep only lines that match. */
  readonly filter?: string;
}

export interface OutputPage {
  readonly text: string;
  readonly nextOffset: number;
  readonly totalBytes: number;
  readonly done: boolean;
  /** What a filter did not do: lines too long to search, or time that ran out. */
  readonly note?: string;
}

/** Managed tmux objects, in addition to the shared pane. */
export interface Panes {
  /** The managed pane a tool names; without arguments the shared one. */
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
  /** Raw tmux -t target (legacy); for capture any pane, for keys only managed ones. */
  readonly target?: string;
}

export interface ManagedPane {
  readonly session: string;
  readonly pane: string;
  readonly id: string;
  readonly shared: boolean;
  /** The program in the foreground. */
  readonly command: string;
  /** The line that the shell itself carries out: `read x`, a loop. It may not be known which, then it is "". */
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
  /** tmux key names: C-c, Enter, Up, F1, ... */
  readonly keys?: readonly string[];
  readonly literalText?: string;
  readonly enter?: boolean;
  readonly delayMs?: number;
  /** What they are meant for: with another program, user, directory or line there, nothing is typed. */
  readonly onlyWhere?: ShellPlace;
  readonly signal?: AbortSignal;
}

export interface FileAccess {
  /** The same files, reached as root. */
  asRoot(how?: AsRootOptions): FileAccess;
  /** Follows `..` and symlinks on the target, also for a last component that does not exist yet. */
  resolve(path: string): Promise<ResolvedPath>;
  read(path: string, options?: ReadOptions): Promise<FileSlice>;
  /**
   * Atomic (temporary file + rename); keeps mode, owner, ACL and security context; creates directories. As root, a file
   * that a program of the target can check is checked first: what fails is not written.
   */
  write(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<Written>;
  /** Files as they are now, in one round trip; each where its directories lead. */
  look(places: readonly FilePlace[], options?: LookOptions): Promise<readonly SeenFile[]>;
  /** Makes the file at this very place what it was: atomic, no link followed; says what could not be put back. */
  restore(
    path: string,
    state: RestorableState,
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly string[]>;
}

export interface FilePlace {
  readonly path: string;
  /** Where `path` is a directory, the file of this name in it is meant. */
  readonly inside?: string;
  /** A link at the end of the path means the file that it points to. */
  readonly follow: boolean;
}

export interface LookOptions {
  /** Where relative paths start, when it is not where the shell is. */
  readonly cwd?: string;
  /** Of one file, and of all. */
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
      /** As getfacl prints it, where there is one and the target can report it. */
      readonly acl?: string;
    };

/** How a password for sudo is asked for; needed only where sudo wants one. */
export type AsRootOptions = Pick<RunOptions, "password" | "onWaiting" | "onDelay">;

export interface WriteOptions {
  readonly signal?: AbortSignal;
  /** The resolved path that was judged: when the path leads elsewhere by now, nothing is written. */
  readonly onlyAt?: string;
}

export interface Written {
  readonly bytes: number;
  readonly created: boolean;
  /** The program on the target that checked the file, and how. */
  readonly checked?: { readonly by: string; readonly how: "copy" | "whole" | "after"; readonly said?: string };
  /** It fails on the old file in the same way, so it says nothing of the new one. */
  readonly uncheckable?: string;
}

export interface ResolvedPath {
  readonly path: string;
  readonly exists: boolean;
  readonly kind: "file" | "directory" | "other" | "missing";
  /** The home directory there, for the path policy. */
  readonly home: string;
  /** The file system there does not distinguish upper from lower case. */
  readonly caseInsensitive: boolean;
  /** A directory on the way may not be entered: what is behind it is not known. */
  readonly hidden: boolean;
}

export interface ReadOptions {
  /** First line, counted from 1. */
  readonly offset?: number;
  /** Lines. */
  readonly limit?: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface FileSlice {
  readonly text: string;
  readonly binary: boolean;
  /** Of the slice: a part in plain ASCII is UTF-8 whatever the rest is. */
  readonly encoding: TextEncodingName;
  readonly lineEnds: LineEnds;
  /** The slice as it is in the file. */
  readonly bytes: Uint8Array;
  readonly sizeBytes: number;
  readonly access: FileMode;
  /** Lines in the slice, and lines left after it (undefined when unknown). */
  readonly lines: number;
  readonly linesLeft?: number;
  /** The only line in the slice is longer than maxBytes and was cut. */
  readonly cutLine?: boolean;
}

export interface FileMode {
  /** As `ls -l` prints it: "-rw-r--r--", with "+" behind it where there is an ACL. */
  readonly mode: string;
  readonly links: number;
  /** Set where the file belongs to another user than the one buddy works as. */
  readonly owner?: string;
}

export interface BackgroundShells {
  /**
   * `cwd`: where it runs, if not where the target's first shell is. `unasked`: no question was asked, because the text
   * only reads: it runs as a clean child. `shown`: what is listed instead of a command that has secrets in it.
   */
  start(
    command: string,
    options?: { cwd?: string; signal?: AbortSignal; unasked?: Unasked; shown?: string },
  ): Promise<BackgroundShell>;
  /** New output since the last look; with a filter since the last look with the same one. */
  output(id: string, options?: { filter?: string; limit?: number }): Promise<BackgroundOutput>;
  /** Ends it and everything it started. One that has ended already is left alone, and so is what it left running. */
  kill(id: string): Promise<BackgroundShell & { readonly leftRunning?: readonly number[] }>;
  /** Of all sessions; `own`: this one started it. */
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
  /** Bytes of new output that did not fit and come with the next look. */
  readonly moreBytes: number;
  /** What a filter did not do. */
  readonly note?: string;
}

/** What `openTarget` takes; every value is already resolved from flags and configuration. */
export interface TargetOptions {
  readonly place: Place;
  readonly tmux: "auto" | "required" | "never";
  /** Session name of --tmux NAME; otherwise buddy-<agentName> or buddy-<12 hex digits of the target>. */
  readonly tmuxSession?: string;
  /** A pane of the operator's own tmux on this machine, `%3`: instead of a session of buddy's. */
  readonly pane?: string;
  readonly agentName: string;
  /** tmux server socket name (-L); empty = the operator's default server. */
  readonly tmuxSocket: string;
  readonly maxSessions: number;
  readonly maxPanes: number;
  /** tmux sessions that were not in use for so long end by themselves; 0 or undefined = never. */
  readonly tmuxIdleMs?: number;
  readonly cwd?: string;
  /** Shell of the panes instead of the login shell: a name or a path. */
  readonly shell?: string;
  /** How long a connection may be silent before it is asked whether it is still up. */
  readonly heartbeatMs?: number;
  readonly backgroundTimeoutMs: number;
  /** Id of the current session: which background shells are its own. */
  readonly session?: () => string;
  /** `auto` unless given. */
  readonly secondLock?: SecondLock;
  /** Environment variables that hold secrets: no child ever sees them. */
  readonly secretEnv: readonly string[];
  /** Where the full output of commands outlives this process; without it, it ends with the target. */
  readonly outputs?: OutputDirectory;
  /** Shared by several targets: an id is unique among them all. It is not closed with the target. */
  readonly outputStore?: OutputStore;
  /** One of many machines: as few processes as possible. */
  readonly frugal?: boolean;
  /** False: nothing is asked on the terminal while it is opened. */
  readonly interactive?: boolean;
  readonly signal?: AbortSignal;
  readonly onNotice?: (notice: TargetNotice) => void;
}

export interface OutputDirectory {
  /** Of the current session: it may change, and need not exist yet. */
  directory(): string;
  /** Makes it, for its owner alone. */
  prepare(directory: string): void;
  /** Takes out of the output that begins now what may not be stored; keeps the number of bytes. */
  hide(): (text: string) => string;
}
