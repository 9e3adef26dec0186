/** A sign-in server on loopback: device codes, rotating refresh tokens, and every way such a server can fail. */
export function startLoginServer(behaviour: LoginBehaviour = {}) {
  const state = {
    /** Looks at the device code so far. */
    polls: 0,
    refreshes: 0,
    /** Refreshes with a token that had already been used: each would sign the user out. */
    reused: 0,
    revoked: [] as string[],
    approved: behaviour.approved ?? true,
    refreshToken: "",
    bodies: [] as string[],
    down: false,
    /** Of a sign-in with the browser. */
    challenge: "",
    /** So many requests for a token fail. */
    failures: 0,
    /** Answers to refreshes wait for this: their tokens are made already. */
    answering: Promise.resolve(),
  };
  let serial = 0;
  let previous = "";
  const tokens = () => {
    serial += 1;
    state.refreshToken = `refresh-${serial}-secret`;
    return {
      access_token: jwt(behaviour, serial),
      refresh_token: state.refreshToken,
      id_token: jwt(behaviour, serial, { "https://api.openai.com/auth": { chatgpt_account_id: "acct-42" } }),
    };
  };
  const json = (body: unknown, status = 200) => Response.json(body, { status });

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      const body = await request.text();
      state.bodies.push(`${pathname} ${body}`);
      if (state.down) return new Response("<html>bad gateway</html>", { status: 502 });
      switch (pathname) {
        case "/api/accounts/deviceauth/usercode":
          if (behaviour.notEnabled) return json({}, 404);
          if (behaviour.garbage === "usercode") return new Response("<html>hello</html>");
          return json({
            device_auth_id: "device-1",
            [behaviour.oldFieldName ? "usercode" : "user_code"]: "ABCD-1234",
            interval: behaviour.interval ?? "0.05",
          });
        case "/api/accounts/deviceauth/token":
          state.polls += 1;
          // A redirect is an answer that the client refuses to follow: as good as none.
          if (state.polls <= (behaviour.dropPolls ?? 0)) return Response.redirect("http://127.0.0.1:9/", 307);
          if (behaviour.answer !== undefined) return json(behaviour.answer.body, behaviour.answer.status);
          if (behaviour.slowDownOnce && state.polls === 1) return json({ error: "slow_down" }, 400);
          if (!state.approved || state.polls <= (behaviour.pendingPolls ?? 2))
            return json({}, state.polls % 2 ? 403 : 404);
          return json({ authorization_code: "code-1", code_challenge: "challenge", code_verifier: "verifier-1" });
        case "/oauth/authorize": {
          state.challenge = searchParams.get("code_challenge") ?? "";
          const back = new URL(searchParams.get("redirect_uri") ?? "");
          back.searchParams.set("state", behaviour.foreignState ? "forged" : (searchParams.get("state") ?? ""));
          if (behaviour.declines) back.searchParams.set("error", "access_denied");
          else back.searchParams.set("code", "code-2");
          return Response.redirect(back.href, 302);
        }
        case "/oauth/token": {
          const form = new URLSearchParams(body);
          if (state.failures > 0) {
            state.failures -= 1;
            if (behaviour.failure === "cut") return Response.redirect("http://127.0.0.1:9/", 307);
            return json(behaviour.failure?.body ?? {}, behaviour.failure?.status ?? 500);
          }
          if (form.get("grant_type") === "authorization_code") {
            const proof = new Bun.CryptoHasher("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
            const right =
              (form.get("code") === "code-1" && form.get("code_verifier") === "verifier-1") ||
              (form.get("code") === "code-2" && proof === state.challenge);
            if (behaviour.garbage === "exchange") return new Response("no json here");
            return right ? json(tokens()) : json({ error: "invalid_grant" }, 400);
          }
          const { refresh_token } = JSON.parse(body) as { refresh_token: string };
          state.refreshes += 1;
          const isKnown = refresh_token === state.refreshToken || (behaviour.forgives && refresh_token === previous);
          if (!isKnown) {
            state.reused += 1;
            return json({ error: { code: "refresh_token_reused" } }, 401);
          }
          if (behaviour.keepRefreshToken) return json({ access_token: jwt(behaviour, ++serial) });
          previous = refresh_token;
          const next = tokens();
          await state.answering;
          return json(next);
        }
        case "/oauth/revoke":
          state.revoked.push((JSON.parse(body) as { token: string }).token);
          return json({});
        default:
          return new Response("not found", { status: 404 });
      }
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    state,
    /** Makes tokens as the server would, for tests that start signed in. */
    issue: tokens,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

export interface LoginBehaviour {
  readonly approved?: boolean;
  readonly pendingPolls?: number;
  readonly interval?: string;
  /** So many looks are cut off without an answer. */
  readonly dropPolls?: number;
  readonly oldFieldName?: boolean;
  readonly notEnabled?: boolean;
  readonly slowDownOnce?: boolean;
  readonly garbage?: "usercode" | "exchange";
  readonly answer?: { readonly status: number; readonly body: unknown };
  /** Seconds an access token lives. */
  readonly lifetime?: number;
  /** Seconds the server's clock is ahead of this machine's. */
  readonly skew?: number;
  readonly keepRefreshToken?: boolean;
  /** The browser brings a state that is not ours. */
  readonly foreignState?: boolean;
  /** The user declines in the browser. */
  readonly declines?: boolean;
  /** How a token request fails. */
  readonly failure?: { readonly status: number; readonly body: unknown } | "cut";
  /** The last refresh token is taken once more, as its answer may not have arrived. */
  readonly forgives?: boolean;
}

function jwt(behaviour: LoginBehaviour, serial: number, claims: Record<string, unknown> = {}): string {
  const now = Math.floor(Date.now() / 1000) + (behaviour.skew ?? 0);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const payload = { iat: now, exp: now + (behaviour.lifetime ?? 3600), jti: serial, ...claims };
  return `${encode({ alg: "none" })}.${encode(payload)}.sig${serial}`;
}
