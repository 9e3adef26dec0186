/** Whether a stream gets colour: --no-color, NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, the setting, then the terminal. */
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
  if (env.CLICOLOR_FORCE !== undefined && !["", "0"].includes(env.CLICOLOR_FORCE)) return true;
  if (setting !== "auto") return setting === "always";
  return isTty && env.TERM !== "dumb" && env.CLICOLOR !== "0";
}
