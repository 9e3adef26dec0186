/** What providers write when they fail, by the kind of failure: the table of `classify`. */
import { once } from "../lib/values.ts";
import { PARAMETERS, refusing, STREAM_ONLY } from "./adjustments.ts";
import type { ModelFailure } from "./errors.ts";

/**
 * The first row that matches counts. What has its own remedy comes first (a tool call, a long conversation, a
 * filter), then money, then who is asking, then what is asked for; limits and overload are last: their words
 * are the vaguest. Providers mix these freely: a bad key at 400, no money at 401, a full context at 500, a rate limit
 * that names the billing page.
 */
export const errorRows = once((): readonly ErrorRow[] => [
  {
    // A network that wants a sign-in first answers instead of the provider.
    reason: "network",
    status: [511],
    words: /^/,
  },
  {
    // A model that wrote a call its server cannot read often writes a better one the second time.
    reason: "bad-tool-call",
    retry: "once",
    words: any(
      "tool_use_failed",
      "tool call validation failed",
      "failed to call a function",
      "malformed_function_call",
      "(failed|unable) to (generate|parse) (the )?(tool[_ ]?calls?|input at pos)|error parsing tool call|tool_call_error|tool call parsing failed",
      "(generated|produced|wrote) an? (invalid|malformed) (tool|function)[ _]call",
      "output_parse_failed|generated output that could not be parsed|xml syntax error|tokens remaining in message header",
    ),
  },
  {
    // "max_tokens is too large … maximum context length": a setting is wrong, not the conversation.
    reason: "parameter",
    words: any(
      "max_(completion_|output_)?tokens['`\"]?( or 'max_completion_tokens')? (is|are) too (large|high|big)",
      "max_tokens['`\"]?: \\d+ > \\d+",
      "maximum tokens you requested exceeds",
      "max_(completion_|output_)?tokens['`\"]?( ?[(:=]?\\d+\\)?)? exceeds?(?!.{0,30}context)",
      "max_tokens.{0,40}(must be|should be|at most|less than)(?!.{0,80}inputs)",
      "range of max_tokens",
    ),
  },
  {
    reason: "context-limit",
    except: [401, 402, 429],
    words: any(
      "context[ _-]?(length|window|size|limit|overflow|exhausted)",
      "(maximum|max|available|outof) ?context",
      `${SENT}${SAME}{0,60}?(${MORE}|overflow|too (long|large|big|many)|>=? ?(\\d{3}|n_ctx))`,
      `(${MORE})${SAME}{0,60}?\\b(n_ctx|window|(prompt|input) (length|size)|tokens?\\b(?! (rate|quota|allowance|usage))|token (limit|capacity))`,
      "(prompt|input|tokens?)[ _](limit[ _]|tokens?[ _])?(exceeded|overflow|too[ _]long|limit[ _]reached)",
      "\\d (input |prompt )?tokens\\b.{0,60}\\b(max(imum)?|only supports?|limit|window|up to|configured)\\b",
      "(maximum|max)( supported| allowed)? (prompt|sequence|input|message) (length|tokens|size)|max_(prompt_tokens|model_len|seq_len|sequence_len|num_tokens)",
      "too many (input |prompt )?tokens(?!.{0,40}(wait|per (day|minute)))",
      "length of (the )?(prompt|input|content|messages?)\\w*.{0,30}((must|should) be less|longer|at most)",
      `(?<!(output|maximum|completion) )\\btokens?\\b.{0,40}(${MORE}).{0,30}(model|limit|maximum|context|window)`,
      "input token.{0,80}(cannot exceed|supports up to)|size limit exceeded by \\d+ tokens|max tokens of \\d+ exceeded",
      "range of input length|`?inputs`? (tokens \\+|must have less)|reduce the length of (the|your)",
      "(content|input|instructions|prompt|text|output|arguments)\\S{0,9}: string too long",
      "(payload|request) size exceeds|request_too_large|entity too large|request exceeds the maximum size",
      "(not|n't) fit.{0,30}(context|window)|context is full|too much (input|text|context)|more tokens than",
      "\\d+k? tokens\\b.{0,40}(over the|at most)|token count.{0,20}(above|over)\\b",
      "token limit\\.?\\s*$|tokens to keep|when context the overflows|context shift is disabled",
      "超长|(输入|对话|会话|文本|上下文|提示词?|消息|内容|长度|字数|token ?数).{0,12}(超[过出限]|[过太]长|[过太]多|上限)|超[过出].{0,10}(上下文|最大长度)",
    ),
  },
  {
    // A request that is larger than a whole minute's allowance never fits.
    reason: "context-limit",
    status: [NO_STATUS, 413, 429],
    wait: false,
    words: any(
      "request (body )?too large|reduce your message size|tokens must be reduced",
      // Of an account that may not fill the whole window.
      "required for long context",
    ),
  },
  {
    reason: "content-filter",
    words: any(
      "content[_ -]?(filter|policy|management|moderation)",
      "contentpolicy",
      "responsible ?ai",
      "safety system",
      "\\b(cyber|bio)_policy",
      "(?<!fair )usage (policy|policies|guidelines)",
      "flagged (for|as|by)|flagged_input|(was|were|been) flagged",
      "requires moderation",
      "violat\\w+.{0,60}(policy|policies|guideline|terms)",
      "data_inspection_failed|inappropriate content",
      "content exists risk|considered high risk",
      "sensitive ?(content|info|words?)|_sensitive\\b|unsafe or sensitive|censor",
      "unsafe (request|content)|moderation|harmful|due to safety|安全审核|prohibited[ _]content|content (was |is |has been )?filtered",
      "guardrail(?! restrictions)",
      // A policy of a network or an organisation is about who asks.
      "blocked (by|due to|for) ((?!network|\\bip\\b|organi[sz]ation|firewall|access).){0,30}(safety|policy|filter|moderation)|for safety reasons",
      "(prompt|input|output|response|content) (was |is |has been )?blocked|blocked (prompt|input|output)",
      "敏感|违[规法]|不安全|审核不?(未)?通过|illegaldetected",
    ),
  },
  {
    // Some gateways give this the code of an empty account.
    reason: "overloaded",
    retry: true,
    words: any("负载|饱和"),
  },
  {
    // The limit of a plan: too long to wait for within a turn, and nothing to pay at once.
    reason: "quota",
    soon: false,
    words: any(
      "usage_limit_(reached|exceeded)|usagelimiterror|usage_not_included|free usage (limit|exceeded)",
      "usage limits? (has been |have been )?(reached|exceeded)|(reached|hit|exceeded) (your|the) .{0,30}usage (limit|quota)",
      "free-models-per-day",
      "daily free allocation|reached your daily|\\b(until|come back|again) tomorrow\\b",
      "api calls / month|call volume quota",
      "limit will reset at",
      "(plan|subscription) (does )?not .{0,20}(include|support)",
      "(requires?|needs?|only .{0,20}(to|for|with)) (an? )?(paid|pro|active|higher)? ?(subscription|plan|users|accounts)\\b",
      "quota (is |has been )?(used up|exhausted)|quota for today|limit .{0,30}for the current plan|inference limit|当日|今日",
      "(?<!(分钟|秒|频率|并发|速率).*)(使用|用量|限额|套餐|配额|次数).{0,16}(上限|超[限出过]|用[尽完]|耗尽|重置)|公平使用|fair use",
    ),
  },
  {
    // Whoever names a wait will serve again after it, whatever the limit is called.
    reason: "rate-limit",
    retry: true,
    wait: true,
    status: [NO_STATUS, 400, 402, 403, 429],
    words: any("limit", "quota", "exhaust", "too many", "throttl", "concurren", "no deployments available"),
  },
  {
    // The allowance of a plan; what is counted per day often rolls, and is a rate.
    reason: "quota",
    words: any(
      `${PERIOD}.{0,40}\\b(limit|quota|usage|allowance|cap)\\b`,
      `\\b(limit|quota|usage|allowance|cap)\\b.{0,40}${PERIOD}`,
      "(exhausted|used up) (its|your|the) .{0,30}(quota|allowance)|quota_reached",
    ),
  },
  {
    // A limit per minute is not a lack of money, though both are called quota and both name the billing page.
    reason: "rate-limit",
    retry: true,
    except: [401, 402],
    words: any(
      "per[ -]?(minute|second|min\\b)|perminute",
      "throttling\\.(rate|allocation|user)(?!.*free)",
      "(request|token)_quota_exceeded|queue_exceeded",
      "rate_limit_exceeded|concurren\\w+ .{0,20}limit",
      "rate[ _-]limit(ed| reached| exceeded)",
      "\\b[TR]P[MS]\\b",
    ),
  },
  {
    reason: "quota",
    words: any(
      "insufficient_quota|exceeded_current_quota|quota_exceeded|no quota",
      "exceeded your current quota",
      "billing_(not_active|hard_limit|disabled)|billing details|plans & billing",
      "requires billing|enable billing|(add|valid|no|missing|verify|attach)\\b.{0,20}credit card|credit card.{0,30}(declined|required|expired|on file|failed)",
      "credit balance|credit limit|creditserror|out of credits?",
      `(insufficient|not[ _]enough|no|low|zero|negative|need|out of|purchase|add|buy|more)[ _]?(\\w+ ){0,2}(${FUNDS}|quota)`,
      `${FUNDS} (\\w+ ){0,2}(too low|insufficient|not enough|negative|zero|empty|depleted|exhausted|expired|used up)|balance >|top up`,
      "(used all|ran out of|have any) .{0,20}credits|(balance|credit|fund)s? (has |have )?run out|arrears|can only afford|monthly included credits",
      "payment (is )?required|payment[ _](method|instrument)|insufficient_funds",
      "arrearage|overdue|in good standing|recharge|余额|充值|欠费|额度(不足|已?用[尽完])|insufficient_user_quota",
      "余量|资源包|packexhaust|未开通|servicenotactivated",
      "account.{0,60}(suspended|not active)",
      "(billing|spend(ing)?) (hard )?(limit|cap|alert)|budget.{0,20}exceeded|budget[_ ](exceeded|limit)|over budget|key limit exceeded",
      "out of .{0,10}usage|extra usage|unpaid|(inactive|no active) (subscription|plan)|exceeded a service quota|not ?purchased",
      "monthlylimiterror|freetieronly|free tier .{0,30}exhausted|free allocated quota",
      "specified api usage limits|(exhausted|used up) (their|your|its|the) .{0,20}(balance|credit)|credits?_exhausted",
      "(package|plan|licen[sc]e) (has |is )?expired|subscription (has |is |was )?(ended|expired|lapsed|inactive|not active|required|cancell?ed)|trial (has )?(ended|expired)",
    ),
  },
  {
    reason: "auth",
    words: any(
      "(account|organi[sz]ation).{0,20}(has been|is) (locked|disabled|deactivated|banned)|account_deactivated",
      "(credential|key|token)s? (is|are) only (authori[sz]ed|valid) for",
      "无效的.{0,8}(key|令牌|密钥)|(key|密钥|令牌).{0,4}(错误|无效|过期|失效|不正确)|signature (we calculated|expired|(check|verification) failed)|authfailure",
      "token tenant|tenant .{0,40}not match",
      "authenticationerror|(invalid|incorrect)[_ ](x-)?(api[_ -]?)?key\\b",
    ),
  },
  {
    reason: "auth",
    except: [404, 405, 413, 429, 500, ...LATE],
    words: any(
      "(invalid|incorrect|wrong)[_ -](x-)?api[_ -]?key",
      "(api|access|secret|subscription)[ _-]?(key|token)s?\\b.{0,60}(not (valid|found|set|provided|active|authori[sz]ed|recogni[sz]ed)|invalid|incorrect|expired|revoked|missing|wrong|disabled|blocked|leaked|malformed|required)",
      "(invalid|incorrect|wrong|missing|bad|no|expired|malformed|(provide|pass|supply|use) an?).{0,24}((api|access|secret|auth\\w*|bearer|subscription|security|server)[ _-]?(key|token)|credentials?|authorization)",
      "authenticat|unauthori[sz]ed|unauthenticated|autherror|authorized_error",
      "(token|key|jwt) (has |is |was )?(been )?(expired|invalid|not yet valid|revoked|disabled|blocked|inactive|not found)|expired or incorrect|token_expired",
      "(invalid|expired|bad|unknown) token\\b|not authori[sz]ed to",
      "(security|bearer|oauth|access) token.{0,60}(invalid|expired|malformed)",
      "user not found|login fail|invalid username or password|not licensed",
      "unregistered callers|organization_restricted",
      "身份验证|令牌|(?<!流控.*)授权(错误|失败)(?!.*流控)|鉴权",
    ),
  },
  {
    // The request can be made without the stream, or with it.
    reason: "parameter",
    words: any("(tools?|function)\\b.{0,40}\\bstreaming", STREAM_ONLY),
  },
  {
    reason: "tools-unsupported",
    words: any(
      `(not|n't) support.{0,24}\\b${TOOLS}`,
      `${TOOLS}.? ?(with function calling )?(is |are )?(not (supported|enabled|available|allowed|implemented)|unsupported|unavailable|disabled)`,
      `no ${TOOLS} support|cannot (call|use) ${TOOLS}|requires a model with tools`,
      `only .{3,120} supports? ${TOOLS}`,
      "endpoints found that support tool use|support (the )?toolconfig",
      "enable-auto-tool-choice|tool[- ]call[- ]parser|tools param requires",
      "not supported for .{0,20}function calling",
      "(unknown|unrecogni[sz]ed|unsupported|unexpected|extra|not permitted)[^.]{0,60}\\btools\\b(?![.[\\]])",
    ),
  },
  {
    reason: "parameter",
    except: [401, 403, 429, 500, ...LATE],
    words: any(
      "unsupported[_ ](parameter|value|argument|field)|unknown_parameter|unsupportedparams",
      "extra_forbidden|extra (inputs|fields?)|additional properties|string too long",
      "unrecogni[sz]ed (request )?(argument|parameter|field|key)",
      "unknown (parameter|field|argument|name)",
      "propert(y|ies) .{0,80}(is |are )?unsupported",
      "does not support (the )?parameter|argument not supported",
      refusing(`\\b(${PARAMETERS})`).source,
    ),
  },
  {
    // What a model's template checks; some servers send it as a failure of their own.
    reason: "parameter",
    words: any(
      "roles must alternate|unexpected role|system role not supported|only user(,| and) assistant.{0,20}roles are supported",
    ),
  },
  {
    reason: "parameter",
    words: any(
      "support images?( input)?\\b|image(_url| inputs?)? (is|are) (not|only) supported|not a multimodal|image\\(s\\) may be|supports? (only )?(one|\\d+) images?|more than (one|\\d+) images?",
      "not support (the )?(system|developer) (messages?|role)",
    ),
  },
  {
    reason: "overloaded",
    retry: true,
    words: any("failed during generation"),
  },
  {
    // The server's machine lacks something, and waiting does not help.
    reason: "refused",
    words: any(
      "more system memory|out of memory|insufficient system resources",
      "(fail\\w*|unable|could not) (to )?load(ing)?\\b",
    ),
  },
  {
    // Of a gateway that has no provider for this model.
    reason: "unknown-model",
    words: any("no available channel|无可用渠道"),
  },
  {
    reason: "unknown-model",
    except: [429, ...LATE],
    words: any(
      "model[_ ](code[_ ])?not[_ ](found|exist\\w*|supported|available|accessible|open)|modelnotopen|modelerror",
      "(unknown|invalid|no such|unavailable|unsupported)[_ ]model|invalid value for .?model|model.{0,60} is not loaded|resource_does_not_exist",
      "models?\\b(?:(?!\\.\\s|\\n).){0,120}(do(es)? ?n['o]t exist|(?<!may )not exist|not found|is not (available|supported|accessible|deployed|enabled)|could not be found|(been|is) (decommissioned|deprecated|removed|retired|discontinued|unavailable)|end of (its )?life|marked .{0,20}as legacy|no longer (available|supported)|not supported\\b)",
      "not a (valid|supported|known) model|model (identifier|id|name).{0,20}invalid|invalid model name",
      "deploymentnotfound|deployment.{0,60}(does not exist|not found|not be found)|endpoint_not_found",
      "no endpoints (found|available)|no allowed providers|no (available )?(provider|channel|endpoint)s?\\b.{0,20} for model|model.{0,60} not allowed",
      "unable to access (non-serverless )?model|not found the model",
      "access (to )?(the |this )?model|model (access )?denied|model_terms_required|too large to be loaded",
      "no models? (is |are )?loaded|try pulling it|on-demand throughput",
      "not a chat model|only supported in v1/responses|not accessible via the",
      "not_found_error[^]{0,40}model:|function '[^']+': not found",
      "operationnotsupported|operation does not work with the specified model",
      "not allowed (for|to (use|sample from)) .{0,30}model|model.{0,40} (is |has been )?(blocked|disabled)\\b|model.{0,60} was removed",
      "(handler|provider)s? for model|no provider supported|repository not found|'modelid' failed|use case details",
      "model.{0,60} not support (the )?\\w+ api\\b",
      "模型.{0,16}(不存在|不支持|下线|未开放)|不支持的模型|未开[通放].{0,20}权限",
    ),
  },
  {
    reason: "parameter",
    except: [401, 403, 429, 500, ...LATE],
    words: any(
      "invalid_?param(eter)?s?\\b|invalid params|params_invalid|参数(非法|有误)|parameter is (illegal|invalid)",
    ),
  },
  {
    reason: "not-found",
    except: LATE,
    words: any(
      "https port|http request to an https|could not route|unexpected endpoint|invalid url|unknown request url|404 not_found",
    ),
  },
  {
    reason: "unknown-model",
    status: [404],
    words: any("\\bmodels?\\b|模型"),
  },
  {
    reason: "auth",
    status: [403],
    words: any(
      "permission|authorization failed|access denied|request not allowed|access to this endpoint|\\bscopes?\\b|insufficient_scope",
      "(do|does) ?n['o]t have access|has no access|been denied access|\\bnot authori[sz]ed\\b",
    ),
  },
  {
    reason: "overloaded",
    retry: true,
    words: any(
      "overload|over capacity|at (maximum )?capacity|capacity (temporarily )?exceeded",
      "too busy|(server|model|system) (is )?busy|(high|heavy) (demand|traffic|load)|queue is full",
      "temporarily unavailable|service[ _]unavailable|is currently loading|loading model|model (is |was |has been |has )?(unloaded|crashed)",
      "insufficient_system_resource|server_error|internal[ _](server[ _])?error",
      "degraded function|channel error|服务端错误|繁忙",
    ),
  },
  { reason: "timeout", retry: true, status: [400], words: any("\\btimed out\\b") },
  {
    reason: "rate-limit",
    retry: true,
    except: [401, 402, 404, 413, 500, ...LATE],
    words: any(
      "slow_down|rate.?limit|rate (growth|exceeded)|too many (requests|tokens)|throttl|concurren|high frequency",
      "request limit reached|\\bqps\\b|limitexceeded|频率|并发|请求过多|流控",
      "limit_(requests|burst)|resource.{0,20}exhausted|request reached|limit exceeded|quota exceeded",
    ),
  },
  {
    reason: "parameter",
    status: [400, 422],
    words: any(
      "not supported (with|for|by|on) this|(is|are) not permitted|is mandatory|cannot be disabled|only enabled when",
      "invalid (value|argument|\\w+ value)|invalid_(value|argument)|must be one of|input tag\\b",
    ),
  },
  {
    reason: "parameter",
    status: [NO_STATUS],
    words: any("invalid|unsupported|not supported|not allowed|not permitted|bad_request|can ?not be empty"),
  },
  { reason: "not-found", status: [NO_STATUS], words: any("not_found|not found") },
]);

