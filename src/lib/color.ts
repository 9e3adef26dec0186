/** Whether a stream gets colour: --no-color, then NO_COLOR, then FORCE_COLOR, then the setting, then the terminal. */
export interface ColorQuestion {
  /** False when --no-color was given. */
  readonly flag?: boolean | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTty: boolean;
  /** [display].color */
  readonly setting?: "auto" | "always" | "never" | undefined;
}

export function wantsColor({ flag, env, isTty, setting = "auto" }: ColorQuestion): boolean {
  if (flag === false) return false;
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return !["0", "false"].includes(env.FORCE_COLOR);
  if (setting !== "auto") return setting === "always";
  return isTty && env.TERM !== "dumb";
}
