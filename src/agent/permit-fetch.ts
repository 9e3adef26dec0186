/** May this page be fetched? A host that is new in the session asks, and so does a URL that holds a secret. */
import { isListedHost, namesHost } from "../policy/domain-list.ts";
import { judgeUrl } from "../policy/urls.ts";
import type { Intent } from "../tools/tool.ts";
import { decide } from "./ask-operator.ts";
import { type Permission, type PermitCall, type PermitParts, refused } from "./permission.ts";

export async function permitFetch(
  parts: PermitParts,
  call: PermitCall,
  intent: Intent & { kind: "fetch" },
): Promise<Permission> {
  return (await permitUrl(parts, call, intent.url, intent.search === true)) ?? { kind: "run", input: call.input };
}

/** Whether a page may be asked for, at first and after every redirect; undefined: yes. */
export async function permitUrl(
  parts: PermitParts,
  call: PermitCall,
  url: string,
  search: boolean,
): Promise<(Permission & { kind: "result" }) | undefined> {
  const ask = parts.confirm.fetch;
  // What the policy refuses by its name needs no question: the tool refuses it.
  if (!search && ask !== "always" && (await judgeUrl(url, parts.urlRules)).kind === "deny") return undefined;
  const secret = parts.privacy.leaving(url);
  const host = URL.parse(url)?.hostname ?? "";
  const known =
    search || isListedHost(url, parts.urlRules.allow) || parts.prompts.some((prompt) => namesHost(prompt, url));
  if (secret === undefined && (ask === "never" || (ask === "new-domain" && known))) return undefined;
  const action = `fetch ${url}`;
  const decision = await decide(parts, call, undefined, {
    action,
    risk: secret === undefined ? "low" : "high",
    mutation: false,
    privesc: false,
    why: "",
    policy:
      secret === undefined
        ? known
          ? "fetch_confirm is on"
          : `${host} is new in this session`
        : `it sends ${secret} away`,
    understated: false,
    editable: false,
    // What is remembered is the host; a URL with a secret in it needs approval every time.
    ...(secret === undefined && ask === "new-domain" ? { prefixes: [{ words: ["fetch", host], open: true }] } : {}),
  });
  return decision.kind === "approved" ? undefined : refused(decision, action);
}
