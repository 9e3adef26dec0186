/** What secrets look like: shapes of well-known keys, and the contexts ("places") in which secrets appear. */
import { once } from "../values.ts";

interface Shape {
  readonly kind: string;
  readonly shape: RegExp;
}

const tokenShapes = (): readonly Shape[] => [
  { kind: "Stripe key", shape: /(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,}/ },
  { kind: "Anthropic key", shape: /sk-ant-[A-Za-z0-9_-]{16,}/ },
  { kind: "OpenRouter key", shape: /sk-or-[A-Za-z0-9_-]{16,}/ },
  {
    kind: "OpenAI key",
    shape: /sk-(?!ssh-|ecdsa-)(?:(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}|[A-Za-z]{24,}(?![A-Za-z_-]))/,
  },
  { kind: "GitHub token", shape: /gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}/ },
  { kind: "GitLab token", shape: /gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt)-[A-Za-z0-9_-]{16,}/ },
  { kind: "Slack token", shape: /xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}/ },
  { kind: "AWS key", shape: /(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])/ },
  { kind: "Google key", shape: /AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}/ },
  { kind: "npm token", shape: /npm_[A-Za-z0-9]{30,}/ },
  { kind: "PyPI token", shape: /pypi-[A-Za-z0-9_-]{30,}/ },
  { kind: "Hugging Face token", shape: /hf_[A-Za-z0-9]{20,}/ },
  { kind: "Groq key", shape: /gsk_[A-Za-z0-9]{20,}/ },
  { kind: "xAI key", shape: /xai-[A-Za-z0-9]{20,}/ },
  { kind: "Replicate key", shape: /r8_[A-Za-z0-9]{20,}/ },
  { kind: "DigitalOcean token", shape: /do[opr]_v1_[a-f0-9]{32,}/ },
  { kind: "Docker token", shape: /dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}/ },
  { kind: "Vault token", shape: /hv[sbr]\.[A-Za-z0-9_-]{20,}/ },
  { kind: "Tailscale key", shape: /tskey-[a-z]+-[A-Za-z0-9-]{16,}/ },
  { kind: "SendGrid key", shape: /SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/ },
  { kind: "Grafana token", shape: /glsa_[A-Za-z0-9_]{20,}|glc_[A-Za-z0-9+/=]{30,}/ },
  { kind: "Shopify token", shape: /shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}/ },
  { kind: "Databricks token", shape: /dapi[a-f0-9]{32}/ },
  { kind: "Atlassian token", shape: /ATATT3[A-Za-z0-9_=-]{30,}/ },
  { kind: "New Relic key", shape: /NRAK-[A-Z0-9]{20,}/ },
  { kind: "Linear key", shape: /lin_api_[A-Za-z0-9]{30,}/ },
  { kind: "Notion token", shape: /(?:ntn|secret)_[A-Za-z0-9]{40,}/ },
  { kind: "Mailgun key", shape: /key-[a-f0-9]{32}(?![a-f0-9])/ },
  { kind: "Figma token", shape: /figd_[A-Za-z0-9_-]{30,}/ },
  { kind: "Google token", shape: /1\/\/0[A-Za-z0-9_-]{40,}/ },
  { kind: "AWS session token", shape: /(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9+/=]{60,}/ },
  { kind: "Pulumi token", shape: /pul-[a-f0-9]{40}/ },
  { kind: "Fly token", shape: /fo1_[A-Za-z0-9_-]{30,}|fm[12]_[A-Za-z0-9+/=,_-]{60,}/ },
  { kind: "Render key", shape: /rnd_[A-Za-z0-9]{24,}/ },
  { kind: "Square token", shape: /sq0(?:csp|atp)-[A-Za-z0-9_-]{20,}/ },
  { kind: "Postman key", shape: /PMAK-[a-f0-9]{24}-[a-f0-9]{34}/ },
  { kind: "1Password token", shape: /ops_[A-Za-z0-9_-]{80,}/ },
  { kind: "Perplexity key", shape: /pplx-[A-Za-z0-9]{30,}/ },
  { kind: "NVIDIA key", shape: /nvapi-[A-Za-z0-9_-]{40,}/ },
  { kind: "LangSmith key", shape: /lsv2_(?:pt|sk)_[a-f0-9_]{32,}/ },
  { kind: "Buildkite token", shape: /bkua_[a-f0-9]{40}/ },
  { kind: "CircleCI token", shape: /CCI(?:PAT|PRJ)_[A-Za-z0-9_]{40,}/ },
  { kind: "Netlify token", shape: /nf[pc]_[A-Za-z0-9]{30,}/ },
  { kind: "Sentry token", shape: /sntry[su]_[A-Za-z0-9+/=_-]{30,}/ },
  { kind: "Doppler token", shape: /dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9._-]{30,}/ },
  { kind: "Supabase key", shape: /sb(?:p|_secret)_[A-Za-z0-9_-]{20,}/ },
  { kind: "Telegram token", shape: /[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])/ },
  { kind: "age key", shape: /AGE-SECRET-KEY-1[A-Z0-9]{40,}/ },
  { kind: "JWT", shape: /eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?/ },
  { kind: "password hash", shape: /SCRAM-SHA-(?:1|256|512)\$[0-9]{1,9}:[A-Za-z0-9+/=$:]{20,}/ },
  { kind: "password hash", shape: /\{(?:S?SHA|S?MD5|PBKDF2-SHA|SSHA-?)[0-9]{0,3}\}[A-Za-z0-9+/=$.]{20,}/ },
  { kind: "password hash", shape: /\$(?:1|5|6|7|y|gy|apr1|2[abxy]|argon2id?|scrypt)\$[A-Za-z0-9./$,=+-]{20,}/ },
];

