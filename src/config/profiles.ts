/** From a name on the command line to an endpoint, a protocol, a model and its key. */
import { closestMatch } from "../lib/text.ts";
import { BuddyError } from "../lib/errors.ts";
import { trimSlash } from "../lib/network.ts";
import { withVariables } from "../lib/values.ts";

import { findKey, type ProfileKey } from "./keys.ts";
import type { LoadedConfig } from "./load.ts";
import { describeOrigin } from "./paths.ts";
import { DEMO_PROFILE, type ProfileSettings } from "./schema.ts";

export interface ResolvedProfile {
  readonly name: string;
  readonly model: string;
  readonly api: ProfileSettings["api"];
  readonly auth: "api-key" | "login";
  /** Without a slash at the end; empty for demo, whose server buddy starts itself. */
  readonly baseUrl: string;
  readonly stream: boolean;
  readonly contextLimit?: number;
  /** Absent if none is needed (a local server, demo), or the sign-in or api_key_command is used. */
  readonly key?: ProfileKey;
  /** Absent for demo. */
  readonly settings?: ProfileSettings;
}

/** `selector`: a profile, PROFILE:MODEL, or a model id at the active profile's endpoint. */
export function resolveProfile(loaded: LoadedConfig, selector = loaded.config.agent.model): ResolvedProfile {
  const { name, model } = selectProfile(loaded, selector);
  if (name === DEMO_PROFILE) return DEMO;
  const settings = loaded.config.models[name];
  if (settings === undefined) throw unknownProfile(loaded, selector);
  const endpoint = endpointOf(loaded, name, settings);
  const profile = { name, model: model ?? settings.model ?? name, stream: settings.stream, settings, ...endpoint };
  // It does not apply to another model.
  const limit = model === undefined || model === settings.model ? settings.context_limit : undefined;
  const key = findKey(loaded, profile, settings);
  return {
    ...profile,
    ...(limit === undefined ? {} : { contextLimit: limit }),
    ...(key === undefined ? {} : { key }),
  };
}

/** Built-in profiles first, demo last. */
export function profileNames(loaded: LoadedConfig): string[] {
  return [...Object.keys(loaded.config.models), DEMO_PROFILE];
}

/** The headers of a profile with ${NAME} replaced; throws for a variable that is not set. */
export function profileHeaders(loaded: LoadedConfig, profile: ResolvedProfile): Readonly<Record<string, string>> {
  const headers = Object.entries(profile.settings?.headers ?? {}).map(([header, text]) => {
    const missing = (name: string) =>
      new BuddyError("auth", `profile ${profile.name} needs ${name} for its header ${header}; it is not set`, {
        hint: `Run: export ${name}=…, or change the profile's headers`,
      });
    const value = withVariables(text, loaded.env, missing);
    // oxlint-disable-next-line no-control-regex -- characters that a header cannot contain
    if (/[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/.test(value))
      throw new BuddyError(
        "config",
        `profile ${profile.name}: header ${header} has a line break or another character that cannot be sent`,
        {
          hint: "Correct the profile's headers, or the variable they name",
        },
      );
    return [header.toLowerCase(), value] as const;
  });
  return Object.fromEntries(headers);
}

const DEMO: ResolvedProfile = {
  name: DEMO_PROFILE,
  model: DEMO_PROFILE,
  api: "completions",
  auth: "api-key",
  baseUrl: "",
  stream: true,
};

function selectProfile(loaded: LoadedConfig, selector: string): { readonly name: string; readonly model?: string } {
  if (isProfile(loaded, selector)) return { name: selector };
  const [, name = "", model = ""] = /^([^:]+):(.+)$/.exec(selector) ?? [];
  if (name !== "" && name !== DEMO_PROFILE && isProfile(loaded, name)) return { name, model };
  // Only a name with a digit or a slash, or one given with --base-url, is taken for a model id: a mistyped profile
  // must not be sent to an endpoint as a model.
  const active = activeProfile(loaded, selector);
  const isModel = /[\d/]/.test(selector) || loaded.endpoint !== undefined;
  if (active !== undefined && isModel) return { name: active, model: selector };
  throw unknownProfile(loaded, selector);
}

/** The profile whose endpoint a bare model id belongs to. */
function activeProfile(loaded: LoadedConfig, selector: string): string | undefined {
  const origin = loaded.origins.get("agent.model");
  const { model } = loaded.config.agent;
  if (model !== selector && isProfile(loaded, model)) return model;
  // -m and BUDDY_MODEL override the file's choice, which is still the active profile.
  if (origin?.kind === "flag" || origin?.kind === "env") return loaded.profileOfFile;
  return undefined;
}

function isProfile(loaded: LoadedConfig, name: string): boolean {
  return name === DEMO_PROFILE || Object.hasOwn(loaded.config.models, name);
}

function endpointOf(loaded: LoadedConfig, name: string, settings: ProfileSettings) {
  const own = { baseUrl: trimSlash(settings.api_base_url), api: settings.api, auth: settings.auth };
  if (loaded.endpoint === undefined || !isActive(loaded, name)) return own;
  const baseUrl = trimSlash(loaded.endpoint.url);
  // A sign-in is sent only to its provider: another address gets a key or nothing, over the common protocol.
  if (settings.auth === "login" && new URL(baseUrl).host !== new URL(own.baseUrl).host) {
    return { baseUrl, api: "completions", auth: "api-key" } as const;
  }
  return { ...own, baseUrl };
}

/** --base-url applies to the profile chosen at the start, not to one switched to later. */
function isActive(loaded: LoadedConfig, name: string): boolean {
  return selectProfile(loaded, loaded.config.agent.model).name === name;
}

function unknownProfile(loaded: LoadedConfig, selector: string): BuddyError {
  const known = profileNames(loaded);
  const meant = closestMatch(selector, known);
  const origin = loaded.origins.get("agent.model");
  const where = loaded.config.agent.model === selector && origin ? ` (${describeOrigin(origin, loaded)})` : "";
  const lines = [
    ...(meant === undefined ? [] : [`Did you mean ${meant}?`]),
    `Known profiles: ${known.join(", ")}`,
    ...(selector.includes(":") ? [] : ["For a model id at a profile's endpoint write PROFILE:MODEL."]),
  ];
  return new BuddyError("config", `unknown profile "${selector}"${where}`, { hint: lines.join("\n") });
}
