/** The machines, containers, clusters and servers that words name: one function for each role of the table. */
import { splitList } from "../../lib/names.ts";

/** A machine that cannot be told from the text: every rule may apply to it. */
const ANY = "*";

/** What the other options of the call say about the login. */
export interface Login {
  user?: string;
  port?: string;
}

type Named = (value: string, login: Login) => readonly string[];

/** `[user@]host` as ssh reads it: colons belong to an address. */
const machine: Named = (value, login) => (value === "" ? [] : [withLogin(value, login)]);

/** `[user@]host[:path]`. */
const hostPath: Named = (value, login) => place(`${value}:`, login);

/** `[user@]host:path`; anything else is a path of this machine. */
const place: Named = (value, login) => {
  const [, host] = /^((?:[^@/:\s]+@)?(?:\[[^\]]+\]|[^:/\s[\]]+)):/.exec(value) ?? [];
  return host === undefined || host.startsWith("-") ? [] : [withLogin(host, login)];
};

/** `web1,db[1-3]`, `web1 web2`, the `web:&prod` of ansible, the `@prod` of clush, the `4/web1` of parallel. */
const machines: Named = (value) =>
  splitList(value.replaceAll(/[\s;]+|:(?!\d|\/)/g, ",")).flatMap((item) => {
    const name = item.replace(/^(?:\d+\/|[&@])/, "");
    // `pdsh -w ^FILE`: a list in a file.
    if (name.startsWith("^")) return [ANY];
    if (name === "" || /^[-!]|\//.test(name)) return [];
    return [name === "all" ? ANY : name];
  });

/** The settings of ssh that lead elsewhere. */
const setting: Named = (value, login) => {
  const [, key = "", given = ""] = /^\s*(\w+)\s*[= ]\s*"?([^]*?)"?\s*$/.exec(value) ?? [];
  switch (key.toLowerCase()) {
    case "hostname":
    case "proxyjump":
      return given === "none" ? [] : machines(given, login);
    case "port":
      login.port ??= given;
      return [];
    case "user":
      login.user ??= given;
      return [];
    case "proxycommand":
    case "controlpath":
      return route(given, login);
    default:
      return [];
  }
};

/** What decides where a connection leads, but does not show it: a socket, a command, a file of names. */
const route: Named = (value) => (/^(?:none|\/dev\/null)$/.test(value) ? [] : [ANY]);

/** `host=db1 dbname=x`. */
const connection: Named = (value) =>
  [...value.matchAll(/\bhost(?:addr)?\s*=\s*'?([^\s',/]+)/g)].map(([, host = ""]) => host);

/** `db1:27017/shop`, without a scheme. */
const hostDatabase: Named = (value) =>
  /^(?:[^\s/:@]+@)?([\w.*?-]+(?::\d+)?|\[[\da-f:.]+\](?::\d+)?)(?:\/|$)/i.exec(value)?.slice(1) ?? [];

const NAMED: Readonly<Record<string, Named>> = {
  MACHINE: machine,
  MACHINES: machines,
  HOSTPATH: hostPath,
  PLACE: place,
  CONTAINER: hostPath,
  /** A context, project or application, as written; `-c=prod` is how programs in Go take it, too. */
  CONTEXT: (value) => (value === "" ? [] : [value.replace(/^=/, "")]),
  ROUTE: route,
  SETTING: setting,
  PORT: (value, login) => {
    login.port ??= value;
    return [];
  },
  LOGIN: (value, login) => {
    login.user ??= value;
    return [];
  },
  /** `user@a/22,b`: one machine after the other. */
  HOPS: (value, login) => {
    const hops = splitList(value).map((hop) => hop.replace(/\/\d+$/, ""));
    return hops.map((hop, at) => (at === hops.length - 1 ? withLogin(hop, login) : hop));
  },
  CONNECTION: connection,
  HOSTDATABASE: hostDatabase,
  /** The same where a word without `:` and `/` is the name of a database. */
  DATABASE: (value, login) => (/[:/]/.test(value) ? hostDatabase(value, login) : []),
  /** A method may stand before the address, and items after it. */
  HTTPWORD: (value, login) =>
    /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$|[=@]/.test(value) ? [] : hostDatabase(value, login),
  /** `name:port:address` of curl. */
  HOSTALIAS: (value) => /^(?:[^:]*:){2}(\[[^\]]+\]|[^:]+)/.exec(value)?.slice(1) ?? [],
  SOCKET: (value) =>
    /^(?:tcp|udp|openssl|ssl|sctp|dccp)[46]?(?:-(?:connect|sendto|datagram))?:([^:,]+):/i.exec(value)?.slice(1) ?? [],
  SHARE: (value) => /^[/\\]{2}([^/\\]+)/.exec(value)?.slice(1) ?? [],
  RCLONE: (value, login) =>
    value.startsWith(":")
      ? [...value.matchAll(/[,:](?:host|url)="?([^,:"]+)/g)].map(([, host = ""]) => host)
      : place(value, login),
};

export const MACHINE_ROLES: readonly string[] = Object.keys(NAMED);

/** What decides the login comes first: `ssh prod -p 2222`. */
export function inOrder(role: string): number {
  return /^(?:PORT|LOGIN|SETTING)$/.test(role) ? 0 : 1;
}

/** The machines that a word in this role names. */
export function machinesIn(role: string, value: string, login: Login): readonly string[] {
  return Object.hasOwn(NAMED, role) ? (NAMED[role]?.(value.replaceAll(URLS, ""), login) ?? []) : [];
}

/** Hosts of URLs: `ssh://host`, `git+ssh://`, `https://`, restic's `sftp:host:`. A password is left out. */
export function machinesInUrls(word: string): string[] {
  return [...word.matchAll(URLS)].map(([, host = ""]) => host.replace(/:[^@]*@/, "@"));
}
const URLS = /(?<![\w:])(?:[a-z][\w+.-]*:\/\/|sftp:(?:\/\/)?)([^\s/,'"]+?)(?=:?(?:[\s/,'"]|$))/gi;

/** Those whose value is a name; a URL is found in any. */
export const MACHINE_VARIABLES: ReadonlySet<string> = new Set([
  "CONTAINER_CONNECTION",
  "DOCKER_CONTEXT",
  "HELM_KUBECONTEXT",
  "KUBECONFIG",
  "MYSQL_HOST",
  "PGHOST",
  "PGHOSTADDR",
]);

function withLogin(host: string, { user, port }: Login): string {
  const address =
    port === undefined || port === "22"
      ? host
      : `${host.includes(":") ? host.replace(/^((?:[^@]*@)?)([^[].*)$/, "$1[$2]") : host}:${port}`;
  return user === undefined || address.includes("@") ? address : `${user}@${address}`;
}
