/** The sign-in at an MCP server: stored tokens are used and renewed; a new sign-in needs a person. */
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { lstatSync, readFileSync } from "node:fs";
import { BuddyError } from "../../lib/errors.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import { isRecord } from "../../lib/values.ts";
import { quote } from "../../lib/quote.ts";

/** What the client package stores for a server, in its own format. */
export interface StoredSignIn {
  readonly tokens?: unknown;
  readonly client?: unknown;
  readonly discovery?: unknown;
}

/** mcp-auth.json: the sign-ins at MCP servers, readable by their owner alone. */
export class SignInStore {
  readonly #path: string | undefined;

  constructor(path: string | undefined) {
    this.#path = path;
  }

  read(address: string): StoredSignIn {
    const all = this.#load();
    const found = Object.hasOwn(all, address) ? all[address] : undefined;
    return isRecord(found) ? found : {};
  }

  /** Where the tokens came from; undefined: there is no sign-in. */
  tokenEndpoint(address: string): string | undefined {
    const { tokens, discovery } = this.read(address);
    const metadata = isRecord(discovery) ? discovery["authorizationServerMetadata"] : undefined;
    const endpoint = isRecord(metadata) ? metadata["token_endpoint"] : undefined;
    return tokens !== undefined && typeof endpoint === "string" ? URL.parse(endpoint)?.href : undefined;
  }

  /** Undefined removes the sign-in. */
  write(address: string, change: StoredSignIn | undefined): void {
    if (this.#path === undefined)
      throw new BuddyError("auth", "HOME is not set, so there is no place for the sign-in", { hint: "Set HOME." });
    const { [address]: before, ...others } = this.#load();
    const next = change === undefined ? undefined : { ...(isRecord(before) ? before : {}), ...change };
    const servers = next === undefined ? others : { ...others, [address]: next };
    writeFileAtomic(this.#path, `${JSON.stringify({ version: 1, servers }, null, 2)}\n`);
  }

  /** Empty if the file is damaged or missing. */
  #load(): Record<string, unknown> {
    if (this.#path === undefined) return {};
    try {
      const stat = lstatSync(this.#path);
      if (!stat.isFile() || (stat.mode & 0o077) !== 0) return refuse(this.#path, stat.isFile());
      const stored: unknown = JSON.parse(readFileSync(this.#path, "utf8"));
      return isRecord(stored) && isRecord(stored["servers"]) ? stored["servers"] : {};
    } catch (error) {
      if (error instanceof BuddyError) throw error;
      return {};
    }
  }
}

function refuse(path: string, isFile: boolean): never {
  throw new BuddyError("auth", `${path} ${isFile ? "can be read by other users" : "is not a regular file"}`, {
    hint: isFile ? `Run: chmod 600 ${quote(path)}` : "Remove it, then sign in again.",
  });
}

export interface ProviderOptions {
  readonly address: string;
  readonly store: SignInStore;
  readonly clientId?: string | undefined;
  /** Where the browser returns to; without it, signing in is not possible now. */
  readonly redirectUri?: string;
  /** Gets the page to open; the browser must bring `state` back. */
  readonly onPage?: (url: URL) => void;
  readonly state?: string;
}

/** The server asks for a sign-in that buddy does not have. */
export class SignInNeeded extends Error {}

export class OAuthProvider implements OAuthClientProvider {
  readonly #options: ProviderOptions;
  #verifier = "";

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  get redirectUrl(): string {
    return this.#options.redirectUri ?? "http://localhost/callback";
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: "buddy",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }

  state(): string {
    return this.#options.state ?? "";
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    const { clientId } = this.#options;
    const stored = this.#stored().client as StoredOAuthClientInformation | undefined;
    return clientId === undefined ? stored : ({ ...stored, client_id: clientId } as StoredOAuthClientInformation);
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#keep({ client });
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#stored().tokens as StoredOAuthTokens | undefined;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#keep({ tokens });
  }

  redirectToAuthorization(url: URL): void {
    if (this.#options.onPage === undefined) throw new SignInNeeded("the server asks for a sign-in");
    if (!/^https?:$/.test(url.protocol))
      throw new BuddyError("auth", `the server wants to sign in with a ${url.protocol} address`);
    this.#options.onPage(url);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#keep({ discovery });
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#stored().discovery as OAuthDiscoveryState | undefined;
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (scope === "all") this.#options.store.write(this.#options.address, undefined);
    else if (scope !== "verifier") this.#keep({ [scope]: undefined });
  }

  #stored(): StoredSignIn {
    return this.#options.store.read(this.#options.address);
  }

  #keep(change: StoredSignIn): void {
    this.#options.store.write(this.#options.address, change);
  }
}
