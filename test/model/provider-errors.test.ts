/** Errors as providers send them, and what buddy makes of each: why it failed, and whether another try may help. */
import { describe, expect, test } from "bun:test";
import type { ModelFailure } from "../../src/model/errors.ts";
import { done, startModel } from "../support/model.ts";

/** [status, body, reason, retried]; status 200: the body stands in the place of an answer. */
type Row = readonly [number, unknown, ModelFailure, ("retry" | "once")?];

const openai = (message: string, code?: string, type = "invalid_request_error", param?: string) => ({
  error: { message, type, param: param ?? null, code: code ?? null },
});
const google = (code: number, status: string, message: string, details: readonly unknown[] = []) => [
  { error: { code, message, status, details } },
];
const anthropic = (type: string, message: string) => ({ type: "error", error: { type, message }, request_id: "req_1" });

const PROVIDERS: Readonly<Record<string, readonly Row[]>> = {
  OpenAI: [
    [
      400,
      openai(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 140034 tokens (139500 in the messages, 534 in the functions). Please reduce the length of the messages or functions.",
        "context_length_exceeded",
        undefined,
        "messages",
      ),
      "context-limit",
    ],
    [400, openai("Your input exceeds the context window of this model.", "context_length_exceeded"), "context-limit"],
    [
      400,
      openai(
        "Invalid 'input[3].output': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.",
        "string_above_max_length",
      ),
      "context-limit",
    ],
    [
      429,
      openai(
        "Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Used 25000, Requested 9000. Please try again in 8ms. Visit https://platform.openai.com/account/rate-limits to learn more.",
        "rate_limit_exceeded",
        "tokens",
      ),
      "rate-limit",
      "retry",
    ],
    [
      429,
      openai(
        "Request too large for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Requested 60001. The input or output tokens must be reduced in order to run successfully.",
        "rate_limit_exceeded",
        "tokens",
      ),
      "context-limit",
    ],
    [
      429,
      openai(
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
      ),
      "quota",
    ],
    [429, openai("Your account is not active, please check your billing details.", "billing_not_active"), "quota"],
    [400, openai("Billing hard limit has been reached", "billing_hard_limit_reached"), "quota"],
    [401, openai("Incorrect API key provided: sk-abc.", "invalid_api_key"), "auth"],
    [401, openai("You have insufficient permissions for this operation. Missing scopes: model.request."), "auth"],
    [403, openai("Project `proj_x` does not have access to model `gpt-5`", "model_not_found"), "unknown-model"],
    [
      404,
      openai("The model `gpt-9` does not exist or you do not have access to it.", "model_not_found"),
      "unknown-model",
    ],
    [400, openai("The requested model 'gpt-9' does not exist.", "model_not_found"), "unknown-model"],
    [
      404,
      openai(
        "This model is only supported in v1/responses and not in v1/chat/completions.",
        undefined,
        undefined,
        "model",
      ),
      "unknown-model",
    ],
    [
      403,
      openai(
        "Country, region, or territory not supported",
        "unsupported_country_region_territory",
        "request_forbidden",
      ),
      "refused",
    ],
    [
      400,
      openai("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "invalid_prompt"),
      "content-filter",
    ],
    [400, openai("This content was flagged for possible cybersecurity risk.", "cyber_policy"), "content-filter"],
    [400, openai("This request cannot be completed.", "bio_policy"), "content-filter"],
    [
      500,
      openai("The server had an error while processing your request. Sorry about that!", undefined, "server_error"),
      "overloaded",
      "retry",
    ],
    [
      503,
      openai("The engine is currently overloaded, please try again later", undefined, "server_error"),
      "overloaded",
      "retry",
    ],
    [503, openai("Slow Down", "slow_down", "server_error"), "overloaded", "retry"],
    [400, openai("Unknown parameter: 'foo'.", "unknown_parameter", undefined, "foo"), "parameter"],
    [
      400,
      openai(
        "Invalid schema for function 'look': None is not of type 'object'.",
        "invalid_function_parameters",
        undefined,
        "tools[0].function.parameters",
      ),
      "refused",
    ],
  ],
  "OpenAI sign-in": [
    [
      429,
      {
        error: {
          type: "usage_limit_reached",
          message: "The usage limit has been reached",
          plan_type: "plus",
          resets_in_seconds: 5400,
        },
      },
      "quota",
    ],
    [403, { error: { type: "usage_not_included", message: "Not included in your plan" } }, "quota"],
    [400, { detail: "The 'gpt-9' model is not supported when using Codex with a ChatGPT account." }, "unknown-model"],
    [401, { detail: "Unauthorized" }, "auth"],
    [
      401,
      { error: { message: "Your authentication token has been invalidated. Please try signing in again." } },
      "auth",
    ],
  ],
  Azure: [
    [
      401,
      { error: { code: "401", message: "Access denied due to invalid subscription key or wrong API endpoint." } },
      "auth",
    ],
    [
      401,
      {
        statusCode: 401,
        message: "Unauthorized. Access token is missing, invalid, audience is incorrect, or have expired.",
      },
      "auth",
    ],
    [
      404,
      { error: { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." } },
      "unknown-model",
    ],
    [404, { error: { code: "404", message: "Resource not found" } }, "not-found"],
    [
      429,
      {
        error: {
          code: "429",
          message:
            "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-06-01 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 0 seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.",
        },
      },
      "rate-limit",
      "retry",
    ],
    [
      400,
      {
        error: {
          message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
          param: "prompt",
          code: "content_filter",
          status: 400,
          innererror: { code: "ResponsibleAIPolicyViolation" },
        },
      },
      "content-filter",
    ],
    [
      403,
      { error: { code: "403", message: "Out of call volume quota. Quota will be replenished in 4.12:00:00." } },
      "quota",
    ],
    [
      400,
      {
        error: {
          code: "OperationNotSupported",
          message: "The chatCompletion operation does not work with the specified model, x.",
        },
      },
      "unknown-model",
    ],
  ],
  Anthropic: [
    [400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "context-limit"],
    [
      400,
      anthropic(
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
      ),
      "context-limit",
    ],
    [413, anthropic("request_too_large", "Request exceeds the maximum size"), "context-limit"],
    [
      400,
      anthropic(
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
      ),
      "quota",
    ],
    [
      400,
      anthropic(
        "invalid_request_error",
        "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
      ),
      "quota",
    ],
    [401, anthropic("authentication_error", "invalid x-api-key"), "auth"],
    [401, anthropic("authentication_error", "OAuth token has expired. Please obtain a new token."), "auth"],
    [
      403,
      anthropic("permission_error", "Your API key does not have permission to use the specified resource."),
      "auth",
    ],
    [404, anthropic("not_found_error", "model: claude-9"), "unknown-model"],
    [
      429,
      anthropic(
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
      ),
      "rate-limit",
      "retry",
    ],
    [529, anthropic("overloaded_error", "Overloaded"), "overloaded", "retry"],
    [500, anthropic("api_error", "Internal server error"), "overloaded", "retry"],
    [400, anthropic("invalid_request_error", "Output blocked by content filtering policy"), "content-filter"],
    [400, anthropic("invalid_request_error", "'claude-2.1' does not support tool use."), "tools-unsupported"],
    [
      400,
      anthropic(
        "invalid_request_error",
        "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku",
      ),
      "parameter",
    ],
    [200, anthropic("overloaded_error", "Overloaded"), "overloaded", "retry"],
  ],
  Gemini: [
    [
      400,
      google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" },
      ]),
      "auth",
    ],
    [400, google(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."), "auth"],
    [403, google(403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key."), "auth"],
    [403, google(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers."), "auth"],
    [
      429,
      google(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 10\nPlease retry in 0.5s.",
        [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0s" }],
      ),
      "rate-limit",
      "retry",
    ],
    [
      429,
      google(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details.",
        [
          {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel-FreeTier" }],
          },
        ],
      ),
      "rate-limit",
      "retry",
    ],
    [429, google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."), "rate-limit", "retry"],
    [429, google(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."), "quota"],
    [
      400,
      google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      ),
      "context-limit",
    ],
    [
      404,
      google(
        404,
        "NOT_FOUND",
        "models/gemini-9 is not found for API version v1main, or is not supported for generateContent.",
      ),
      "unknown-model",
    ],
    [
      400,
      google(400, "INVALID_ARGUMENT", "Function calling is not enabled for models/gemma-3-27b-it"),
      "tools-unsupported",
    ],
    [
      400,
      google(400, "INVALID_ARGUMENT", 'Invalid JSON payload received. Unknown name "foo": Cannot find field.'),
      "parameter",
    ],
    [503, google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), "overloaded", "retry"],
    [400, google(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), "refused"],
  ],
  Vertex: [
    [
      401,
      google(401, "UNAUTHENTICATED", "Request had invalid authentication credentials. Expected OAuth 2 access token."),
      "auth",
    ],
    [
      403,
      google(
        403,
        "PERMISSION_DENIED",
        "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/x'.",
      ),
      "auth",
    ],
    [
      404,
      google(
        404,
        "NOT_FOUND",
        "Publisher Model `projects/p/models/gemini-9` was not found or your project does not have access to it.",
      ),
      "unknown-model",
    ],
    [403, google(403, "PERMISSION_DENIED", "This API method requires billing to be enabled."), "quota"],
    [
      400,
      google(
        400,
        "INVALID_ARGUMENT",
        "Unable to submit request because the input token count is 1200000 but model only supports up to 1048576.",
      ),
      "context-limit",
    ],
    [429, google(429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later."), "rate-limit", "retry"],
  ],
  Mistral: [
    [401, { message: "Unauthorized", request_id: "x" }, "auth"],
    [
      422,
      {
        object: "error",
        message: { detail: [{ type: "extra_forbidden", loc: ["body", "foo"], msg: "Extra inputs are not permitted" }] },
        type: "invalid_request_error",
      },
      "parameter",
    ],
    [
      400,
      {
        object: "error",
        message:
          "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        code: 3051,
      },
      "context-limit",
    ],
    [
      400,
      { object: "error", message: "Invalid model: mistral-foo", type: "invalid_model", code: "1500" },
      "unknown-model",
    ],
    [
      429,
      {
        object: "error",
        message: "Service tier capacity exceeded for this model.",
        type: "service_tier_capacity_exceeded",
        code: "3505",
      },
      "overloaded",
      "retry",
    ],
    [429, { message: "Requests rate limit exceeded" }, "rate-limit", "retry"],
    [400, { object: "error", message: "Function calling is not enabled for this model" }, "tools-unsupported"],
    [
      503,
      { object: "error", message: "Service unavailable.", type: "internal_server_error", code: "3000" },
      "overloaded",
      "retry",
    ],
  ],
  Groq: [
    [401, openai("Invalid API Key", "invalid_api_key"), "auth"],
    [
      413,
      openai(
        "Request too large for model `llama` in organization `org` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
        "rate_limit_exceeded",
        "tokens",
      ),
      "context-limit",
    ],
    [
      429,
      openai(
        "Rate limit reached for model `llama` in organization `org` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Used 5900, Requested 300. Please try again in 2ms. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
        "rate_limit_exceeded",
        "tokens",
      ),
      "rate-limit",
      "retry",
    ],
    [
      400,
      openai("The model `x` has been decommissioned and is no longer supported.", "model_decommissioned"),
      "unknown-model",
    ],
    [
      400,
      openai(
        "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        "tool_use_failed",
      ),
      "bad-tool-call",
      "once",
    ],
    [400, openai("`tool calling` is not supported with this model"), "tools-unsupported"],
    [
      400,
      openai("Please reduce the length of the messages or completion.", "context_length_exceeded"),
      "context-limit",
    ],
    [498, openai("Flex tier capacity exceeded", "capacity_exceeded"), "overloaded", "retry"],
    [503, openai("x is currently over capacity. Please try again and back off exponentially."), "overloaded", "retry"],
  ],
  Cerebras: [
    [401, { message: "Wrong API Key", type: "invalid_request_error", param: "api_key", code: "wrong_api_key" }, "auth"],
    [
      400,
      {
        message: "Please reduce the length of the messages or completion. Current length is 70000 while limit is 65536",
        code: "context_length_exceeded",
      },
      "context-limit",
    ],
    [
      429,
      {
        message: "Requests per minute limit exceeded - too many requests sent.",
        type: "too_many_requests_error",
        param: "quota",
        code: "request_quota_exceeded",
      },
      "rate-limit",
      "retry",
    ],
    [
      429,
      {
        message: "Tokens per day limit exceeded - too many tokens processed.",
        type: "too_many_tokens_error",
        param: "quota",
        code: "token_quota_exceeded",
      },
      "rate-limit",
      "retry",
    ],
    [
      404,
      { message: "Model x does not exist or you do not have access to it.", code: "model_not_found" },
      "unknown-model",
    ],
  ],
  xAI: [
    [
      400,
      {
        code: "Client specified an invalid argument",
        error: "Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai.",
      },
      "auth",
    ],
    [
      403,
      {
        code: "The caller does not have permission to execute the specified operation",
        error:
          "Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai.",
      },
      "quota",
    ],
    [
      429,
      {
        code: "Some resource has been exhausted",
        error: "Your team x has either used all available credits or reached its monthly spending limit.",
      },
      "quota",
    ],
    [
      429,
      { code: "Some resource has been exhausted", error: "Too many requests for team x and model grok." },
      "rate-limit",
      "retry",
    ],
    [
      404,
      {
        code: "Some requested entity was not found",
        error: "The model grok-9 does not exist or your team x does not have access to it.",
      },
      "unknown-model",
    ],
    [
      400,
      {
        code: "Client specified an invalid argument",
        error: "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
      },
      "context-limit",
    ],
    [
      403,
      {
        code: "The caller does not have permission",
        error: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_X",
      },
      "content-filter",
    ],
    [
      503,
      {
        code: "The service is currently unavailable",
        error: "The model is at capacity and currently cannot serve this request.",
      },
      "overloaded",
      "retry",
    ],
    [400, { code: "invalid-argument", error: "Argument not supported on this model: presencePenalty" }, "parameter"],
  ],
  DeepSeek: [
    [
      401,
      openai(
        "Authentication Fails, Your api key: ****abcd is invalid",
        "invalid_request_error",
        "authentication_error",
      ),
      "auth",
    ],
    [402, openai("Insufficient Balance", "invalid_request_error", "unknown_error"), "quota"],
    [400, openai("Model Not Exist", "invalid_request_error"), "unknown-model"],
    [400, openai("Content Exists Risk", "invalid_request_error"), "content-filter"],
    [400, openai("deepseek-reasoner does not support Function Calling", "invalid_request_error"), "tools-unsupported"],
    [
      503,
      openai("Service is too busy. We advise users to temporarily switch to alternative LLM API providers."),
      "overloaded",
      "retry",
    ],
  ],
  Moonshot: [
    [401, { error: { message: "Invalid Authentication", type: "invalid_authentication_error" } }, "auth"],
    [
      429,
      {
        error: {
          message: "Your account org-x<ak-y> is suspended, please check your plan and billing details",
          type: "exceeded_current_quota_error",
        },
      },
      "quota",
    ],
    [
      429,
      {
        error: {
          message: "Your account org-x<ak-y> request reached max request: 3, please try again after 0 seconds",
          type: "rate_limit_reached_error",
        },
      },
      "rate-limit",
      "retry",
    ],
    [
      429,
      {
        error: {
          message: "The engine is currently overloaded, please try again later",
          type: "engine_overloaded_error",
        },
      },
      "overloaded",
      "retry",
    ],
    [
      400,
      {
        error: {
          message: "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)",
          type: "invalid_request_error",
        },
      },
      "context-limit",
    ],
    [
      400,
      { error: { message: "The request was rejected because it was considered high risk", type: "content_filter" } },
      "content-filter",
    ],
    [
      404,
      { error: { message: "Not found the model kimi-x or Permission denied", type: "resource_not_found_error" } },
      "unknown-model",
    ],
  ],
  "z.ai": [
    [
      429,
      { error: { code: "1113", message: "Insufficient balance or no resource package. Please recharge." } },
      "quota",
    ],
    [429, { error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } }, "quota"],
    [401, { error: { code: "1002", message: "Invalid Authentication Token" } }, "auth"],
    [401, { error: { code: "401", message: "token expired or incorrect" } }, "auth"],
    [400, { error: { code: "1211", message: "Unknown Model, please check the model code." } }, "unknown-model"],
    [400, { error: { code: "1261", message: "Prompt exceeds max length" } }, "context-limit"],
    [
      400,
      {
        error: {
          code: "1301",
          message: "System detected potentially unsafe or sensitive content in input or generation.",
        },
      },
      "content-filter",
    ],
    [
      429,
      { error: { code: "1302", message: "High concurrency usage of this API, please reduce concurrency" } },
      "rate-limit",
      "retry",
    ],
    [
      429,
      { error: { code: "1305", message: "The service may be temporarily overloaded, please try again later" } },
      "overloaded",
      "retry",
    ],
    [
      429,
      {
        error: {
          code: "1308",
          message: "Usage limit reached for 5 hour. Your limit will reset at 2026-10-04 18:38:04",
        },
      },
      "quota",
    ],
    [
      429,
      { error: { code: "1311", message: "Your current subscription plan does not yet include access to GLM-5" } },
      "quota",
    ],
  ],
  DashScope: [
    [
      400,
      openai(
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        "invalid_parameter_error",
      ),
      "context-limit",
    ],
    [401, openai("Incorrect API key provided. For details, see: https://x", "invalid_api_key"), "auth"],
    [
      400,
      openai("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage"),
      "quota",
    ],
    [429, openai("Requests rate limit exceeded, please try again later.", "limit_requests"), "rate-limit", "retry"],
    [
      429,
      { code: "Throttling.AllocationQuota", message: "Allocated quota exceeded, please increase your quota limit." },
      "rate-limit",
      "retry",
    ],
    [403, { code: "AllocationQuota.FreeTierOnly", message: "The free tier of the model has been exhausted." }, "quota"],
    [400, openai("Input data may contain inappropriate content.", "data_inspection_failed"), "content-filter"],
    [
      403,
      openai("Access to model denied. Please make sure you are eligible for using the model.", "access_denied"),
      "unknown-model",
    ],
  ],
  MiniMax: [
    [
      200,
      {
        base_resp: {
          status_code: 1004,
          status_msg: "login fail: Please carry the API secret key in the 'Authorization' field",
        },
      },
      "auth",
    ],
    [200, { base_resp: { status_code: 2049, status_msg: "invalid api key" } }, "auth"],
    [200, { base_resp: { status_code: 1008, status_msg: "insufficient balance" } }, "quota"],
    [200, { base_resp: { status_code: 1002, status_msg: "rate limit" } }, "rate-limit", "retry"],
    [200, { base_resp: { status_code: 1027, status_msg: "output new_sensitive" } }, "content-filter"],
    [200, { base_resp: { status_code: 1013, status_msg: "internal service error" } }, "overloaded", "retry"],
    [
      400,
      {
        type: "error",
        error: {
          type: "bad_request_error",
          message: "invalid params, context window exceeds limit (2013)",
          http_code: "400",
        },
      },
      "context-limit",
    ],
    [
      529,
      {
        type: "error",
        error: { type: "overloaded_error", message: "The server cluster is currently under high load. (2064)" },
      },
      "overloaded",
      "retry",
    ],
  ],
  OpenRouter: [
    [401, { error: { message: "User not found.", code: 401 } }, "auth"],
    [401, { error: { message: "No auth credentials found", code: 401 } }, "auth"],
    [
      402,
      {
        error: {
          message:
            "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 1234.",
          code: 402,
        },
      },
      "quota",
    ],
    [403, { error: { message: "Key limit exceeded (monthly limit).", code: 403 } }, "quota"],
    [404, { error: { message: "No endpoints found that support tool use.", code: 404 } }, "tools-unsupported"],
    [404, { error: { message: "No endpoints found for x/y.", code: 404 } }, "unknown-model"],
    [400, { error: { message: "x/y is not a valid model ID", code: 400 } }, "unknown-model"],
    [
      400,
      {
        error: {
          message:
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens.",
          code: 400,
        },
      },
      "context-limit",
    ],
    [
      429,
      {
        error: {
          message:
            "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
          code: 429,
          metadata: { headers: { "X-RateLimit-Reset": "99999999999999" } },
        },
      },
      "quota",
    ],
    [429, { error: { message: "Rate limit exceeded: free-models-per-min.", code: 429 } }, "rate-limit", "retry"],
    [
      429,
      {
        error: {
          message: "Provider returned error",
          code: 429,
          metadata: { raw: "x is temporarily rate-limited upstream. Please retry shortly." },
        },
      },
      "rate-limit",
      "retry",
    ],
    [
      400,
      {
        error: {
          message: "Provider returned error",
          code: 400,
          metadata: { raw: JSON.stringify(openai("maximum context length is 8192 tokens", "context_length_exceeded")) },
        },
      },
      "context-limit",
    ],
    [
      403,
      {
        error: {
          message: 'x requires moderation on OpenAI. Your input was flagged for "violence"',
          code: 403,
          metadata: { reasons: ["violence"] },
        },
      },
      "content-filter",
    ],
    [502, { error: { message: "Provider returned error", code: 502 } }, "overloaded", "retry"],
    [200, { id: "gen-1", error: { code: 502, message: "Upstream error from X" } }, "overloaded", "retry"],
  ],
  Together: [
    [
      422,
      openai(
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 131073. Given: 140000 `inputs` tokens and 0 `max_new_tokens`",
      ),
      "context-limit",
    ],
    [401, openai("Invalid API key provided. You can find your API key at https://x", "invalid_api_key"), "auth"],
    [
      404,
      openai("Unable to access model x. Please visit https://x to view the list of supported models."),
      "unknown-model",
    ],
    [
      429,
      openai(
        "You have reached the rate limit specific to this model x. The maximum rate limit for this model is 0.6 queries per minute.",
        undefined,
        "model_rate_limit",
      ),
      "rate-limit",
      "retry",
    ],
    [402, openai("Credit limit exceeded, please navigate to https://x", undefined, "credit_limit"), "quota"],
  ],
  Fireworks: [
    [400, openai("The prompt is too long: 140000, model maximum context length: 131071"), "context-limit"],
    [
      401,
      { error: { code: "UNAUTHORIZED", message: "The API key you provided is invalid.", object: "error" } },
      "auth",
    ],
    [
      404,
      { error: { code: "NOT_FOUND", message: "Model not found, inaccessible, and/or not deployed" } },
      "unknown-model",
    ],
    [
      412,
      {
        error: {
          code: "PRECONDITION_FAILED",
          message: "Account x is suspended, possibly due to reaching the monthly spending limit",
        },
      },
      "quota",
    ],
  ],
  Cohere: [
    [401, { message: "invalid api token" }, "auth"],
    [404, { message: "model 'x' not found, make sure the correct model ID was used" }, "unknown-model"],
    [429, { message: "You are using a Trial key, which is limited to 10 API calls / minute." }, "rate-limit", "retry"],
    [429, { message: "You are using a Trial key, which is limited to 1000 API calls / month." }, "quota"],
    [
      400,
      { message: "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 140000." },
      "context-limit",
    ],
    [402, { message: "Please add or update your payment method" }, "quota"],
  ],
  Perplexity: [
    [401, "<html><head><title>401 Authorization Required</title></head></html>", "auth"],
    [
      400,
      openai("Invalid model 'x'. Permitted models can be found in the documentation.", undefined, "invalid_model"),
      "unknown-model",
    ],
    [
      401,
      {
        error: {
          message: "You exceeded your current quota, please check your plan and billing details.",
          type: "insufficient_quota",
          code: 401,
        },
      },
      "quota",
    ],
  ],
  Cloudflare: [
    [401, { errors: [{ code: 10000, message: "Authentication error" }], success: false, result: null }, "auth"],
    [
      400,
      { errors: [{ code: 5007, message: "AiError: No such model @cf/x or task" }], success: false },
      "unknown-model",
    ],
    [
      429,
      {
        errors: [{ code: 4006, message: "you have used up your daily free allocation of 10,000 neurons" }],
        success: false,
      },
      "quota",
    ],
    [
      429,
      { errors: [{ code: 3040, message: "Capacity temporarily exceeded, please try again." }], success: false },
      "overloaded",
      "retry",
    ],
    [
      413,
      {
        errors: [
          {
            code: 5021,
            message:
              "The estimated number of input and maximum output tokens (140000) exceeded this model context window limit (131072).",
          },
        ],
      },
      "context-limit",
    ],
    [
      200,
      { errors: [{ code: 10000, message: "Authentication error" }], success: false, result: {}, messages: [] },
      "auth",
    ],
    [429, "error code: 1015", "rate-limit", "retry"],
    [524, "error code: 524", "overloaded", "retry"],
  ],
  Bedrock: [
    [403, { message: "The security token included in the request is invalid." }, "auth"],
    [403, { message: "The security token included in the request is expired" }, "auth"],
    [429, { message: "Too many tokens, please wait before trying again." }, "rate-limit", "retry"],
    [400, { message: "Input is too long for requested model." }, "context-limit"],
    [400, { message: "The provided model identifier is invalid." }, "unknown-model"],
    [400, { message: "Invocation of model ID x with on-demand throughput isn't supported." }, "unknown-model"],
    [403, { message: "You don't have access to the model with the specified model ID." }, "unknown-model"],
    [400, { message: "This model doesn't support tool use." }, "tools-unsupported"],
  ],
  "GitHub Copilot and Models": [
    [
      400,
      {
        error: {
          message: "prompt token count of 140000 exceeds the limit of 128000",
          code: "model_max_prompt_tokens_exceeded",
        },
      },
      "context-limit",
    ],
    [401, "IDE token expired: unauthorized: token expired", "auth"],
    [
      400,
      { error: { message: "The requested model is not supported.", code: "model_not_supported", param: "model" } },
      "unknown-model",
    ],
    [402, { error: { message: "You have no quota", code: "quota_exceeded" } }, "quota"],
    [
      400,
      {
        error: {
          message: "model gpt-5-codex is not accessible via the /chat/completions endpoint",
          code: "unsupported_api_for_model",
        },
      },
      "unknown-model",
    ],
    [
      413,
      {
        error: {
          code: "tokens_limit_reached",
          message: "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        },
      },
      "context-limit",
    ],
    [401, { error: { code: "unauthorized", message: "Bad credentials" } }, "auth"],
    [
      429,
      {
        error: {
          code: "RateLimitReached",
          message: "Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 0 seconds before retrying.",
        },
      },
      "rate-limit",
      "retry",
    ],
    [400, { error: { code: "unknown_model", message: "Unknown model: x" } }, "unknown-model"],
  ],
  "Portkey and LiteLLM": [
    [
      400,
      { status: "failure", message: "Either x-portkey-config or x-portkey-provider header is required" },
      "refused",
    ],
    [401, { error: { message: "Portkey Error: Invalid API Key. Error Code: 03" } }, "auth"],
    [
      446,
      { error: { message: "The guardrail checks defined in the config failed.", type: "hooks_failed" } },
      "content-filter",
    ],
    [
      400,
      openai(
        "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's maximum context length is 8192",
        "400",
      ),
      "context-limit",
    ],
    [
      401,
      openai("Authentication Error, Invalid proxy server token passed.", "401", "token_not_found_in_db", "key"),
      "auth",
    ],
    [400, openai("Budget has been exceeded! Current cost: 12.3, Max budget: 10.0", "400", "budget_exceeded"), "quota"],
    [
      429,
      openai(
        "litellm.RateLimitError: RateLimitError: OpenAIException - You exceeded your current quota, please check your plan and billing details.",
        "429",
      ),
      "quota",
    ],
    [
      429,
      openai("No deployments available for selected model, Try again in 0 seconds. Passed model=x.", "429"),
      "rate-limit",
      "retry",
    ],
    [
      400,
      openai("litellm.UnsupportedParamsError: groq does not support parameters: ['foo'], for model=x.", "400"),
      "parameter",
    ],
    [
      400,
      openai(
        "/chat/completions: Invalid model name passed in model=x. Call `/v1/models` to view available models for your key.",
        "400",
      ),
      "unknown-model",
    ],
    [
      401,
      openai(
        "key not allowed to access model. This key can only access models=['x'].",
        "401",
        "key_model_access_denied",
      ),
      "unknown-model",
    ],
  ],
  "vLLM, SGLang and TGI": [
    [
      400,
      {
        object: "error",
        message: "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
        type: "BadRequestError",
        code: 400,
      },
      "context-limit",
    ],
    [
      404,
      { object: "error", message: "The model `x` does not exist.", type: "NotFoundError", code: 404 },
      "unknown-model",
    ],
    [401, { error: "Unauthorized" }, "auth"],
    [
      400,
      openai('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "400"),
      "tools-unsupported",
    ],
    [
      400,
      openai(
        "'max_tokens' or 'max_completion_tokens' is too large: 40000. This model's maximum context length is 32768 tokens",
        "400",
      ),
      "parameter",
    ],
    [
      400,
      { message: "The input (40000 tokens) is longer than the model's context length (32768 tokens)." },
      "context-limit",
    ],
    [
      400,
      { message: "Input length (40000 tokens) exceeds the maximum allowed length (32762 tokens)." },
      "context-limit",
    ],
    [503, { message: "The request queue is full." }, "overloaded", "retry"],
    [
      422,
      {
        error:
          "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
        error_type: "validation",
      },
      "context-limit",
    ],
    [
      422,
      {
        error: "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
        error_type: "validation",
      },
      "context-limit",
    ],
    [429, { error: "Model is overloaded", error_type: "overloaded" }, "overloaded", "retry"],
    [
      424,
      { error: "Request failed during generation: out of blocks", error_type: "generation" },
      "overloaded",
      "retry",
    ],
  ],
  "llama.cpp, Ollama and LM Studio": [
    [
      400,
      {
        error: {
          code: 400,
          message: "the request exceeds the available context size, try increasing it",
          type: "exceed_context_size_error",
          n_prompt_tokens: 9000,
          n_ctx: 8192,
        },
      },
      "context-limit",
    ],
    [500, { error: { code: 500, message: "Context size has been exceeded.", type: "server_error" } }, "context-limit"],
    [401, { error: { code: 401, message: "Invalid API Key", type: "authentication_error" } }, "auth"],
    [503, { error: { code: 503, message: "Loading model", type: "unavailable_error" } }, "overloaded", "retry"],
    [
      500,
      { error: { code: 500, message: "tools param requires --jinja flag", type: "server_error" } },
      "tools-unsupported",
    ],
    [404, { error: { code: 404, message: "File Not Found", type: "not_found_error" } }, "not-found"],
    [404, openai('model "x" not found, try pulling it first', undefined, "api_error"), "unknown-model"],
    [400, openai("registry.ollama.ai/library/gemma:2b does not support tools"), "tools-unsupported"],
    [
      500,
      openai("model requires more system memory (5.6 GiB) than is available (3.1 GiB)", undefined, "api_error"),
      "refused",
    ],
    [503, { error: "server busy, please try again. maximum pending requests exceeded" }, "overloaded", "retry"],
    [400, openai("the input length exceeds the context length", undefined, "api_error"), "context-limit"],
    [429, { error: "you've reached your hourly usage limit, please upgrade to continue" }, "quota"],
    [
      400,
      {
        error:
          "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
      },
      "context-limit",
    ],
    [
      404,
      {
        error: {
          message: "No models loaded. Please load a model in the developer page or use the `lms load` command.",
          code: "model_not_found",
        },
      },
      "unknown-model",
    ],
  ],
  "Hugging Face, Novita, DeepInfra, SambaNova, NVIDIA": [
    [401, { error: "Invalid username or password." }, "auth"],
    [402, { error: "You have exceeded your monthly included credits for Inference Providers." }, "quota"],
    [
      400,
      openai("The requested model 'x' is not supported by any provider you have enabled.", "model_not_supported"),
      "unknown-model",
    ],
    [503, { error: "Model x is currently loading", estimated_time: 0.01 }, "overloaded", "retry"],
    [401, { code: 401, reason: "INVALID_API_KEY", message: "invalid api key" }, "auth"],
    [403, { code: 403, reason: "NOT_ENOUGH_BALANCE", message: "not enough balance" }, "quota"],
    [404, { code: 404, reason: "MODEL_NOT_FOUND", message: "model not found" }, "unknown-model"],
    [429, { detail: { error: "Model busy, retry later" } }, "overloaded", "retry"],
    [402, { detail: { error: "inference prohibited, please enter a payment method" } }, "quota"],
    [410, { error: "Model x is deprecated" }, "unknown-model"],
    [403, { status: 403, title: "Forbidden", detail: "Authorization failed" }, "auth"],
    [404, { status: 404, title: "Not Found", detail: "Function 'abc': Not found for account 'x'" }, "unknown-model"],
    [402, { status: 402, title: "Payment Required", detail: "Account 'x': Cloud credits expired" }, "quota"],
    [429, { status: 429, title: "Too Many Requests" }, "rate-limit", "retry"],
  ],
  "other gateways": [
    [
      401,
      { type: "error", error: { type: "CreditsError", message: "Insufficient balance. Manage your billing here" } },
      "quota",
    ],
    [401, { type: "error", error: { type: "ModelError", message: "Model x not supported" } }, "unknown-model"],
    [402, openai("Insufficient funds. Please add credits to your account.", undefined, "insufficient_funds"), "quota"],
    [
      403,
      openai(
        "AI Gateway requires a valid credit card on file to service requests.",
        undefined,
        "customer_verification_required",
      ),
      "quota",
    ],
    [
      429,
      openai("Free credits temporarily have rate limits in place due to abuse.", undefined, "rate_limit_exceeded"),
      "rate-limit",
      "retry",
    ],
    [403, { code: 30001, message: "Sorry, your account balance is insufficient" }, "quota"],
    [400, { code: 20012, message: "Model does not exist. Please check it carefully." }, "unknown-model"],
    [403, { error_code: "403", message: "Invalid access token." }, "auth"],
    [
      429,
      { error_code: "REQUEST_LIMIT_EXCEEDED", message: "Exceeded workspace input tokens per minute rate limit" },
      "rate-limit",
      "retry",
    ],
    [429, { detail: "Infrastructure is at maximum capacity, try again later" }, "overloaded", "retry"],
    [502, "<html><head><title>502 Bad Gateway</title></head></html>", "overloaded", "retry"],
    [404, { error_code: "RESOURCE_DOES_NOT_EXIST", message: "The given endpoint does not exist" }, "unknown-model"],
    [
      400,
      { errors: [{ code: 7003, message: "Could not route to /client/v4/ai, perhaps your id is wrong?" }] },
      "not-found",
    ],
    [403, openai("用户额度不足, 剩余额度: 0", "insufficient_user_quota"), "quota"],
    [500, openai("litellm.AuthenticationError: Incorrect API key provided: sk-x."), "auth"],
    [
      403,
      { errors: [{ code: "token_quota_reached", message: "You reached the token quota for this month." }] },
      "quota",
    ],
    [
      400,
      { errors: [{ message: "the number of input tokens 9000 cannot exceed the total tokens limit 8192" }] },
      "context-limit",
    ],
    [400, openai("so generating 2048 tokens needs more than the maximum supported sequence length"), "context-limit"],
    [400, openai("Request Exceeds Maximum Input Length"), "context-limit"],
    [429, openai("Daily call limit for this API reached", "1304"), "quota"],
    [429, openai("You have exceeded your monthly usage quota"), "quota"],
    [429, openai("You've hit your weekly rate limit. Please upgrade your plan.", "user_weekly_rate_limited"), "quota"],
    [429, openai("Your account has exhausted its free trial quota for this model.", "QuotaExceeded"), "quota"],
    [429, openai("Your account has been locked, please contact customer service", "1112"), "auth"],
    [
      400,
      anthropic("invalid_request_error", "This credential is only authorized for use with another program"),
      "auth",
    ],
    [200, { base_resp: { status_code: 1039, status_msg: "token limit" } }, "context-limit"],
    [404, { message: "This model version has reached the end of its life." }, "unknown-model"],
    [400, openai("Unavailable model: gpt-x", "unavailable_model"), "unknown-model"],
    [200, { error: "Unexpected endpoint or method. (POST /chat/completions)" }, "not-found"],
    [400, { error: "Model unloaded." }, "overloaded", "retry"],
    [
      400,
      openai("Parsing failed. The model generated output that could not be parsed.", "output_parse_failed"),
      "bad-tool-call",
      "once",
    ],
    [500, openai("error parsing tool call: raw='{', err=unexpected end of JSON input"), "bad-tool-call", "once"],
    [400, openai("`reasoning_effort` must be one of `none` or `default`"), "parameter"],
    [400, openai("invalid temperature: only 1 is allowed for this model"), "parameter"],
    [400, openai('"llama3" does not support thinking'), "parameter"],
    [400, openai("Request contains 250000 tokens, more than the 200000 tokens it accepts"), "context-limit"],
    [400, openai("The conversation is too long. Please start a new one."), "context-limit"],
    [422, { detail: "Prompt length 40000 exceeds limit of 32768" }, "context-limit"],
    [400, openai("max_tokens (40000) exceeds the limit of 8192 tokens, must be lower"), "parameter"],
    [403, openai("Account balance is negative"), "quota"],
    [403, openai("You have no remaining credits"), "quota"],
    [429, openai("You have hit your usage limit (plus plan). Try again in ~125 min."), "quota"],
    [403, openai("Forbidden: invalid token"), "auth"],
    [400, openai("无效的API Key"), "auth"],
    [422, { detail: [{ loc: ["body", "model"], msg: "Input should be 'a' or 'b'", type: "enum" }] }, "unknown-model"],
    [422, { detail: [{ loc: ["body", "temperature"], msg: "Input should be at most 1.5", type: "x" }] }, "parameter"],
    [400, openai("No provider available for model x"), "unknown-model"],
    [501, openai("function calling not implemented"), "tools-unsupported"],
    [400, openai("The model generated an invalid tool call"), "bad-tool-call", "once"],
  ],
};

describe.each(Object.entries(PROVIDERS))("%s", (_provider, rows) => {
  test.each(
    rows.map(([status, body, reason, retry]) => [status, text(body).slice(0, 90), body, reason, retry] as const),
  )("%d %s", async (status, _words, body, reason, retry) => {
    const reply =
      status === 200 ? { raw: { body: text(body), type: "application/json" } } : { fault: { status, body } };
    await using model = startModel([reply, reply, reply], { retries: 2 });
    const error: unknown = await done(model.client).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ reason, retryable: retry !== undefined });
    expect(model.requests).toHaveLength(retry === "retry" ? 3 : retry === "once" ? 2 : 1);
    expect(error).toMatchObject({ code: reason === "auth" ? "auth" : "model" });
  });
});

function text(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}
