/** The table of paths that are not written to unless files_allowed_paths names them. */
import { words } from "../../lib/text.ts";

export const SYSTEM_DIRECTORIES: readonly string[] = [
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
export const SYSTEM_EXCEPTIONS: readonly string[] = words(
  "/dev/shm /run/user /private/var/tmp /private/var/folders /run/lock",
);

/** Units below these that run in the session of a user. */
export const RUNTIME_UNITS = /^\/run\/user\/[^/]+\/systemd(?:\/|$)/;

/** Views of the running system, not files: not written to as files, not even as root. */
export const LIVE_DIRECTORIES: readonly string[] = words("/dev /proc /sys");

/** Control who can log in, who becomes root, and whether the machine boots: the machine's name must be typed. */
export const ACCESS_FILES: readonly string[] =
  words(`/etc/sudoers /etc/sudoers.d /etc/doas.conf /etc/doas.d /etc/polkit-1
  /usr/share/polkit-1 /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/subuid /etc/subgid /etc/master.passwd
  /etc/security /etc/pam.d /etc/pam.conf /usr/lib/pam.d /etc/nsswitch.conf /etc/krb5.keytab /etc/ssh /etc/sshd_config
  /etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d /boot /efi /etc/default/grub /etc/default/grub.d /etc/grub.d
  /etc/fstab /etc/crypttab /etc/initramfs-tools /etc/dracut.conf /etc/dracut.conf.d /etc/mkinitcpio.conf /etc/kernel
  /etc/selinux /vmlinuz /vmlinuz.old /initrd.img /initrd.img.old /lib/modules /usr/lib/modules /etc/inittab
  /private/etc/sudoers /private/etc/sudoers.d /private/etc/pam.d /private/etc/ssh /private/etc/master.passwd`);

/** The same, in any home. */
export const ACCESS_NAME = /\/\.ssh\/authorized_keys2?$/;

/** Names that are sensitive in any directory: service users have homes in unusual places. */
export const PRIVATE_NAMES: readonly (readonly [name: string, what: string])[] = [
  [".ssh", "among SSH keys and access lists"],
  [".gnupg", "among GnuPG keys"],
  [".buddyx", "among buddy's saved sessions"],
  [".agentx", "among buddy's saved sessions"],
  ["buddy.toml", "a configuration file of buddy"],
  ["agent.toml", "a configuration file of buddy"],
];

export const HOME_PARENTS = [
  /^\/home\/[^/]+(?=\/)/,
  /^\/Users\/[^/]+(?=\/)/,
  /^\/export\/home\/[^/]+(?=\/)/,
  /^\/var\/home\/[^/]+(?=\/)/,
  /^\/root(?=\/)/,
  /^\/(?:private\/)?var\/root(?=\/)/,
] as const;

export const SENSITIVE_IN_HOME: readonly (readonly [what: string, names: readonly string[]])[] = [
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
