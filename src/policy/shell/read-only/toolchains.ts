/** Package managers, languages and libraries: which versions are there, what a file holds. */
import { dashWords, having, only, type Proof, type ReadOnlyRow, subcommands, without } from "./proof.ts";

const npmList = only({
  short: "gal",
  long: ["global", "all", "json", "long", "parseable", "link"],
  longValues: ["depth", "omit", "include"],
});
const pip = subcommands({
  list: only({
    short: "elv",
    long: ["editable", "local", "user", "not-required", "verbose"],
    longValues: ["format", "exclude"],
  }),
  show: only({ short: "f", long: ["files", "verbose"] }),
  freeze: only({ short: "l", long: ["local", "user", "all"] }),
  check: only({ operands: 0 }),
});

/** Values that no option reads as a file to write. */
function opensslInput(words: readonly string[], values: RegExp): Proof {
  const proof = dashWords(words, values, 1);
  return (args) => proof(args.slice(1));
}
const SHOWN = ["-noout", "-text", "-subject", "-issuer", "-modulus", "-hash", "-verify", "-fingerprint", "-pubkey"];
const OPENSSL: Readonly<Record<string, Proof>> = {
  version: () => undefined,
  x509: opensslInput(
    [...SHOWN, "-dates", "-enddate", "-startdate", "-serial", "-sha256", "-purpose"],
    /^-(?:in|inform|checkend|nameopt|ext)$/,
  ),
  req: opensslInput(SHOWN, /^-(?:in|inform|nameopt)$/),
  crl: opensslInput([...SHOWN, "-lastupdate", "-nextupdate"], /^-(?:in|inform|CAfile)$/),
  rsa: having(/^-noout$/, "-noout", opensslInput([...SHOWN, "-check", "-pubin"], /^-(?:in|inform)$/)),
  ec: having(/^-noout$/, "-noout", opensslInput([...SHOWN, "-check", "-pubin"], /^-(?:in|inform)$/)),
  pkey: having(/^-noout$/, "-noout", opensslInput([...SHOWN, "-check", "-pubin"], /^-(?:in|inform)$/)),
  asn1parse: opensslInput(["-i", "-dump"], /^-(?:in|inform|offset|length|strparse)$/),
  verify: opensslInput(["-verbose", "-show_chain", "-x509_strict"], /^-(?:CAfile|CApath|untrusted|purpose)$/),
  dgst: opensslInput(["-md5", "-sha1", "-sha224", "-sha256", "-sha384", "-sha512", "-r", "-hex", "-c"], /^-$/),
  ciphers: opensslInput(["-v", "-V", "-s"], /^-$/),
};

