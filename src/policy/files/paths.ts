/** Where a tool may write: decided on the path on the target, with `..` and symlinks resolved. */
import { words } from "../../lib/text.ts";
import { asItLooks, inLatin } from "../screen/invisible.ts";
import { showLine } from "../screen/terminal-text.ts";
import { asDanger, lockoutFile } from "../shell/dangers/lockout.ts";
import type { ShellRules, Verdict } from "../verdict.ts";
import { isBuddysOwn } from "./secret-files.ts";

export interface PathFacts {
  /** As the model wrote it. */
  readonly asked?: string;
  /** Absolute, without `.`, `..` and symlinks, on the target. */
  readonly path: string;
  /** The home directory on the target. */
  readonly home: string;
  /** The same without symlinks, if known. */
  readonly realHome?: string;
  /** The file system on the target ignores case. */
  readonly caseInsensitive: boolean;
  /** It would be written as root. */
  readonly sudo?: boolean;
}

export interface PathRules {
  /** files_allowed_paths, resolved on the target; empty: anywhere that is not sensitive. */
  readonly allowedRoots: readonly string[];
  /** buddy's own files on the target: the configuration in use, the sign-in, the sessions. */
  readonly ownPaths?: readonly string[];
  /** [safety] lockout; off if absent. */
  readonly lockout?: ShellRules["safety"]["lockout"];
}

/** Files that can lock the operator out are judged like commands that write them. */
export function judgePath(facts: PathFacts, rules: PathRules): Verdict {
  const verdict = judgePlace(facts, rules);
  const { lockout = "off" } = rules;
  if (verdict.kind === "deny" || lockout === "off") return verdict;
  const homes = [facts.home, facts.realHome ?? facts.home];
  const paths = [facts.path, expandHome(facts.asked ?? facts.path, facts.home)].map(lexical);
  const found = paths.flatMap((path) => homes.map((home) => lockoutFile(path, home))).find((one) => one !== undefined);
  if (found === undefined) return verdict;
  const { why, instead } = asDanger(found);
  if (lockout === "block") return deny(why, instead);
  return verdict.kind === "allow"
    ? { kind: "ask", why, answer: "in-person" }
    : { ...verdict, why: `${verdict.why}; ${why}`, answer: verdict.answer ?? "in-person" };
}

