/** startScripted: a playbook behind a loopback HTTP server that speaks all three protocols, streaming and not. */
import { pause, nextTurn } from "../../../src/lib/waiting.ts";
import { bodyOf, type Sending } from "./faults.ts";
import { listenHttp, type HttpRequest, type HttpResponse } from "./http.ts";
import type { Fault, Playbook, ScriptedReply } from "./playbook.ts";
import { readRequest, type ScriptedRequest } from "./read-request.ts";
import type { Rendered } from "./render.ts";
import { renderAnthropic } from "./wire-anthropic.ts";
import { renderCompletions } from "./wire-completions.ts";
import { renderResponses } from "./wire-responses.ts";

export interface ScriptedServer extends AsyncDisposable {
  /** The base URL of a profile. */
  readonly url: string;
  /** Every model request so far. */
  readonly requests: RecordedRequest[];
  close(): Promise<void>;
}

export interface RecordedRequest extends ScriptedRequest {
  /** performance.now() when its last byte arrived. */
  readonly at: number;
  /** performance.now() when its answer went out. */
  sentAt?: number;
  /** The client closed the connection before the answer was complete. */
  abandoned: boolean;
  /** The answer was sent to its end. */
  answered: boolean;
}

export interface ScriptedOptions {
  /** A fault for the n-th request, whatever the playbook says; undefined: none. */
  readonly faults?: readonly (Fault | undefined)[];
  /** Names listed at /models. */
  readonly models?: readonly string[];
  /** A secret part of the path. */
  readonly token?: string;
}

export function startScripted(playbook: Playbook, options: ScriptedOptions = {}): ScriptedServer {
  const requests: RecordedRequest[] = [];
  const base = `${options.token === undefined ? "" : `/${options.token}`}/v1`;
  const http = listenHttp(async (request, response) => {
    try {
      const path = request.path.split("?")[0] ?? "";
      if (request.method === "GET" && path === `${base}/models`)
        return await sendModels(response, options.models ?? ["demo"]);
      if (
        request.method !== "POST" ||
        !path.startsWith(`${base}/`) ||
        !/\/(chat\/completions|responses|messages)$/.test(path)
      ) {
        return await sendJson(response, 404, {
          error: { message: `no such address: ${request.method} ${request.path}`, code: "not_found" },
        });
      }
      await answer(request, response);
    } catch (error) {
      await sendJson(response, 500, { error: { message: `scripted model: ${String(error)}`, code: "script_failed" } });
    }
  });

  async function answer(request: HttpRequest, response: HttpResponse): Promise<void> {
    const seen: RecordedRequest = {
      ...readRequest(request.path, request.headers, request.body),
      at: request.at,
      abandoned: false,
      answered: false,
    };
    const fault = options.faults?.[requests.length];
    requests.push(seen);
    const leave = () => (seen.abandoned = !seen.answered);
    response.gone.addEventListener("abort", leave, { once: true });
    const planned = await playbook.reply(seen);
    const reply = fault === undefined ? planned : { ...planned, fault };
    await send(bodyOf(reply, render(reply, seen), seen.stream), reply, response, seen);
    if (seen.answered) response.gone.removeEventListener("abort", leave);
  }

  const close = async () => http.close();
  const url = `http://127.0.0.1:${http.port}${base}`;
  return { url, requests, close, [Symbol.asyncDispose]: close };
}

function render(reply: ScriptedReply, request: ScriptedRequest): Rendered {
  switch (request.api) {
    case "completions":
      return renderCompletions(reply, request);
    case "responses":
      return renderResponses(reply, request);
    case "anthropic":
      return renderAnthropic(reply, request);
  }
}

async function send(
  sending: Sending,
  reply: ScriptedReply,
  response: HttpResponse,
  seen: RecordedRequest,
): Promise<void> {
  // Ends when the client leaves.
  const wait = (ms: number) => pause(ms, response.gone).catch(() => {});
  if (sending.before === "never") return void (await untilGone(response));
  if (sending.before === "reset") return response.reset();
  if (sending.before === "wait") await wait(reply.delayMs ?? 0);
  seen.sentAt = performance.now();
  await response.head(sending.status, sending.headers);
  for await (const bytes of sending.body) {
    if (response.gone.aborted) return;
    const size = reply.chunkBytes ?? bytes.byteLength;
    for (let at = 0; at < bytes.byteLength && !response.gone.aborted; at += size) {
      if (reply.delayMs && sending.before !== "wait") await wait(reply.delayMs);
      await response.chunk(bytes.subarray(at, at + size));
      // Small pieces must be sent one by one, or they would arrive as one.
      if (reply.chunkBytes !== undefined) await nextTurn();
    }
  }
  switch (sending.after) {
    case "end":
      seen.answered = true;
      return response.end();
    case "hang":
      return untilGone(response);
    case "cut":
    case "reset":
      // A reset would overtake what was sent.
      await wait(20);
      return sending.after === "cut" ? response.cut() : response.reset();
  }
}

function untilGone(response: HttpResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.gone.aborted) resolve();
    else response.gone.addEventListener("abort", () => resolve(), { once: true });
  });
}

function sendModels(response: HttpResponse, names: readonly string[]): Promise<void> {
  return sendJson(response, 200, { object: "list", data: names.map((id) => ({ id, object: "model" })) });
}

async function sendJson(response: HttpResponse, status: number, value: unknown): Promise<void> {
  await response.head(status, { "content-type": "application/json" });
  await response.chunk(Buffer.from(JSON.stringify(value)));
  await response.end();
}
