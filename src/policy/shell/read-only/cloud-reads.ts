/** Cloud command lines: calls that describe, list or get, without showing keys, tokens and secrets. */
import { words } from "../../../lib/text.ts";
import { isFixed } from "../syntax/field.ts";
import { refused } from "../../effects/argv.ts";
import type { PresetReader } from "./operator.ts";

const SECRETS =
  /secret|password|credential|token|login|authorization|access-key|api-?key|appsetting|connection-string|private|shared-key|vpn-connection|kubeconfig/i;
const UNKNOWN_WORDS = "with words that are only known when it runs";

/** Services whose reads show what runs and how it is configured, not services that store keys or secrets. */
const AWS_SERVICES = new Set(
  words(`accessanalyzer acm amp application-autoscaling athena autoscaling backup batch budgets ce cloudformation cloudfront cloudtrail
    cloudwatch codebuild codecommit codedeploy codepipeline compute-optimizer configservice cur dax directconnect dlm dms docdb
    dynamodb ebs ec2 ecr ecs efs eks elasticache elasticbeanstalk elb elbv2 emr es events firehose fsx globalaccelerator guardduty
    grafana health iam identitystore imagebuilder inspector2 kafka kinesis kms lambda logs macie2 memorydb mq mwaa neptune network-firewall opensearch
    organizations outposts pi pricing ram rds redshift resource-explorer-2 resource-groups resourcegroupstaggingapi route53
    route53domains route53resolver s3api savingsplans scheduler securityhub servicediscovery service-quotas ses sesv2 shield sns sqs
    ssm sso-admin states stepfunctions storagegateway sts support swf synthetics transfer trustedadvisor vpc-lattice waf wafv2
    wellarchitected workspaces xray appmesh codeartifact controltower datasync detective devops-guru ecr-public fis keyspaces
    license-manager networkmanager oam rbin resiliencehub rum signer`),
);
const AWS_GLOBAL =
  /^--(?:profile|region|output|query|no-cli-pager|no-cli-auto-prompt|no-paginate|color|cli-(?:read|connect)-timeout)(?:=|$)/;
const AWS_REFUSED =
  /^--(?:endpoint-url|cli-input-|debug|no-verify-ssl|ca-bundle|with-decryption|generate-cli|no-sign|include-values|outfile)/;

const aws: PresetReader = (args) => {
  if (!args.every(isFixed)) return UNKNOWN_WORDS;
  let at = 0;
  for (; at < args.length && (args[at] as string).startsWith("-"); at++) {
    if (!AWS_GLOBAL.test(args[at] as string)) return `with ${args[at]}`;
    if (/^--(?:profile|region|output|query|color|cli-(?:read|connect)-timeout)$/.test(args[at] as string)) at++;
  }
  const [service = "", verb = "", ...rest] = args.slice(at);
  const call = `${service} ${verb}`;
  const named = AWS_BY_NAME.has(call);
  if (!named && !isAwsRead(service, verb)) return { does: `${call} is not known to be a harmless read` };
  if (AWS_SHOWS_VARIABLES.test(call) && !isPlainQuery(args)) return { does: `${call} shows ${WHAT_IT_STARTS_WITH}` };
  if (service === "configure" && rest.length > 0) return { does: refused(call, "with other words") };
  let values = named ? 0 : 1;
  for (const [index, word] of rest.entries()) {
    if (AWS_REFUSED.test(word)) return `with ${word}`;
    if (word.startsWith("-")) values = word.includes("=") ? 1 : 0;
    // If a read writes a file, the file is a separate word after the options.
    else if (++values > 1 && verb.startsWith("get-")) return "with a word that may be a file to write";
    if (/^user-?data$/i.test(word)) return { does: "shows user data, which may contain secrets" };
    if (/^(?:--[a-z-]+=)?(?:fileb?|https?):/.test(word) && !isQueue(word, rest[index - 1]))
      return "with a value that is read from elsewhere";
  }
  return undefined;
};