function judgePlace(facts: PathFacts, rules: PathRules): Verdict {
  const shown = showLine(facts.path);
  const asked = facts.asked ?? facts.path;
  if (facts.path.includes("\0") || asked.includes("\0")) return deny("a path cannot contain a NUL byte");
  if (!facts.path.startsWith("/")) return deny(`${shown} is not an absolute path once resolved`);
  if (facts.path.length > MAX_PATH) return deny(`the path is longer than ${MAX_PATH} characters`);
  if (lexical(facts.path) === "/") return deny("/ is the root directory");
  if (PROCESS_VIEW.test(lexical(asked)))
    return deny(`${showLine(asked)} is a different file for every process`, "give the path of the file itself");

  const place = new Place(facts);
  const roots = rules.allowedRoots.map((root) => place.fold(lexical(expandHome(root, facts.home))));
  const path = place.fold(lexical(facts.path));
  const root = roots.filter((each) => within(path, each)).sort((a, b) => b.length - a.length)[0];
  if (roots.length > 0 && root === undefined)
    return deny(`${shown} is outside the directories of files_allowed_paths`, "write below one of them");

  if (isBuddysOwn(path) && !path.split("/").includes(".buddyx"))
    return deny(`${shown} is one of buddy's own files`, "let the operator change it by hand");
  for (const own of rules.ownPaths ?? [])
    if (within(path, place.fold(lexical(expandHome(own, facts.home)))))
      return deny(`${shown} is one of buddy's own files`, "let the operator change it by hand");
  const sensitive = place.sensitive(path) ?? place.sensitiveAtHome(place.fold(lexical(expandHome(asked, facts.home))));
  // An allowed root of `/` or the home directory does not include ~/.ssh; naming ~/.ssh or something in it does.
  const named = sensitive !== undefined && root !== undefined && within(root, sensitive.root);
  const access = place.decidesAccess(path);
  if (sensitive !== undefined && !named) {
    const asRoot = facts.sudo === true && (access || sensitive.system === true);
    if (!asRoot || place.isLive(path)) return deny(`${shown} is ${sensitive.what}`, sensitive.instead);
  }
  if (access && (named || facts.sudo === true))
    return { kind: "ask", why: `${shown} controls who can log in or whether the machine boots`, answer: "typed" };

  const lookalike = place.sensitive(place.fold(lexical(inLatin(asItLooks(facts.path)))));
  if (lookalike !== undefined && sensitive === undefined)
    return deny(`${shown} looks as if it is ${lookalike.what}, but is not`, "write the name in plain letters");
  if (hardToSee(facts.path) || hardToSee(asked))
    return { kind: "ask", why: `the name ${shown} has characters that are hard to see` };
  if (insideGit(path))
    return {
      kind: "ask",
      why: `${shown} belongs to a git repository's own files: its hooks and settings run commands`,
    };
  if (/\/(?:authorized_keys2?|sudoers|crontab|agent\.toml)$/i.test(path))
    return { kind: "ask", why: `${shown} has the name of a file that grants access or runs commands` };
  if (sensitive?.system === true && !named) return { kind: "ask", why: `${shown} is ${sensitive.what}` };
  if (root === undefined && !path.slice(1).includes("/"))
    return { kind: "ask", why: `${shown} is directly in the root directory` };
  return {
    kind: "allow",
    why: root === undefined ? "not a sensitive place" : `below ${showLine(root)}, which is allowed`,
  };
}

interface Sensitive {
  readonly root: string;
  readonly what: string;
  readonly instead?: string;
  /** A system file: it may be written as root if the operator approves. */
  readonly system?: boolean;
}

class Place {
  /** The home directory with and without symlinks; none if it is unknown or the root directory. */
  readonly #homes: readonly string[];
  readonly #caseInsensitive: boolean;

  constructor(facts: PathFacts) {
    this.#caseInsensitive = facts.caseInsensitive;
    this.#homes = [facts.home, facts.realHome ?? facts.home]
      .map((home) => this.fold(lexical(home)))
      .filter((home) => home.startsWith("/") && home !== "/");
  }

  /** File systems that ignore case do not distinguish composed from decomposed letters either. */
  fold(path: string): string {
    return this.#caseInsensitive ? path.normalize("NFC").toLowerCase().normalize("NFC") : path;
  }

  sensitive(path: string): Sensitive | undefined {
    return this.#system(path) ?? this.#private(path) ?? this.sensitiveAtHome(path);
  }

  /** Start-up files, keys and credentials in any user's home. */
  sensitiveAtHome(path: string): Sensitive | undefined {
    const home = this.#homeOf(path);
    if (home === undefined) return undefined;
    for (const [what, names] of SENSITIVE_IN_HOME)
      for (const name of names) {
        const root = `${home}/${this.fold(name)}`;
        if (within(path, root)) return { root, what, instead: BY_HAND };
      }
    return undefined;
  }

  #system(path: string): Sensitive | undefined {
    const isOpen = SYSTEM_EXCEPTIONS.some((exception) => path !== exception && within(path, this.fold(exception)));
    if (isOpen && !RUNTIME_UNITS.test(path)) return undefined;
    if (this.#homes.some((home) => within(path, home))) return undefined;
    for (const directory of SYSTEM_DIRECTORIES)
      if (within(path, this.fold(directory)))
        return {
          root: this.fold(directory),
          what: `in ${directory}, a system directory`,
          instead: this.isLive(path) ? LIVE_INSTEAD : SYSTEM_INSTEAD,
          system: true,
        };
    return undefined;
  }

