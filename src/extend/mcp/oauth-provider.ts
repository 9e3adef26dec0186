/** The sign-in at an MCP server that asks for one: stored tokens are used and renewed; a new one needs a person. */
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { SignInStore, StoredSignIn } from "./sign-in-store.ts";

export interface ProviderOptions {
  readonly address: string;
  readonly store: SignInStore;
  readonly clientId?: string | undefined;
  /** Where the browser comes back to; without it, signing in is not possible now. */
  readonly redirectUri?: string;
  /** Gets the page to open; `state` is what the browser must bring back. */
  readonly onPage?: (url: URL) => void;
  readonly state?: string;
}

/** The server asks for a sign-in, and there is none. */
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