/** Reads that the verb alone does not show to be one. */
const AWS_BY_NAME = new Set([
  "s3 ls",
  "logs tail",
  "configure list",
  "configure list-profiles",
  "rds download-db-log-file-portion",
  "apigateway get-rest-apis",
  "apigateway get-domain-names",
  "apigatewayv2 get-apis",
  "apigatewayv2 get-domain-names",
]);

function isAwsRead(service: string, verb: string): boolean {
  if (!AWS_SERVICES.has(service) || SECRETS.test(verb) || verb.startsWith("get-parameter")) return false;
  if (service === "sts") return verb === "get-caller-identity";
  return /^(?:describe|list|get|head|search|lookup|filter|estimate|simulate)-[a-z0-9-]+$/.test(verb);
}

/** Calls that show environment variables, user data or start-up scripts, which often contain passwords and tokens. */
const AWS_SHOWS_VARIABLES = new RegExp(
  `^(?:${[
    "lambda (?:get-function(?:-configuration)?|list-functions|list-versions-by-function)",
    "ecs (?:describe-task-definition|describe-tasks|describe-daemon-task-definition)",
    "ec2 (?:describe-launch-template-versions|get-launch-template-data|describe-spot-fleet-requests)",
    "autoscaling describe-launch-configurations",
    "batch describe-(?:job-definitions|jobs)",
    "elasticbeanstalk describe-configuration-settings",
    "emr (?:describe-cluster|describe-step|list-steps|list-bootstrap-actions|list-instance-groups)",
    "events list-targets-by-rule",
    "scheduler get-schedule",
    "ssm (?:get-document|get-command-invocation|list-commands|list-command-invocations|get-automation-execution)",
    "codepipeline (?:get-pipeline|list-action-executions)",
    "cloudformation get-template",
    "mwaa get-environment",
    "imagebuilder get-(?:component|workflow|image-recipe|container-recipe)",
    "(?:stepfunctions|states) (?:describe-execution|describe-state-machine|get-execution-history)",
    "amp describe-alert-manager-definition",
  ].join("|")})$`,
);
/** One `--query` for fields without variables and scripts: `Functions[].[FunctionName,Runtime]`. */
function isPlainQuery(args: readonly string[]): boolean {
  const query = onlyValue(args, "--query", /^--query/);
  const fields = /^(?:\w+(?:\[[\d*:-]*\])?\.)+(?:(\w+)|\[([\w, ]+)\]|\{([\w:, ]+)\})$/.exec(query);
  const named = (fields?.slice(1).find((part) => part !== undefined) ?? "").split(",");
  return named.every((field) => PLAIN_AWS_FIELD.test(field.replace(/^\s*\w+\s*:/, "").trim()));
}

/** The value of the only word that matches `like`, which must be this option; otherwise empty. */
function onlyValue(args: readonly string[], option: string, like: RegExp): string {
  const [word = "", ...others] = args.filter((one) => like.test(one));
  if (others.length > 0) return "";
  return word === option ? (args[args.indexOf(word) + 1] ?? "") : word.replace(`${option}=`, "");
}

const PLAIN_AWS_FIELD =
  /^(?:(?:function|cluster|job|state|stack|group|container)?(?:name|arn|id|status|state)|(?:function|task|cluster|taskDefinition)Arn|runtime|version|timeout|memorySize|codeSize|lastModified|handler|packageType|(?:last|desired|health)Status|stopCode|(?:stopped|status|state)Reason|reason|exitCode|(?:created|started|stopped)At|(?:create|start|stop)(?:Date|Time)|image|imageId|instanceType|cpu|memory|family|revision|launchType)$/i;

const WHAT_IT_STARTS_WITH = "environment variables or scripts, which may contain secrets";