  /** Controls who can log in, who becomes root, or whether the machine boots. */
  decidesAccess(path: string): boolean {
    return ACCESS_NAME.test(path) || ACCESS_FILES.some((file) => within(path, this.fold(file)));
  }

  isLive(path: string): boolean {
    return LIVE_DIRECTORIES.some((directory) => within(path, this.fold(directory)));
  }

  /** .ssh, .gnupg and buddy's own directories, wherever they are. */
  #private(path: string): Sensitive | undefined {
    for (const [name, what] of PRIVATE_NAMES) {
      const at = `${path}/`.indexOf(`/${this.fold(name)}/`);
      if (at >= 0) return { root: path.slice(0, at + name.length + 1), what, instead: BY_HAND };
    }
    return undefined;
  }

  #homeOf(path: string): string | undefined {
    const own = this.#homes.find((home) => within(path, home));
    if (own !== undefined) return own;
    for (const pattern of HOME_PARENTS) {
      const home = new RegExp(pattern.source, this.#caseInsensitive ? "i" : "").exec(path)?.[0];
      if (home !== undefined) return home;
    }
    return undefined;
  }
}

const MAX_PATH = 4096;
const BY_HAND = "let the operator change it by hand or add its path to files_allowed_paths";
const SYSTEM_INSTEAD = "set sudo: true to ask the operator";
const LIVE_INSTEAD = "change it with a command the operator approves";

/**
 * Roots and working directories of other processes, and file descriptors of any process. `self/root` and `self/cwd` are
 * resolved on the target.
 */
const PROCESS_VIEW =
  /^\/(?:dev\/(?:fd|std(?:in|out|err))(?:\/|$)|proc\/(?:(?:self|thread-self|[0-9]+)\/(?:task\/[0-9]+\/)?fd(?:info)?(?:\/|$)|[0-9]+\/))/;

function deny(why: string, instead?: string): Verdict {
  return { kind: "deny", why, ...(instead === undefined ? {} : { instead }) };
}

/** The root itself or below it; `/srv/app2` is not within `/srv/app`. */
function within(path: string, root: string): boolean {
  return root === "/" || path === root || path.startsWith(`${root}/`);
}

function expandHome(path: string, home: string): string {
  return path === "~" || path.startsWith("~/") ? home + path.slice(1) : path;
}

/** Without double and trailing slashes, `.` and `..`; does not look at the file system. */
function lexical(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/"))
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  return (path.startsWith("/") ? "/" : "") + parts.join("/");
}

/** Control, bidi and zero-width characters and unusual spaces; a space at either end of a name. */
function hardToSee(path: string): boolean {
  return showLine(path) !== path || /(?:^|\/) | (?:\/|$)/.test(path);
}

/** .git in any spelling, also the short name on some Windows file systems, and bare repositories. */
function insideGit(path: string): boolean {
  const parts = path.toLowerCase().split("/");
  return parts.some(
    (part, i) =>
      /^(?:\.git[ .]*|git~[0-9]|\.hg|\.svn|\.jj)$/.test(part) ||
      (part.endsWith(".git") &&
        /^(?:hooks|config|info|objects|refs|head|packed-refs|worktrees|modules)$/.test(parts[i + 1] ?? "")),
  );
}

// ── The table of paths that are not written to unless files_allowed_paths names them.

const SYSTEM_DIRECTORIES: readonly string[] = [
  ...words(`/etc /usr /bin /sbin /lib /lib32 /lib64 /libx32 /boot /efi /dev /proc /sys /run /nix /gnu /snap /lost+found
    /var/backups /var/cache /var/cron /var/db /var/games /var/lib /var/lock /var/log /var/mail /var/opt /var/run /var/spool
    /var/snap /var/yp`),
  // macOS, where /etc, /tmp and /var are links into /private
  ...words("/private/etc /private/var /System /Library /Applications /Network /cores /opt/homebrew"),
  // Windows below WSL
  "/mnt/c/Windows",
  "/mnt/c/Program Files",
  "/mnt/c/Program Files (x86)",
  "/mnt/c/ProgramData",
  // merged or immutable roots
  ...words(`/ostree /sysroot /vmlinuz /vmlinuz.old /initrd.img /initrd.img.old /.dockerenv /.autorelabel`),
];

