import { expect, test } from "bun:test";
import { loginBaseUrl } from "../../src/auth/sign-in.ts";
import { buddyError } from "../support/errors.ts";

test("a signed-in profile talks to OpenAI, to this machine in tests, and to no one else", () => {
  const signedIn = "https://chatgpt.com/backend-api/codex";
  expect(loginBaseUrl("https://api.openai.com/v1", {})).toBe(signedIn);
  expect(loginBaseUrl("https://chatgpt.com/backend-api/codex/", {})).toBe(signedIn);
  expect(loginBaseUrl("https://api.openai.com/v1", { BUDDY_LOGIN_BASE_URL: "http://127.0.0.1:9/x/" })).toBe(
    "http://127.0.0.1:9/x",
  );
  for (const url of [
    "https://api.openai.com.evil.example/v1",
    "https://evil.example",
    "https://127.0.0.1.evil.example",
    "x",
  ])
    expect(() => loginBaseUrl(url, {})).toThrow(buddyError("config", 'auth = "login"'));
});