function any(...patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join("|"), "i");
}

interface ErrorRow {
  readonly reason: ModelFailure;
  readonly retry?: boolean | "once";
  readonly status?: readonly number[];
  readonly except?: readonly number[];
  /** The server names a wait, or none. */
  readonly wait?: boolean;
  /** False: not if the server names a wait that is short enough for a turn. */
  readonly soon?: false;
  readonly words: RegExp;
}

const LATE = [408, 409, 502, 503, 504, 529];

/** What a request is made of, and what goes beyond a limit in the same sentence. */
const SENT =
  "\\b(prompt|inputs?|text|chat|messages?|conversation|history|context|sequence|content|n_prompt_tokens|request (body|tokens))\\b";
const MORE = "exceed\\w*|(longer|greater|larger|bigger|more) than(?! 0\\b)";
const SAME =
  "(?:(?!image|file|string|rate|quota|usage|limit|budget|deadline|should|must|daily|weekly|monthly|\\bper |\\. ).)";

const FUNDS = "(balance|credit|fund)s?(?![a-z])";

const TOOLS = "(?<!parallel_)\\b(tools?|functions?|(tool|function)[ _-]?(use|tools?|call(s|ing)?))\\b";

const PERIOD =
  "\\b(hourly|daily|weekly|monthly|\\d+[ -]?(hour|day)|(per|this|the current|each) (week|month|billing \\w+))\\b";

/** Inside a stream, or in an answer with status 200 that is an error. */
export const NO_STATUS = 0;