/**
 * Where a word starts. Whole lines of JSON are searched, too, so `\n` or `\u001b` may precede it, and no match may
 * include a quote or half an escape.
 */
const START = String.raw`(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4}))`;
/** A quote, possibly in JSON inside JSON. */
const QUOTE = String.raw`\\{0,3}["']`;
/** Already replaced. */
const MASKED = String.raw`\[redacted\]|‹secret-`;

const KEY_LABEL =
  "(?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN (?:Static key V1|tls-crypt-v2 (?:client|server) key))";
/** PEM: up to its end line, or to the end of the base64 if that is missing. Never past an unescaped quote. */
const PRIVATE_KEY = String.raw`-----BEGIN ${KEY_LABEL}-----(?:[^-"]*(?:(?:-(?!----)|(?<=(?<!\\)\\)")[^-"]*)*-----END ${KEY_LABEL}-----|(?:(?:\s|\\{1,3}[nr])*[A-Za-z0-9+/=]{20,})+)`;
const PUTTY_KEY = String.raw`Private-Lines: [0-9]{1,3}(?:\r?\n[A-Za-z0-9+/=]{4,64})+`;
const WEBHOOK = String.raw`https:\/\/(?:hooks\.slack\.com\/(?:services|workflows)|discord(?:app)?\.com\/api\/webhooks)\/[A-Za-z0-9/_-]{20,}`;

/**
 * A pattern that is found much faster than the full one; most text does not contain it. Compiling it costs a start
 * 0.3 ms, so the first short texts are searched for plain words instead.
 */
class Hint {
  readonly #words: readonly string[];
  readonly compile: () => RegExp;
  #pattern: RegExp | undefined;
  #charactersLeft = 8_000;

  /** Every match contains one of the words, in any case; the words are in lower case. */
  constructor(words: readonly string[], compile: () => RegExp) {
    this.#words = words;
    this.compile = compile;
  }