/** Below a system directory, but writable for everyone. */
const SYSTEM_EXCEPTIONS: readonly string[] = words(
  "/dev/shm /run/user /private/var/tmp /private/var/folders /run/lock",
);

/** Units below these that run in the session of a user. */
const RUNTIME_UNITS = /^\/run\/user\/[^/]+\/systemd(?:\/|$)/;

/** Views of the running system, not files: not written to as files, not even as root. */
const LIVE_DIRECTORIES: readonly string[] = words("/dev /proc /sys");

/** Control who can log in, who becomes root, and whether the machine boots: the machine's name must be typed. */
const ACCESS_FILES: readonly string[] = words(`/etc/sudoers /etc/sudoers.d /etc/doas.conf /etc/doas.d /etc/polkit-1
  /usr/share/polkit-1 /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/subuid /etc/subgid /etc/master.passwd
  /etc/security /etc/pam.d /etc/pam.conf /usr/lib/pam.d /etc/nsswitch.conf /etc/krb5.keytab /etc/ssh /etc/sshd_config
  /etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d /boot /efi /etc/default/grub /etc/default/grub.d /etc/grub.d
  /etc/fstab /etc/crypttab /etc/initramfs-tools /etc/dracut.conf /etc/dracut.conf.d /etc/mkinitcpio.conf /etc/kernel
  /etc/selinux /vmlinuz /vmlinuz.old /initrd.img /initrd.img.old /lib/modules /usr/lib/modules /etc/inittab
  /private/etc/sudoers /private/etc/sudoers.d /private/etc/pam.d /private/etc/ssh /private/etc/master.passwd`);

/** The same, in any home. */
const ACCESS_NAME = /\/\.ssh\/authorized_keys2?$/;

/** Names that are sensitive in any directory: service users have homes in unusual places. */
const PRIVATE_NAMES: readonly (readonly [name: string, what: string])[] = [
  [".ssh", "among SSH keys and access lists"],
  [".gnupg", "among GnuPG keys"],
  [".buddyx", "among buddy's saved sessions"],
  [".agentx", "among buddy's saved sessions"],
  ["buddy.toml", "a configuration file of buddy"],
  ["agent.toml", "a configuration file of buddy"],
];

const HOME_PARENTS = [
  /^\/home\/[^/]+(?=\/)/,
  /^\/Users\/[^/]+(?=\/)/,
  /^\/export\/home\/[^/]+(?=\/)/,
  /^\/var\/home\/[^/]+(?=\/)/,
  /^\/root(?=\/)/,
  /^\/(?:private\/)?var\/root(?=\/)/,
] as const;

