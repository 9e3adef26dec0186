/** The operator preset: reads behind `sudo -n` and over ssh, and the command lines of clouds and of HTTP clients. */
import { words } from "../../../lib/text.ts";
import { isListedHost } from "../../domain-list.ts";
import { differsBetweenShells, outsideCommonGrammar } from "../syntax/common-grammar.ts";
import { isFixed, programName } from "../syntax/field.ts";
import type { FoundCommand } from "../syntax/findings.ts";
import { walkText } from "../syntax/walk.ts";

/** What the rows of a preset may ask about. */
export interface Preset {
  readonly name: "operator";
  /** Hosts that may be asked over HTTP besides this machine: fetch_allowed_domains. */
  readonly hosts: readonly string[];
}

/** Why `sudo` or `ssh` with these words is not a read; undefined: what it runs decides. */
export function elsewhereUnproven({ argv, wrapped }: FoundCommand): string | undefined {
  const args = argv.slice(1).map((word) => word.value);
  const name = programName(argv[0]?.value ?? "");
  if (!args.every(isFixed)) return `${name} with words that are only known when it runs`;
  if (name === "sudo") return sudoUnproven(args, wrapped?.at);
  return name === "ssh" ? sshUnproven(args) : `${name} runs another command`;
}

function sudoUnproven(args: readonly string[], at: number | undefined): string | undefined {
  const options = args.slice(0, at === undefined ? args.length : at - 1).join(" ");
  if (at === undefined) return /^(?:-n -l|-l -n|-nl)$/.test(options) ? undefined : "sudo without a command";
  return /^(?:(?:-n|--non-interactive|-H|-u [\w.-]+|--user=[\w.-]+)(?: |$))+$/.test(`${options} `.trimEnd()) &&
    /(?:^| )(?:-n|--non-interactive)(?: |$)/.test(options)
    ? undefined
    : "sudo without -n, or with other options";
}

const SSH_SETTING =
  /^(?:BatchMode=yes|ConnectTimeout=\d+|StrictHostKeyChecking=(?:yes|accept-new)|LogLevel=\w+|ServerAlive\w+=\d+)$/;

function sshUnproven(args: readonly string[]): string | undefined {
  let at = 0;
  for (; at < args.length && (args[at] as string).startsWith("-"); at++) {
    const word = args[at] as string;
    if (/^-[nTqx46C]+$/.test(word)) continue;
    const value = args[++at] ?? "";
    if (!(
      (word === "-p" && /^\d+$/.test(value)) ||
      (word === "-l" && /^[\w.-]+$/.test(value)) ||
      (word === "-o" && SSH_SETTING.test(value))
    ))
      return `ssh with ${word}`;
  }
  if (!/^(?:[\w.-]+@)?[\w.:%-]+$/.test(args[at] ?? "")) return "ssh without a plain host";
  const text = args.slice(at + 1).join(" ");
  if (text === "") return "ssh without a command";
  // The shell of that machine reads it, whichever it is.
  const why =
    outsideCommonGrammar(text) ??
    walkText(text)
      .commands.map(({ argv }) => differsBetweenShells(argv))
      .find((one) => one !== undefined);
  if (why !== undefined) return `ssh with text that shells read differently: ${why}`;
  return walkText(text).commands.some((one) => programName(one.argv[0]?.value ?? "") === "git")
    ? "git runs where its repository cannot be looked at"
    : undefined;
}

/** Whether it runs as another user or in directories that are only found then: what is known of a repository does not hold. */
export function runsElsewhere(command: FoundCommand): boolean {
  for (let { by } = command; by !== undefined; { by } = by.command) {
    const words = by.command.argv.map(({ value }) => value);
    if (programName(words[0] ?? "") === "sudo" || words.some((word) => /^-(?:execdir|okdir)$/.test(word))) return true;
  }
  return false;
}

/** Undefined: proven. Otherwise why not, to be read after the program's name. */
export type PresetReader = (args: readonly string[], preset: Preset) => string | undefined;

const SECRETS = /secret|password|credential|token|login|authorization|access-key|appsetting|connection-string|private/i;

const aws: PresetReader = (args) => {
  if (!args.every(isFixed)) return "with words that are only known when it runs";
  let at = 0;
  for (; at < args.length && (args[at] as string).startsWith("-"); at++) {
    if (!/^--(?:profile|region|output|query|no-cli-pager|no-paginate)(?:=|$)/.test(args[at] as string))
      return `with ${args[at]}`;
    if (/^--(?:profile|region|output|query)$/.test(args[at] as string)) at++;
  }
  const [service = "", verb = "", ...rest] = args.slice(at);
  const s3 = service === "s3" && verb === "ls";
  if (!/^[a-z][a-z0-9-]*$/.test(service)) return "without a service";
  if (
    !s3 &&
    (!/^(?:describe|list|get|head|search|lookup)-[a-z0-9-]+$/.test(verb) ||
      SECRETS.test(`${service} ${verb}`) ||
      verb.startsWith("get-parameter"))
  )
    return `${service} ${verb} is not known to be a harmless read`;
  let values = s3 ? 0 : 1;
  for (const word of rest) {
    if (/^--(?:endpoint-url|cli-input-|debug|no-verify-ssl|ca-bundle|with-decryption|generate-cli|no-sign)/.test(word))
      return `with ${word}`;
    if (word.startsWith("-")) values = word.includes("=") ? 1 : 0;
    // Where a read may write a file, the file is a word of its own behind the options.
    else if (++values > 1 && verb.startsWith("get-")) return "with what may be a file to write";
    if (/^(?:--[a-z-]+=)?(?:fileb?|https?):/.test(word)) return "with a value that is read from elsewhere";
  }
  return undefined;
};