const isQueue = (word: string, before: string | undefined) =>
  /^(?:--queue-url=)?https:\/\/[\w.-]+\.amazonaws\.com\/[\w./-]+$/.test(word) &&
  (before === "--queue-url" || word.startsWith("--queue-url="));

interface Verbs {
  /** Verbs that read; the words before one are groups. */
  readonly reads: ReadonlySet<string>;
  readonly options: ReadonlySet<string>;
  /** Whole calls without such a verb. */
  readonly calls: ReadonlySet<string>;
  /** Groups whose reads show more than state. */
  readonly refused: RegExp;
  /** Options with a value that may precede the verb. */
  readonly globals?: RegExp;
  /** Whether it shows environment variables or scripts. */
  readonly started?: (path: string, verb: string, options: readonly string[]) => boolean;
}

/** Commands whose words end in a verb: groups, the verb, names, options. */
function verbs({ reads, options, calls, refused, globals, started }: Verbs): PresetReader {
  return (given) => {
    if (!given.every(isFixed)) return UNKNOWN_WORDS;
    // az replaces the word with the text of the file.
    if (given.some((word) => /^(?:-[^=]*=)?@/.test(word))) return "with a word that may name a file (@)";
    const args = globals === undefined ? given : behind(given, globals);
    if (calls.has(args.join(" "))) return undefined;
    const at = args.findIndex((word) => reads.has(word));
    const groups = args.slice(0, at);
    if (at < 1 || !groups.every((word) => /^[a-z][a-z0-9-]*$/.test(word))) return "without a verb that only reads";
    const path = groups.join(" ");
    if (
      SECRETS.test(path) ||
      groups.some((word) => /^(?:keyvault|kms)$|(?:^|-)keys?$/.test(word)) ||
      refused.test(path)
    )
      return { does: "may show secrets" };
    const rest = args.slice(at + 1);
    if (started?.(path, args[at] as string, rest) === true) return { does: `shows ${WHAT_IT_STARTS_WITH}` };
    const odd = rest.find((word) => word.startsWith("-") && !options.has(word.replace(/=[^]*$/, "")));
    return odd === undefined ? undefined : `with ${odd}`;
  };
}

/** The words with the global options in front of the first other word moved to the end. */
function behind(args: readonly string[], globals: RegExp): readonly string[] {
  let at = 0;
  while (globals.test(args[at] ?? "")) at += args[at]?.includes("=") === true ? 1 : 2;
  return [...args.slice(at), ...args.slice(0, at)];
}

const gcloud = verbs({
  globals: /^--(?:project|format|filter|verbosity|account|configuration|billing-project)(?:=|$)/,
  reads: new Set(
    words(
      `list describe get-value read get-iam-policy get-server-config get-serial-port-output get-health get-status list-tags ls list-instances get-named-ports
      list-errors get-effective-firewalls get-nat-mapping-info list-usable list-grantable-roles get-ancestors get-subnetworks-statuses`,
    ),
  ),
  options: new Set(
    words(`--project --zone --region --location --format --filter --limit --sort-by --page-size --uri --quiet -q --cluster --flatten
    --freshness --order --zones --regions --instance --network --service --database --folder --organization --platform --global
    --managed-zone --name --type --backend --port --start --show-deleted --recursive -r -l -L --long --verbosity --account
    --configuration --billing-project --instances --node-pool --subnet --router --bucket --view --revision --topic --dataset --version
    --start-time --end-time --ongoing --addresses --router-region --nat-name --instance-group --group --resource --bucket-name
    --log-name --resource-names --min-log-level --source --image --repository --include-tags --show-occurrences --tree --all --enabled --available`),
  ),
  calls: new Set([
    ...words("project account compute/zone compute/region core/project").map((setting) => `config get ${setting}`),
    "auth list",
    "info",
    "version",
    "--version",
    "config list",
    "config configurations list",
  ]),
  refused: /^(?:(?:alpha|beta) )?auth(?: |$)/,
  // The tables of `list` show only state; other formats show everything.
  started: (path, verb, options) =>
    (verb === "describe" || options.some((word) => /^--(?:format|flatten)/.test(word))) &&
    !isPlainProjection(options) &&
    /^(?:(?:alpha|beta) )?(?:run|functions|composer|builds|workflows|deployment-manager|dataproc|batch|scheduler|app versions|compute (?:instances|instance-templates|project-info))(?: |$)/.test(
      path,
    ),
});

