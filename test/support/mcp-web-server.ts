/** An MCP server over HTTP that asks for a sign-in, with the authorization server that gives one. */

export interface WebServer extends Disposable {
  readonly url: string;
  /** What requests to the server itself carried. */
  readonly seen: { readonly authorization: string | null; readonly key: string | null }[];
  /** How the next requests to the server are answered, instead. */
  answer: ((request: Request) => Response | undefined) | undefined;
  /** What its list of tools has. */
  tools: readonly object[];
  /** Where it says that a sign-in is given, if not here. */
  authorization: string | undefined;
  /** Every path that was asked for. */
  readonly asked: string[];
  /** Tokens that were given so far. */
  readonly tokens: string[];
}

export function startWebServer({ signIn }: { readonly signIn: boolean }): WebServer {
  const seen: WebServer["seen"] = [];
  const tokens: string[] = [];
  const codes = new Map<string, string>();
  const asked: string[] = [];
  const state: Pick<WebServer, "answer" | "tools" | "authorization"> = {
    answer: undefined,
    tools: [{ name: "ping", description: "answers", inputSchema: { type: "object" } }],
    authorization: undefined,
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, searchParams, origin } = new URL(request.url);
      asked.push(pathname);
      if (pathname === "/mcp") {
        const authorization = request.headers.get("authorization");
        seen.push({ authorization, key: request.headers.get("x-key") });
        const other = state.answer?.(request);
        if (other !== undefined) return other;
        const token = authorization?.replace(/^Bearer /, "") ?? "";
        if (signIn && !tokens.slice(-1).includes(token)) {
          const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
          return new Response("", {
            status: 401,
            headers: { "www-authenticate": `Bearer resource_metadata="${metadata}"` },
          });
        }
        return request.method === "POST" ? rpc(await request.json(), state.tools) : new Response("", { status: 405 });
      }
      if (pathname.startsWith("/.well-known/oauth-protected-resource"))
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [state.authorization ?? origin] });
      if (pathname.startsWith("/.well-known/oauth-authorization-server"))
        return Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ["code"],
          grant_types_supported: ["authorization_code", "refresh_token"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
        });
      if (pathname === "/register")
        return Response.json({ ...((await request.json()) as object), client_id: "c1" }, { status: 201 });
      if (pathname === "/authorize") {
        const code = crypto.randomUUID();
        codes.set(code, searchParams.get("code_challenge") ?? "");
        const back = new URL(searchParams.get("redirect_uri") ?? "");
        back.searchParams.set("code", code);
        back.searchParams.set("state", searchParams.get("state") ?? "");
        return Response.redirect(back.href);
      }
      if (pathname === "/token") {
        const form = new URLSearchParams(await request.text());
        const challenge = new Bun.CryptoHasher("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
        const refresh = form.get("grant_type") === "refresh_token" && form.get("refresh_token") === "refresh-1";
        if (!refresh && codes.get(form.get("code") ?? "") !== challenge)
          return Response.json({ error: "invalid_grant" }, { status: 400 });
        tokens.push(`token-${tokens.length + 1}`);
        return Response.json({
          access_token: tokens.at(-1),
          token_type: "Bearer",
          expires_in: 3600,
          refresh_token: "refresh-1",
        });
      }
      return new Response("", { status: 404 });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    seen,
    tokens,
    asked,
    get answer() {
      return state.answer;
    },
    set answer(answer) {
      state.answer = answer;
    },
    get tools() {
      return state.tools;
    },
    set tools(tools) {
      state.tools = tools;
    },
    get authorization() {
      return state.authorization;
    },
    set authorization(authorization) {
      state.authorization = authorization;
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}

function rpc(message: unknown, tools: readonly object[]): Response {
  const { id, method, params = {} } = message as { id?: number; method: string; params?: Record<string, unknown> };
  if (id === undefined) return new Response(null, { status: 202 });
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: params["protocolVersion"],
      capabilities: { tools: {} },
      serverInfo: { name: "web", version: "2" },
    },
    "tools/list": { tools },
    "tools/call": { content: [{ type: "text", text: "pong" }] },
  };
  if (method in results) return Response.json({ jsonrpc: "2.0", id, result: results[method] });
  return Response.json({ jsonrpc: "2.0", id, error: { code: -32601, message: "unknown" } });
}
