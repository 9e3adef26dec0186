/** docs/benchmarks.md: the figures of one whole run, with the words that stand around them. */
import { type Figure, goalOf, shown, spreadOf } from "./figures.ts";

export interface Measured {
  readonly machine: string;
  readonly date: string;
  readonly load: string;
  readonly figures: Readonly<Record<string, readonly Figure[]>>;
}

const INTRO = `# Benchmarks

\`\`\`sh
bun run bench            # all of them; writes this page
bun run bench startup    # one; prints only
bun run bench compare OTHER-BINARY agent    # dist/buddy beside a second build, in pairs
\`\`\`

Each file of \`bench/\` measures one part, and prints its figures with the goal beside them where there is one. They assert
nothing: a time in a test fails on a busy machine and passes on a fast one. What can be compared is:

- **Ratios within one run.** The start of the binary is measured beside a compiled Bun program that prints one line, the
  model client beside a bare \`fetch\` that splits lines, a command in the pane beside the design that asks tmux for the
  screen every 50 ms. The two take turns, so that a busy moment falls on both.
- **Round trips.** What goes over ssh is measured through a proxy that delays everything by 50 ms each way, and given in round
  trips: 1.0 is what no design can beat.
- **Memory**, the peak of the process.

The parts are real: the compiled binary, tmux, sshd, podman; only the model is scripted, on loopback. A figure is the median
of its samples, the spread goes from the tenth to the ninetieth of a hundred.
`;

/** In the order of the page; what stands above a table, and what is worth knowing about its figures. */
const SECTIONS: Readonly<Record<string, { readonly title: string; readonly about?: string; readonly after?: string }>> =
  {
    startup: {
      title: "Start",
      about: "The full configuration has every setting of the template, machines, rules and servers included.",
    },
    agent: {
      title: "A one-shot run and its calls",
      after: `A call is the time from the answer of the model, as it goes out, to the last byte of the next request. An unasked one runs behind both locks, in a fork of a clean bash that stays there. The goals of calls are of the time before the locks, the record and masking.`,
    },
    exec: { title: "A command" },
    files: { title: "Files and background shells" },
    repl: { title: "The REPL" },
    stream: {
      title: "The model client",
      about: "20 000 events of one answer, beside a bare `fetch` that splits lines.",
    },
    prefix: {
      title: "What a provider can find in its cache",
      about: "A session of 20 calls: the part of each request that is byte-identical with the request before it.",
    },
    memory: { title: "Memory with large texts" },
    "policy-shell": { title: "Policy: commands" },
    "policy-web": { title: "Policy: texts and addresses" },
    fleet: {
      title: "Many machines",
      about: `Real sshds on as many loopback addresses as there are machines, and \`clush\`, \`pssh\` and \`ansible\` with persistent connections in the same
run. All machines are one computer here: what each of them does for itself (a shell, a pane, the read-only namespace)
is paid for by the same cores, which separate machines would do side by side. Plain shells that stay open are the least that
any tool can do: where the others are less than 20 times slower than these, no tool meets the goal for later commands here.

Round trips are those of a builtin of the shell, \`echo ok\`, as for one machine above: how often a command crosses the line does not
depend on how long 50 programs take to start on one computer, which \`uname -n\` beside it shows (half a millisecond each, and more, for
plain shells, too). All that both sides do, and the proxy that delays, shares these cores.

“Start-up files”: the shells of the machines read the \`.bashrc\` of the account that runs the bench, as they would in an account with
version managers and the like. The others pay for it with every command, a shell that stays open only once.`,
    },
    peers: {
      title: "Beside other agents",
      about:
        "Each answers one prompt of the same scripted model: with a text, and with one call of its shell before it. Those that are installed.",
    },
  };

export function benchmarksPage({ machine, date, load, figures }: Measured): string {
  const parts = [INTRO, `${date}, ${machine}, load average ${load} at the start.\n`];
  const names = [...Object.keys(SECTIONS), ...Object.keys(figures).filter((name) => SECTIONS[name] === undefined)];
  for (const name of names) {
    const rows = figures[name];
    if (rows === undefined || rows.length === 0) continue;
    const { title, about, after } = SECTIONS[name] ?? { title: name };
    parts.push(`## ${title} (\`bench/${name}.ts\`)\n`);
    if (about !== undefined) parts.push(`${about}\n`);
    const lines = rows.map((row) => `| ${row.name} | ${shown(row)} | ${spreadOf(row)} | ${goalOf(row)} |`);
    parts.push(`| | figure | spread | goal |\n| --- | ---: | ---: | ---: |\n${lines.join("\n")}\n`);
    if (after !== undefined) parts.push(`${after}\n`);
  }
  const missed = Object.values(figures)
    .flat()
    .filter(({ met }) => met === false).length;
  const goals = Object.values(figures)
    .flat()
    .filter(({ goal }) => goal !== undefined).length;
  parts.push(`${goals - missed} of ${goals} goals are met.\n`);
  return parts.join("\n");
}