const SENSITIVE_IN_HOME: readonly (readonly [what: string, names: readonly string[]])[] = [
  ["among buddy's own files", words(".config/buddy .config/agent .local/state/buddy .cache/buddy")],
  [
    "a shell start-up file",
    words(`.profile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_functions .bash_completion
      .bash_completion.d .local/share/bash-completion .bashrc.d .bashrc.local .profile.d .zshrc .zshenv .zprofile .zlogin
      .zlogout .zsh .oh-my-zsh .zshrc.d .zshrc.local .zsh_aliases .zsh_functions .zfunc .zinit .zplug .antigen .p10k.zsh
      .kshrc .mkshrc .shrc .shinit .ashrc .cshrc .tcshrc .login .logout .inputrc .envrc .direnvrc .config/direnv
      .pam_environment .config/fish .local/share/fish .config/zsh .config/bash .config/nushell .config/elvish
      .config/powershell .config/environment.d .config/starship.toml .aliases .exports .functions .cargo/env
      .cargo/env.fish .ghcup/env .nix-profile .nix-defexpr .sdkman .nvm .asdf .asdfrc .tool-versions .config/mise
      .rbenv .pyenv .hushlogin`),
  ],
  [
    "among programs that shells find by name",
    words(`.local/bin bin .bin .cargo/bin .npm-global/bin .yarn/bin .deno/bin .bun/bin go/bin .go/bin .dotnet/tools
      .krew/bin .linuxbrew .local/sbin .rustup/toolchains`),
  ],
  [
    "a file that a program runs when it starts",
    words(`.vimrc .gvimrc .exrc .vim .viminfo .config/nvim .local/share/nvim .config/vim .emacs .emacs.el .emacs.d
      .config/emacs .config/doom .doom.d .spacemacs .nanorc .config/nano .config/micro .config/helix .config/Code
      .vscode .vscode-server .config/VSCodium .config/sublime-text .config/zed .config/JetBrains .idea .atom .tmux.conf
      .tmux .config/tmux .screenrc .config/alacritty .config/kitty .config/wezterm .wezterm.lua .config/ghostty
      .lesskey .lessfilter .config/lesskey .mailcap .muttrc .config/mutt .mutt .gdbinit .config/gdb .lldbinit .pdbrc
      .bunfig.toml .condarc .sbtrc .ideavimrc .config/mpv .pythonrc .pythonrc.py .config/pip .pip .config/pycodestyle .config/ipython .ipython .jupyter .Rprofile .irbrc
      .pryrc .gemrc .guile .ghci .psqlrc .sqliterc .mongorc.js .mongoshrc.js .node_repl_history .perldb .octaverc
      .wgetrc .curlrc .config/curlrc .digrc .ackrc .ripgreprc .config/ripgrep .config/bat .config/fd .config/htop
      .hgrc .config/hg .subversion .bazaar .config/jj .gitmodules .githooks .git-templates .config/yazi .config/ranger
      .config/lf .local/share/applications .config/mimeapps.list .config/dconf .gradle/init.gradle .gradle/init.d
      .gradle/gradle.properties .m2/settings.xml .mavenrc .sbt .ivy2 .ansible .ansible.cfg .config/ansible .rpmmacros
      .dpkg.cfg .bundle/config .config/containers .makepkg.conf .config/pacman .Xresources .Xdefaults .config/i3
      .config/sway .config/hypr .config/openbox .fonts.conf .config/gtk-3.0 .config/xonsh .xonshrc`),
  ],
  [
    "among code that programs load when they start",
    words(".local/lib .node_modules .node_libraries perl5 .perl5 .gem .R .luarocks .less"),
  ],
  [
    "run when a session or a service starts",
    words(`.xinitrc .xprofile .xsession .xsessionrc .xserverrc .config/systemd .local/share/systemd .config/autostart
      .config/autostart-scripts .config/plasma-workspace .config/upstart .init .forward .procmailrc .crontab
      .local/share/dbus-1 .config/cron Library/LaunchAgents Library/LaunchDaemons Library/StartupItems`),
  ],
  [
    "among keys and credentials",
    words(`.aws .azure .kube .docker .config/gcloud .config/gh .config/glab-cli .config/hub .config/doctl .config/op
      .config/sops .config/rclone .netrc _netrc .authinfo .authinfo.gpg .git-credentials .config/git .gitconfig .pgpass
      .my.cnf .mylogin.cnf .npmrc .yarnrc .yarnrc.yml .pypirc .gem/credentials .cargo/credentials
      .cargo/credentials.toml .cargo/config .cargo/config.toml .terraformrc .terraform.d .vault-token .password-store
      .local/share/keyrings .local/share/kwalletd .Xauthority .ICEauthority .rhosts .shosts .k5login .pki .codex .claude
      Library/Keychains`),
  ],
];