export const TOOLCHAINS: readonly ReadOnlyRow[] = [
  {
    programs: ["npm", "pnpm"],
    proof: subcommands({ ls: npmList, list: npmList, ll: npmList, root: npmList, prefix: npmList, bin: npmList }),
    yes: ["npm ls", "npm ls --depth=0", "npm list -g", "npm root -g", "pnpm ls"],
    no: [
      "npm install",
      "npm test",
      "npm ls --prefix x",
      "npm ls --userconfig f",
      "npm run ls",
      "npm outdated",
      "npm ls $X",
    ],
  },
  {
    programs: ["pip", "pip3"],
    proof: pip,
    yes: ["pip list", "pip show x", "pip freeze", "pip3 list --format=json", "pip check"],
    no: [
      "pip install x",
      "pip list --outdated",
      "pip list -o",
      "pip --python x list",
      "pip download x",
      "pip list --log f",
    ],
  },
  {
    programs: ["brew"],
    proof: (args) =>
      /^--(?:version|prefix|cellar|repository|cache)$/.test(args[0] ?? "") && args.length <= 2
        ? undefined
        : subcommands({
            list: only({
              short: "1lrt",
              long: ["versions", "formula", "formulae", "cask", "casks", "full-name", "pinned"],
            }),
            ls: only({ short: "1lrt", long: ["versions", "formula", "cask"] }),
            leaves: only({}),
            deps: only({ long: ["tree", "installed"] }),
          })(args),
    yes: [
      "brew list",
      "brew list --versions",
      "brew --version",
      "brew --prefix",
      "brew --prefix openssl",
      "brew leaves",
    ],
    no: ["brew install x", "brew update", "brew upgrade", "brew services start x", "brew"],
  },
  {
    programs: ["go"],
    proof: (args) =>
      (args[0] === "version" && args.length === 1) ||
      (args[0] === "env" && args.slice(1).every((word) => /^[A-Z0-9_]+$|^-json$/.test(word)))
        ? undefined
        : "may do anything",
    yes: ["go version", "go env", "go env GOPATH", "go env -json"],
    no: ["go env -w X=y", "go env -u X", "go build", "go run x", "go list -toolexec=x ./..."],
  },
  {
    programs: [
      "node",
      "java",
      "perl",
      "php",
      "ruby",
      "nginx",
      "tmux",
      "lua",
      "scala",
      "cargo",
      "bun",
      "pnpm",
      "yarn",
      "npm",
      "httpd",
      "apache2",
    ],
    proof: (args) => (args.length === 1 && /^(?:-v|-version)$/.test(args[0] as string) ? undefined : "may do anything"),
    yes: ["node -v", "java -version", "perl -v", "php -v", "nginx -v"],
    no: ["node -v -e x", "perl -v x", "php -v -r x", "java -version Main", "nginx -t", "nginx -s reload"],
  },
  {
    programs: ["apt-mark"],
    proof: subcommands({ showhold: only({}), showmanual: only({}), showauto: only({}) }),
    yes: ["apt-mark showhold", "apt-mark showmanual"],
    no: ["apt-mark hold x", "apt-mark auto x", "apt-mark -f x showhold"],
  },
  {
    programs: ["rpm"],
    proof: (args) =>
      args.some((word) => word.includes("://"))
        ? "asks the network"
        : having(
            /^-[a-z]*q|^--query$/,
            "-q",
            only({
              short: "qaiflcdRpgv",
              long: [
                "query",
                "all",
                "info",
                "file",
                "list",
                "requires",
                "provides",
                "changelog",
                "last",
                "scripts",
                "docfiles",
                "whatprovides",
                "whatrequires",
                "package",
                "nodigest",
                "nosignature",
              ],
              longValues: ["qf", "queryformat"],
            }),
          )(args),
    yes: ["rpm -qi bash", "rpm -q -i bash", "rpm -q --scripts bash", "rpm -qf /bin/ls", "rpm -qip f.rpm"],
    no: ["rpm -i x", "rpm -qip http://x/f.rpm", "rpm -qi --pipe sh x", "rpm -qe x"],
  },
  {
    programs: ["openssl"],
    proof: (args) => {
      const proof = Object.hasOwn(OPENSSL, args[0] ?? "") ? OPENSSL[args[0] as string] : undefined;
      if (args.some((word) => /^\w{2,}:\/\//.test(word))) return "may use the network";
      return proof === undefined ? "may write or use the network" : proof(args);
    },
    yes: [
      "openssl version",
      "openssl x509 -in c.pem -noout -text",
      "openssl x509 -in c.pem -noout -enddate -ext subjectAltName",
      "openssl x509 -in c.pem -noout -checkend 86400",
      "openssl req -in f -noout -text",
      "openssl rsa -in k -check -noout",
      "openssl dgst -sha256 f",
      "openssl verify -CAfile ca.pem c.pem",
      "openssl crl -in f -noout -text",
      "openssl asn1parse -in f",
    ],
    no: [
      "openssl x509 -in c -out d",
      "openssl x509 -in -in -out d",
      "openssl x509 -in http://x/c.pem -noout",
      "openssl x509 -in c -engine x",
      "openssl s_client -connect x:443",
      "openssl genrsa",
      "openssl req -new",
      "openssl req -in f -out g",
      "openssl rsa -in k -out l",
      "openssl dgst -sha256 -out f g",
      "openssl dgst -sign k f",
      "openssl rsa -in k -noout -engine x",
      "openssl enc -in a",
      "openssl req -in f -noout -config x",
    ],
  },
  {
    programs: ["xmllint"],
    proof: only({
      long: ["format", "noout", "nonet", "html", "recover", "pretty", "noblanks", "version", "nowarning", "noerror"],
      longValues: ["xpath", "pretty", "encode"],
      operands: /^(?!\w+:)/,
    }),
    yes: ["xmllint --noout f.xml", "xmllint --format f.xml"],
    no: [
      "xmllint --output f x",
      "xmllint --shell f",
      "xmllint http://x/",
      "xmllint --load-trace f",
      "xmllint --valid f",
    ],
  },
  {
    programs: ["iconv"],
    proof: only({ short: "cls", values: "ft", long: ["list", "silent"], longValues: ["from-code", "to-code"] }),
    yes: ["iconv -f latin1 -t utf8 f", "iconv -l"],
    no: ["iconv -o f g", "iconv --output=f g", "iconv -f x $X"],
  },
  {
    programs: ["bc"],
    proof: only({ short: "lqsw", operands: 0 }),
    yes: ["bc <<< '1+2'", "echo 1 | bc -l"],
    no: ["bc f", "bc -x"],
  },
  {
    programs: ["ar"],
    proof: (args) => (/^-?tv?$/.test(args[0] ?? "") ? only({ operands: 1 })(args.slice(1)) : "may change the archive"),
    yes: ["ar t lib.a", "ar -tv lib.a"],
    no: ["ar r lib.a x.o", "ar x lib.a", "ar d lib.a x.o"],
  },
  {
    programs: ["help", "locate"],
    proof: only({ short: "icr0bdsm", values: "n", long: ["count", "ignore-case", "basename"] }),
    yes: ["help cd", "locate foo", "locate -i -n 5 foo"],
    no: ["locate -d db foo > f", "updatedb", "help x > f"],
  },
  {
    programs: ["sdiff"],
    proof: without({ short: "o", long: ["output", "diff-program"] }),
    yes: ["sdiff a b", "sdiff -s a b"],
    no: ["sdiff -o c a b", "sdiff --output=c a b", "sdiff --diff-program=x a b"],
  },
  {
    programs: ["kubectl"],
    proof: (args) =>
      args[0] === "version" && args.includes("--client")
        ? only({ long: ["client", "short"], longValues: ["output"], values: "o" })(args)
        : "may do anything",
    yes: ["kubectl version --client", "kubectl version --client -o json"],
    no: ["kubectl version", "kubectl version --client --kubeconfig x", "kubectl get pods"],
  },
];