/** One `--format` for fields of an instance without variables and scripts. */
function isPlainProjection(options: readonly string[]): boolean {
  const format = onlyValue(options, "--format", /^--(?:format|flatten)/);
  const fields = /^(?:value|table|csv|list)\(([^()]*)\)$/.exec(format)?.[1];
  return fields?.split(",").every((field) => PLAIN_FIELD.test(field.trim())) === true;
}

const PLAIN_FIELD =
  /^(?:name|id|zone|region|status|statusMessage|machineType|creationTimestamp|lastStartTimestamp|lastStopTimestamp|cpuPlatform|networkInterfaces\[\d*\]\.(?:networkIP|network|accessConfigs\[\d*\]\.natIP)|disks\[\d*\]\.(?:deviceName|diskSizeGb)|scheduling\.preemptible)$/;

const az = verbs({
  reads: new Set(
    words(`list show list-locations list-usage list-skus list-sizes list-ip-addresses list-tags show-tags get-instance-view get-upgrades
    get-versions check-health tail list-instances list-definitions list-effective-nsg show-effective-route-table show-backend-health
    show-next-hop list-instance-public-ips list-available-ips list-vm-resize-options get-boot-log show-usage list-addresses
    list-publishers list-offers list-runtimes show-manifests list-deleted list-peers`),
  ),
  options: new Set(
    words(`-g -n -o -d -l -s -r --resource-group --name --output --query --subscription --location --show-details --only-show-errors
    --all --cluster-name --vmss-name --vnet-name --vm-name --nsg-name --lb-name --gateway-name --zone-name --record-set-name --server
    --server-name --service-name --account-name --registry --repository --ids --resource --resource-id --resource-type --metric
    --metrics --interval --start-time --end-time --offset --max-events --aggregation --namespace --workspace --top --orderby
    --include --assignee --scope --max-items --status --plan --sku --tag --expand --filter --detailed -v --vault-name -z
    --auth-mode --namespace-name --nodepool-name --pool-name --nic-name --route-table-name --private-zone-name --profile-name
    --endpoint-name --correlation-id --caller --type -t -f --publisher --offer --instance-id --app-name --app --revision --cluster
    --database --db-name --elastic-pool --express-route-name --nat-gateway-name --include-inherited --include-groups --role
    --backup-management-type --container-name --item-name --start-date --end-date --category --refresh --container --prefix
    --num-results --depth --dimension --queue-name --topic-name --subscription-name --vmss --watcher --vm --dest-ip --source-ip`),
  ),
  calls: new Set(["version", "--version", "account list", "account list -o table"]),
  refused:
    /^(?:container|containerapp|deployment|spring|appconfig|iot hub device-identity|iot hub module-identity|rest|webapp deployment|functionapp deployment)(?: |$)/,
});

const cloud = verbs({
  reads: new Set(words("list show describe get info status")),
  options: new Set(
    words(`-o -f -c --output --format --column --long --all-projects --project --region --zone --limit --status --name --sort --host
    --no-header --selector -l --no-pager --human-readable --sort-by`),
  ),
  calls: new Set(["version", "--version", "account get"]),
  refused:
    /(?:^| )(?:apps?|serverless|stack|function|databases?|db|rdb|redis|auth|config|configuration|console|ec2|iam|application|registry|context)(?: |$)/,
});

export const CLOUD_READERS: Readonly<Record<string, PresetReader>> = { aws, gcloud, az, cloud };
