/** One thing doctor looked at, and what to do about it. */
export interface Finding {
  /** A word for scripts: config, key, model, tmux, ... */
  readonly check: string;
  /** `broken`: buddy cannot do what was asked; `warning`: it can, with less; `info`: good to know. */
  readonly status: "ok" | "info" | "warning" | "broken";
  readonly text: string;
  /** What to do; for every problem. */
  readonly remedy?: string;
}

/** How to get a program on this system. */
export function howToInstall(name: string): string {
  const managers: readonly (readonly [program: string, command: string])[] = [
    ["apt-get", `sudo apt-get install ${name}`],
    ["dnf", `sudo dnf install ${name}`],
    ["apk", `sudo apk add ${name}`],
    ["pacman", `sudo pacman -S ${name}`],
    ["zypper", `sudo zypper install ${name}`],
    ["brew", `brew install ${name}`],
  ];
  return (
    managers.find(([program]) => Bun.which(program) !== null)?.[1] ??
    `install ${name} with the system's package manager`
  );
}