/** Commands whose words end in a verb: groups, the verb, names, options. */
function verbs(reads: ReadonlySet<string>, options: ReadonlySet<string>): PresetReader {
  return (args) => {
    if (!args.every(isFixed)) return "with words that are only known when it runs";
    const at = args.findIndex((word) => reads.has(word));
    const groups = args.slice(0, at);
    if (at < 1 || !groups.every((word) => /^[a-z][a-z0-9-]*$/.test(word))) return "without a verb that only reads";
    if (SECRETS.test(groups.join(" ")) || groups.some((word) => /^(?:keyvault|kms|keys?)$/.test(word)))
      return "shows secrets";
    const odd = args.slice(at + 1).find((word) => word.startsWith("-") && !options.has(word.replace(/=[^]*$/, "")));
    return odd === undefined ? undefined : `with ${odd}`;
  };
}

const gcloud = verbs(
  new Set(words("list describe get-value read get-iam-policy get-server-config")),
  new Set(
    words(`--project --zone --region --location --format --filter --limit --sort-by --page-size --uri --quiet -q --cluster --flatten
    --freshness --order --zones --regions`),
  ),
);
const az = verbs(
  new Set(words("list show list-locations list-usage list-sizes list-ip-addresses get-instance-view get-upgrades")),
  new Set(
    words(`-g -n -o -d -l --resource-group --name --output --query --subscription --location --show-details --only-show-errors --all
    --cluster-name --vmss-name --vnet-name --server --ids`),
  ),
);

const CURL_FLAGS =
  /^-[sSfiIkvg460#]+$|^--(?:silent|show-error|fail|include|head|insecure|verbose|compressed|http1\.1|http2|ipv4|ipv6|get|globoff|no-progress-meter)$/;
const CURL_VALUED: readonly (readonly [option: RegExp, value: RegExp])[] = [
  [/^(?:-[sSfiIkvg46]*m|--max-time|--connect-timeout|--retry)$/, /^[\d.]+$/],
  [/^(?:-[sSfiIkvg46]*w|--write-out)$/, /^(?!@)(?![^]*%output)[^]*$/],
  [/^(?:-[sSfiIkvg46]*H|--header)$/, /^[A-Za-z-]+: ?[^@]*$/],
  [/^(?:-[sSfiIkvg46]*A|--user-agent)$/, /^[^]*$/],
  [/^(?:-[sSfiIkvg46]*o|--output)$/, /^(?:\/dev\/null|-)$/],
  [/^(?:-[sSfiIkvg46]*X|--request)$/, /^(?:GET|HEAD)$/],
];
const WGET_FLAGS =
  /^-[qS]*O-$|^-[qSv46]+$|^--(?:quiet|server-response|spider|no-verbose|no-check-certificate|no-hsts)$|^-nv$|^--(?:timeout|tries|max-redirect)=\d+$/;
const WGET_VALUED: readonly (readonly [option: RegExp, value: RegExp])[] = [
  [/^-[qS]*O$|^--output-document$/, /^-$/],
  [/^-[tT]$/, /^\d+$/],
  [/^--header$/, /^[A-Za-z-]+: ?[^@]*$/],
];

/** GET to the terminal, of hosts that may be fetched from, or of this machine. */
function getting(flags: RegExp, valued: typeof CURL_VALUED, prints: RegExp | undefined): PresetReader {
  return (args, { hosts }) => {
    if (!args.every(isFixed)) return "with words that are only known when it runs";
    if (prints !== undefined && !prints.test(args.join(" "))) return "writes a file";
    const urls: string[] = [];
    for (let at = 0; at < args.length; at++) {
      const word = args[at] as string;
      if (!word.startsWith("-")) urls.push(word);
      else if (!flags.test(word)) {
        const glued = /^(--[a-z-]+)=([^]*)$/.exec(word);
        const value = glued?.[2] ?? args[++at] ?? "";
        const known = valued.find(([option]) => option.test(glued?.[1] ?? word));
        if (known?.[1].test(value) !== true) return `with ${glued?.[1] ?? word}`;
      }
    }
    if (urls.length === 0) return "without a URL";
    const far = urls.find((url) => !mayAsk(url, hosts));
    return far === undefined ? undefined : `asks ${far}, which fetch_allowed_domains does not list`;
  };
}
const curl = getting(CURL_FLAGS, CURL_VALUED, undefined);
const wget = getting(WGET_FLAGS, WGET_VALUED, /(?:^| )(?:-[qS]*O ?-|--output-document[= ]-|--spider)(?: |$)/);

function mayAsk(text: string, hosts: readonly string[]): boolean {
  if (/[@\\{}[\]\s]/.test(text.replace(/^(?:https?:\/\/)?\[::1\]/, ""))) return false;
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`);
  if (url === null || (text.includes("://") && !/^https?:\/\//.test(text))) return false;
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname) || isListedHost(url.href, hosts);
}

export const PRESET_READERS: Readonly<Record<string, PresetReader>> = { aws, gcloud, az, curl, wget };
