/** The profiles that need no entry: an empty file is a working configuration. */
import { defaultsOf, PROFILE_SETTINGS, type ProfileSettings } from "./schema.ts";

/** Run by buddy itself: no key, no network. */
export const DEMO_PROFILE = "demo";

const OPENAI_LOGIN = {
  ...(defaultsOf(PROFILE_SETTINGS) as unknown as ProfileSettings),
  api: "responses",
  auth: "login",
} as const;

/** A profile of the same name in the file takes the place of one of these. */
export const BUILT_IN_PROFILES: Readonly<Record<string, ProfileSettings>> = {
  "gpt-codex": { ...OPENAI_LOGIN, model: "gpt-5.3-codex" },
  "gpt-spark": { ...OPENAI_LOGIN, model: "gpt-5.3-codex-spark" },
};
