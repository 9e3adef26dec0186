/** The profiles that need no entry: an empty file is a working configuration. */
import type { ProfileSettings } from "./schema.ts";

/** Run by buddy itself: no key, no network. */
export const DEMO_PROFILE = "demo";

const OPENAI_LOGIN = {
  api_base_url: "https://api.openai.com/v1",
  api: "responses",
  auth: "login",
  api_key_env: undefined,
  api_key_file: undefined,
  api_key: undefined,
  context_limit: undefined,
  stream: true,
} as const;

/** A profile of the same name in the file takes the place of one of these. */
export const BUILT_IN_PROFILES: Readonly<Record<string, ProfileSettings>> = {
  "gpt-codex": { ...OPENAI_LOGIN, model: "gpt-5.3-codex" },
  "gpt-spark": { ...OPENAI_LOGIN, model: "gpt-5.3-codex-spark" },
};