  /** The pattern, ready to search from the start; undefined if the text cannot contain a match. */
  for(text: string): RegExp | undefined {
    if (this.#pattern === undefined && text.length <= this.#charactersLeft) {
      this.#charactersLeft -= text.length;
      if (!this.hasWord(text)) return undefined;
    }
    const pattern = (this.#pattern ??= this.compile());
    pattern.lastIndex = 0;
    return pattern;
  }

  hasWord(text: string): boolean {
    const lower = text.toLowerCase();
    // Not `some`: so many calls would trigger the JIT.
    for (const word of this.#words) if (lower.includes(word)) return true;
    return false;
  }
}

/** How each shape begins. */
export const SHAPE_STARTS =
  "sk- sk_ rk_ whsec_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- gldt- glrt- glcbt- glft- glsoat- glagent- glimt- xox xapp- AKIA ASIA ABIA ACCA AIza ya29. GOCSPX- npm_ pypi- hf_ gsk_ xai- r8_ doo_v1_ dop_v1_ dor_v1_ dckr_ hvs. hvb. hvr. tskey- SG. glsa_ glc_ shpat_ shpca_ shppa_ shpss_ dapi ATATT3 NRAK- lin_api_ ntn_ secret_ key- figd_ 1//0 FwoGZXIvYXdz IQoJb3JpZ2lu pul- fo1_ fm1_ fm2_ rnd_ sq0 PMAK- ops_ pplx- nvapi- lsv2_ bkua_ CCIP nfp_ nfc_ sntry dp. sbp_ sb_secret_ :AA AGE-SECRET-KEY- eyJ $1$ $5$ $6$ $7$ $y$ $gy$ $apr1$ $2a$ $2b$ $2x$ $2y$ $argon2 $scrypt$ SCRAM-SHA- {SSHA {SHA {SMD5 {MD5} {PBKDF2 -----BEGIN Private-Lines https://hooks https://discord";

export const shapeHint = once(() => {
  const compile = () => new RegExp(SHAPE_STARTS.split(" ").map(RegExp.escape).join("|"), "g");
  return new Hint(SHAPE_STARTS.toLowerCase().split(" "), compile);
});

/** Matches a secret of a known shape at `lastIndex`. */
export const shapes = once(
  () =>
    new RegExp(
      `${START}(?:${tokenShapes()
        .map(({ shape }) => shape.source)
        .join("|")})|${PRIVATE_KEY}|${PUTTY_KEY}|${WEBHOOK}`,
      "y",
    ),
);

const anchored = once(() =>
  tokenShapes().map(({ kind, shape }) => ({ kind, shape: new RegExp(`^(?:${shape.source})`) })),
);

/** What kind of secret a match of `shapes` is. */
export function kindOfShape(text: string): string {
  if (text.startsWith("-----BEGIN") || text.startsWith("Private-Lines")) return "private key";
  if (text.startsWith("https:")) return "webhook URL";
  return anchored().find(({ shape }) => shape.test(text))?.kind ?? "key";
}

const SCHEME = "(?:bearer|basic|token|digest|negotiate|apikey)";
const HEADER_NAME =
  "(?:(?:proxy-)?authorization|(?:x-)?(?:api-key|auth-token|goog-api-key|amz-security-token|vault-token|gitlab-token|functions-key))";
const KEY_WORD =
  "(?:api|access|secret|private|encryption|signing|master|app|application|jwt|license|deploy|service|storage|account|shared_?access|subscription|hmac|webhook|pre_?shared)";
const FIELD_NAME = `(?:access_?token|refresh_?token|id_?token|auth_?token|session_?token|identity_?token|registry_?token|bot_?token|client_?secret|secret_?access_?key|secret_?key_?base|secret_?string|${KEY_WORD}_?key|password|passwd|passphrase|code_?verifier|device_?code|authorization_?code|client-key-data|wpa_?psk)`;
const SETTING_NAME = `(?:${FIELD_NAME}|token|secret|credentials?|authtok|psk|(?<=[A-Za-z0-9][_-])(?:pass|pwd|pw))`;
const FLAG_NAME = "(?:api-?key|token|password|passphrase|passwd|pass|secret|access-key)";
/** Between the name of a program and an option. */
const WORDS = String.raw`\s(?:[^\n;|&]{0,100}\s)?`;
/** DB_PASSWORD, dbPassword, spring.datasource.password */
const PREFIX = "[A-Za-z0-9_.-]{0,60}?";
/** Checks the sign after the whole name first: trying each prefix takes much longer. */
const named = (sign: string) => String.raw`(?=[\w.-]{1,120}${sign})`;
/** Code or a template instead of a value: `$VAR`, `${…}`, `<…>`, `%s`, `call(…)`, `list[0]`. */
const CODE = String.raw`\$[A-Za-z_{(]|[<{(\[]|%[A-Za-z({]|[A-Za-z_][\w.]{0,200}[(\[{<]|(?:var|local|data|module|self|this|config|settings|process|os|env|secrets|args|opts|options|props|req|request|ctx|params)\.`;
/** A look-ahead for a value that is neither code nor a plain word, and that ends properly. */
const TELLING = String.raw`(?!${CODE})(?=[A-Za-z_./-]{0,200}[0-9%+!@#^*~=$?])(?=[^"'&;,\s\\]{6,}(?:["'&;,\s\\]|$))`;
const VALUE = String.raw`(?!${MASKED})[^"'&;,\s\\]+`;

/** Between the name of a header and its value, in a header, in JSON or in a list. */
const HEADER_SIGN = String.raw`(?::\s{0,4}(?:${QUOTE})?|${QUOTE}\s{0,4}[:=,]\s{0,4}(?:\[\s{0,4})?${QUOTE})`;
const COOKIE = String.raw`(?!${MASKED})[^\s=;,"'\\]{1,200}=[^\s"',;<>\\]+`;

/** Where secrets appear: what precedes one, and the secret itself. Each lead contains a match of `placeHint`. */
const places = (): readonly { readonly lead: string; readonly secret: string }[] => [
  {
    // Authorization: Bearer …   proxy_set_header Authorization "Basic …"
    lead: String.raw`${HEADER_NAME}(?:[ \t]{1,8}${QUOTE}|\s{0,4}[:=]\s{0,4}(?:${QUOTE})?|${QUOTE}\s{0,4}[:=,]\s{0,4}${QUOTE})${SCHEME}\s{1,4}`,
    secret: String.raw`(?!${MASKED}|\$|${SCHEME}\s)[^\s"',;<>\\]{4,}`,
  },
  {
    // x-api-key: …   "authorization": "…"
    lead: String.raw`${HEADER_NAME}(?:\s{0,4}[:=]\s{0,4}(?:${QUOTE})?|${QUOTE}\s{0,4}[:=,]\s{0,4}${QUOTE})`,
    secret: String.raw`(?!${MASKED}|\$|${SCHEME}\s)(?=[^\s"',;<>\\]{0,200}[0-9])[^\s"',;<>\\]{4,}`,
  },
  { lead: String.raw`bearer\s{1,4}`, secret: String.raw`[A-Za-z0-9._~+/=-]{16,}` },
  // Set-Cookie: a=1; Path=/   'set-cookie': [ 'a=1; Path=/' ]
  { lead: String.raw`set-cookie${HEADER_SIGN}`, secret: COOKIE },
  // Cookie: a=1; b=2   "cookie": "a=1; b=2": any of them may be the session
  { lead: String.raw`cookie${HEADER_SIGN}`, secret: String.raw`${COOKIE}(?:;[ \t]{0,4}[^\s"',;<>\\]+){0,200}` },
  {
    // "password": "any text up to the closing quote"
    lead: String.raw`${named('"')}${PREFIX}${FIELD_NAME}"\s{0,4}:\s{0,4}"`,
    secret: String.raw`(?!${MASKED}|[$<{])(?:[^"\\\n]|\\[^\n]){4,4000}?(?=")`,
  },
  {
    // the same in JSON inside JSON   "auth": "dXNlcjpwYXNz" of a docker configuration
    lead: String.raw`${named(QUOTE)}(?:${PREFIX}${FIELD_NAME}|auth(?=${QUOTE}\s{0,4}:\s{0,4}${QUOTE}[A-Za-z0-9+/]{8,}={0,2}${QUOTE}))${QUOTE}\s{0,4}:\s{0,4}${QUOTE}`,
    secret: String.raw`(?!${MASKED}|[$<{])[^"'\s\\]{6,}`,
  },
  {
    // API_KEY=…   ?access_token=…   password = "…"   password := "…"   ['password'] = '…'
    lead: String.raw`${named(String.raw`(?:${QUOTE}\])?\s{0,2}:?=`)}${PREFIX}${SETTING_NAME}(?:${QUOTE}\])?\s{0,2}:?=\s{0,2}(?:${QUOTE})?${TELLING}`,
    secret: VALUE,
  },
  {
    // password: …   token: '…'   db-password: …
    lead: String.raw`${named(":")}${PREFIX}(?:${FIELD_NAME}|token|secret|(?<=[A-Za-z0-9][_-])(?:pass|pwd)):\s{1,4}(?:${QUOTE})?${TELLING}`,
    secret: VALUE,
  },
  {
    // "token": "…"   'db_pass' => '…'
    lead: String.raw`${named(QUOTE)}${PREFIX}(?:token|secret|credentials?|psk|(?<=[A-Za-z0-9][_-])(?:pass|pwd|pw))${QUOTE}\s{0,4}(?::|=>?)\s{0,4}${QUOTE}${TELLING}`,
    secret: VALUE,
  },
  {
    // AccountKey=…; of an Azure connection string
    lead: String.raw`(?:Account|SharedAccess)Key=`,
    secret: String.raw`(?!${MASKED})[A-Za-z0-9+/]{20,}={0,2}`,
  },
  {
    // AKIA… and the secret key next to it
    lead: String.raw`(?:AKIA|ASIA)[A-Z0-9]{16}[\s,:;|"'=a-zA-Z_-]{1,60}?(?<![A-Za-z0-9/+])`,
    secret: String.raw`(?=[A-Za-z0-9/+]{0,39}[A-Z])(?=[A-Za-z0-9/+]{0,39}[a-z])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])`,
  },
  {
    // sshpass -p …   mysql -p…   curl -u user:…
    lead: String.raw`(?:sshpass\s{1,4}-p\s{0,4}|mysql[a-z]{0,8}\s(?:[^\n;|&]{0,100}\s)?-p|curl\s(?:[^\n;|&]{0,100}\s)?(?:-u|--user)[= ](?:${QUOTE})?[^\s:"'$]{1,64}:)(?:${QUOTE})?`,
    secret: String.raw`(?!${MASKED}|\$)[^"'\s\\]{4,}`,
  },
  {
    // redis-cli -a …   docker login -p …   ldapsearch -w …   openssl enc -k …
    lead: String.raw`(?:redis-cli${WORDS}-a|(?:docker|podman)\slogin${WORDS}-p|sqlcmd${WORDS}-P|ldap[a-z]{2,8}${WORDS}-w|openssl\senc${WORDS}-k|htpasswd\s-[a-zA-Z]{0,4}b[a-zA-Z]{0,4}\s\S{1,100}\s\S{1,64}|vault\slogin)\s{1,4}(?:${QUOTE})?`,
    secret: String.raw`(?!${MASKED}|[$-])[^"'\s\\]{4,}`,
  },
  {
    // smbclient -U user%…
    lead: String.raw`smbclient${WORDS}-U\s{0,4}[^\s%]{1,64}%`,
    secret: String.raw`(?!${MASKED}|\$)[^"'\s\\]{4,}`,
  },
  {
    // <password>…</password>
    lead: String.raw`${named(">")}${PREFIX}(?:password|passwd|passphrase|secret|token)>(?=[^<>\s]{4,400}<\/)`,
    secret: String.raw`(?!${MASKED}|\$\{)[^<>\s]+`,
  },
  {
    // define('DB_PASSWORD', '…')
    lead: String.raw`(?:(?<=[(\[{]\s{0,4}${QUOTE})|(?=--))${named(QUOTE)}${PREFIX}(?:password|secret|token|api_key|secret_key)${QUOTE}\s{0,4},\s{0,4}${QUOTE}${TELLING}`,
    secret: VALUE,
  },
  {
    // bindpw …   rootpw …   olcRootPW:: …   userPassword: {SSHA}…
    lead: String.raw`(?:(?:bind|root|rootpwmod|olcroot)pw(?:[ \t]{1,8}|::?[ \t]{0,8}|[ \t]{0,4}=[ \t]{0,4})|userPassword::?[ \t]{1,8})(?:${QUOTE})?`,
    secret: String.raw`(?!${MASKED}|\$|--)[^"'\s\\]{4,}`,
  },
  {
    // rocommunity …   com2sec6 -Cn … name source …   snmp-server community …   snmpwalk -c …
    lead: String.raw`(?:(?:ro|rw|trap|auth|def)community6?|com2sec6?(?:[ \t]{1,8}-Cn[ \t]{1,8}\S{1,64})?[ \t]{1,8}\S{1,64}[ \t]{1,8}\S{1,64}|(?<=snmp-server[ \t]{1,4})community|snmp[a-z]{1,12}${WORDS}-c)[ \t]{1,8}(?:${QUOTE})?`,
    secret: String.raw`(?!${MASKED}|\$|(?:public|private|default|string|name)(?:["'\s\\]|$))[^"'\s\\]{3,}`,
  },
  {
    // createUser bob SHA … AES …   defAuthPassphrase …   snmpget -A … -X …
    lead: String.raw`(?:createUser[ \t]{1,8}(?:-e[ \t]{1,8}\S{1,64}[ \t]{1,8})?\S{1,64}[ \t]{1,8}(?:MD5|SHA)[0-9-]{0,4}|def(?:auth|priv)?passphrase|snmp[a-z]{1,12}${WORDS}-[AX])[ \t]{1,8}`,
    secret: String.raw`(?!${MASKED}|\$|\()[^\s\\(][^\n\\]{2,200}`,
  },
  {
    // requirepass …   auth-pass main …   insecure-password …   stats auth admin:…
    lead: String.raw`(?:(?:requirepass|masterauth|insecure-password|auth-pass[ \t]{1,4}\S{1,60})[ \t]{1,8}(?:${QUOTE})?|stats[ \t]{1,8}auth[ \t]{1,8}[^\s:]{1,64}:)${TELLING}`,
    secret: VALUE,
  },
  {
    // IDENTIFIED BY '…'   ALTER ROLE app PASSWORD '…'   SET PASSWORD FOR app = '…'
    lead: String.raw`(?:identified[ \t]{1,4}(?:with[ \t]{1,4}\S{1,40}[ \t]{1,4})?(?:by|as)[ \t]{1,4}(?:password[ \t]{1,4})?|(?<=(?:role|user)[ \t][^\n;]{1,120}[ \t])password[ \t]{1,4}|(?<=set[ \t]{1,4})password[^\n;=]{0,120}=[ \t]{0,4}(?:password\()?|(?:master|source)_password[ \t]{0,4}=[ \t]{0,4})${QUOTE}`,
    secret: String.raw`(?!${MASKED}|[$<%])(?:[^"'\\\n]|\\[^\n"']){3,200}`,
  },
  {
    // ipmitool -P …   rabbitmqctl add_user bob …   mosquitto_pub -P …   mysqladmin password …   usermod -p …
    lead: String.raw`(?:ipmitool${WORDS}-P|rabbitmqctl${WORDS}(?:add_user|change_password)\s{1,4}\S{1,64}|mosquitto_[a-z]{2,6}${WORDS}-P|mysqladmin${WORDS}password|user(?:add|mod)${WORDS}(?:-p|--password)|s?ldappasswd${WORDS}-s|slappasswd${WORDS}-s)\s{1,4}(?:${QUOTE})?`,
    secret: String.raw`(?!${MASKED}|[$-])[^"'\s\\]{4,}`,
  },
  {
    // the password is …   password for user bob: …
    lead: String.raw`password (?:(?:is|was):? |(?:is generated )?for (?:user )?\S{1,60}: )(?:${QUOTE})?(?!${CODE})(?=\S{6,})(?=[A-Za-z_./-]{0,200}[0-9%+!@#^*~=$?;])`,
    secret: String.raw`(?!${MASKED})[^"'\s\\]+`,
  },
  {
    // --password …
    lead: String.raw`--(?:[a-z]{1,20}-){0,3}${FLAG_NAME}[ \t]{1,4}(?:${QUOTE})?(?!-)${TELLING}`,
    secret: VALUE,
  },
  {
    // DB_PASSWORD=word, only in capitals (see plainValue): code assigns to names in lower case
    lead: String.raw`${named("=")}${PREFIX}(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_KEY|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY)=(?:${QUOTE})?`,
    secret: String.raw`(?!${MASKED}|(?:your|my|the|some|change|example|password|passwd|secret|token|none|null|true|false|redacted|x{3,})[\w-]{0,20}(?:["'&;,\s\\]|$))[A-Za-z][A-Za-z_-]{3,}(?=["'&;,\s\\]|$)`,
  },
  {
    // scheme://user:…@host
    lead: String.raw`[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@"'<>]{0,256}:(?=[^\s/@"'<>]{1,256}@)`,
    secret: String.raw`(?!${MASKED}|\$[{(A-Za-z_])[^\s/@"'<>]+`,
  },
];

/** Words in front of `key`. */
export const KEYS =
  "api|access|secret|private|encryption|signing|master|app|application|jwt|license|deploy|service|storage|account|subscription|hmac|webhook|shared|functions";
export const PLACE = String.raw`authorization|bearer\s|cookie(?::|\\{0,3}["'])|(?:${KEYS})[_-]?key|client-key-data|token|secret|passw|passphrase|[_-]p(?:ass|wd?)\b|(?:bind|root|mod)pw\b|community|com2sec|createuser|def(?:auth|priv)?pass|snmp[a-z]{1,12}\s|requirepass|masterauth|auth-pass|stats\s{1,8}auth|identified\s|ipmitool\s|rabbitmqctl\s|mosquitto_|user(?:add|mod)\s|authtok|--?pass\b|psk|sshpass|mysql|curl\s|redis-cli\s|(?:docker|podman|vault)\slogin|sqlcmd\s|ldap[a-z]{2,8}\s|openssl\senc|htpasswd\s|smbclient\s|credential|device_?code|code_?verifier|auth\\{0,3}"|A[KS]IA|:\/\/[^\s/:@"'<>]{0,256}:[^\s/@"'<>]{1,256}@`;

/** Every lead contains one of these words. */
export const PLACE_WORDS =
  "auth bearer cookie key token secret pass pw psk mysql curl redis-cli login sqlcmd ldap openssl smbclient credential device verifier akia asia communit com2sec createuser snmp identified ipmitool rabbitmq mosquitto useradd usermod ://";

export const placeHint = once(() => new Hint(PLACE_WORDS.split(" "), () => new RegExp(PLACE, "gi")));

/** Matches a lead and its secret at `lastIndex`; the group that matched is the lead. */
export const inPlace = once(
  () =>
    new RegExp(
      `${START}(?:${places()
        .map(({ lead, secret }) => `(${lead})${secret}`)
        .join("|")})`,
      "iy",
    ),
);

/** Stands for a secret in documentation, or is a default that everybody can look up. */
export const placeholder = once(
  () =>
    /^(?:password|passwd|pass|secret|token|api_?key|key|changeme|changeit|example|admin|SW2YcwTIb9zpOOhoPsMm|MySUPER--secret-0123passw0rd|my(?:auth|priv)phrase.*|new-password|@\w+@|x{3,})$/i,
);

/** Whether a value after this lead is not a secret: a placeholder, or a word assigned to a lower-case name (code). */
export function plainValue(lead: string): (value: string) => boolean {
  const isUrl = lead.includes("://");
  const isCode = /^[A-Za-z0-9_.-]+=\\{0,3}["']?$/.test(lead) && lead !== lead.toUpperCase();
  return (value) =>
    (!isUrl && placeholder().test(value)) || !/[A-Za-z0-9]/.test(value) || (isCode && /^[A-Za-z_-]+$/.test(value));
}

/** Counters and pagination tokens: not secrets, despite their names. */
export const countsTokens = once(
  () =>
    /(?:page|next|previous|continuation|continue|sync|cancellation|resume|cursor|max|min|num|total|input|output|prompt|completion|cached|csrf|xsrf)[_-]?tokens?["']?\s*[:=]/i,
);

/** The kind of secret that follows such a lead. */
export function kindOfPlace(lead: string): string {
  return kinds().find(([pattern]) => pattern.test(lead))?.[1] ?? "secret";
}

const kinds = once((): readonly (readonly [RegExp, string])[] => [
  [/:\/\/[^/]*$/, "password in a URL"],
  [/secret_?access_?key|^(?:AKIA|ASIA)/i, "AWS secret key"],
  [/bearer/i, "bearer token"],
  [/authorization/i, "authorization"],
  [/cookie/i, "cookie"],
  [/passw|passphrase|passwd|pass\b|pwd\b|pw\b|sshpass|mysql|curl|psk/i, "password"],
  [/token/i, "token"],
  [/client_?secret/i, "client secret"],
  [/private_?key|client-key-data/i, "private key"],
  [/api[_-]?key/i, "API key"],
  [/key/i, "key"],
  [/auth/i, "sign-in"],
]);

/** The end of a text after which a secret may still follow. */
export const unfinished = once(
  () =>
    new RegExp(
      String.raw`(?:${HEADER_NAME}|\bbearer|\bcookie|${SETTING_NAME}|${FLAG_NAME}|\bsshpass\s{1,4}-p|\blogin\s{1,4}[^\s"']{1,100}\s{1,4}password)(?:${QUOTE})?\s{0,4}[:=,]?\s{0,4}(?:${QUOTE})?(?:${SCHEME}\s{0,4})?$|\bcookie${HEADER_SIGN}(?:[^\s"',;<>\\]{1,200};[ \t]{0,4}){1,50}$|\bcookie${QUOTE}\s{0,4}[:=,]\s{0,4}\[\s{0,4}$` +
        String.raw`|\b(?:redis-cli|(?:docker|podman|vault)\slogin|sqlcmd|ldap[a-z]{2,8}|openssl\senc|htpasswd|smbclient|password (?:is|was|for))\s[^\n;|&]{0,160}$|(?:password|passwd|passphrase|secret|token)>[^<>\s]{0,400}$|(?:bind|root|mod)pw(?:[ \t]|:){0,8}$` +
        // The lead is the beginning of a line, or the secret comes before the word that shows it.
        String.raw`|(?:community6?|com2sec6?|createuser|passphrase|requirepass|masterauth|insecure-password|auth-pass|stats\s{1,8}auth|\bsnmp[a-z-]{1,12}|ipmitool|rabbitmqctl|mosquitto_[a-z]{2,6}|user(?:add|mod)|identified|userPassword:{0,2}|\b(?:echo|printf|create|alter|set)|<<<)[ \t][^\n;]{0,160}$`,
      "i",
    ),
);
