/** The questions of the machines of a call, asked as one: for all, for some of them, or for one first. */
import { foldNames } from "../../lib/names.ts";
import { defined } from "../../lib/values.ts";
import { within } from "../../lib/waiting.ts";
import type { ApprovalRequest, Decision, RequestPlace, Stated } from "../../policy/approvals.ts";
import { NO_MACHINE } from "../../policy/subject.ts";
import { requiredAnswer } from "../../policy/verdict.ts";
import { diffSize } from "../../tools/bound-output.ts";
import { printedBy } from "../../tools/group-results.ts";
import type { ToolResult } from "../../tools/tool.ts";
import { answeredEvent, askedEvent, stricter } from "../permit/ask-operator.ts";
import { failure, type FleetParts, NOT_CHOSEN } from "./fleet-parts.ts";
import type { FleetCall, Progress } from "./run-on-machines.ts";

interface Asking {
  readonly progress: Progress;
  readonly request: ApprovalRequest;
  readonly place: (() => Promise<RequestPlace>) | undefined;
  resolve(decision: Decision): void;
}

/** What the answer means for the machines. */
interface Effects {
  /** These are approved: the first of them are the canaries. */
  approved(some: readonly Progress[]): void;
  /** It has its answer and checks the machine once more. */
  answered(one: Progress): void;
  finish(one: Progress, result: ToolResult): void;
}

export class SharedQuestion {
  readonly #fleet: FleetParts;
  readonly #call: FleetCall;
  readonly #all: readonly Progress[];
  readonly #effects: Effects;
  readonly #asking: Asking[] = [];

  constructor(fleet: FleetParts, call: FleetCall, all: readonly Progress[], effects: Effects) {
    this.#fleet = fleet;
    this.#call = call;
    this.#all = all;
    this.#effects = effects;
  }

  /** The first machine that asks. */
  get first(): Progress | undefined {
    return this.#asking[0]?.progress;
  }

  add(progress: Progress, request: ApprovalRequest, place: Asking["place"]): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>();
    this.#asking.push({ progress, request, place, resolve });
    return promise;
  }

  async ask(): Promise<void> {
    const order = (one: Asking): number => this.#all.indexOf(one.progress);
    let left = this.#asking.splice(0).sort((a, b) => order(a) - order(b));
    try {
      left = this.#settleByMode(left);
      let heading = this.#leftOutWords();
      while (left.length > 0) {
        const decision = await this.#decision(left, heading);
        if (decision.kind === "approved" && decision.only !== undefined) {
          const { only } = decision;
          const chosen = left.filter(({ progress }) => only.includes(progress.machine.name));
          for (const other of left.filter((one) => !chosen.includes(one))) this.#release(other, NOT_CHOSEN);
          left = chosen;
          if (decision.again === true) continue;
        }
        if (decision.kind === "approved" && decision.canary === true) {
          const [first, ...others] = left as [Asking, ...Asking[]];
          this.#answer(first, { kind: "approved", by: decision.by });
          await first.progress.over.promise;
          heading = this.#canaryWords(first.progress);
          left = others;
          continue;
        }
        this.#effects.approved(left.map(({ progress }) => progress));
        for (const one of left) this.#answer(one, decision);
        return;
      }
    } catch (error) {
      for (const one of left) this.#release(one, failure(error));
    }
  }

  /** Machines that the approval mode approves do not wait for those that need a person. */
  #settleByMode(asking: readonly Asking[]): Asking[] {
    const settled = asking.map((one) => ({ one, decision: this.#fleet.approvals.settled(one.request) }));
    const byMode = settled.flatMap(({ one, decision }) =>
      decision?.kind === "approved" && decision.by === "mode" ? [{ one, decision }] : [],
    );
    this.#effects.approved(byMode.map(({ one }) => one.progress));
    const [first] = byMode;
    if (first !== undefined) {
      const machines = byMode.map(({ one }) => one.progress.machine.name);
      this.#call.publish({ ...answeredEvent(first.one.request, first.decision), machines });
    }
    for (const { one, decision } of byMode) this.#answer(one, decision);
    return asking.filter((one) => !byMode.some((done) => done.one === one));
  }

  async #decision(left: readonly Asking[], heading: string): Promise<Decision> {
    const asking = await Promise.all(
      left.map(async ({ progress, request, place }) => ({
        machine: progress.machine.name,
        request: { ...request, ...(place && (await within(place(), LOOK_MS))) },
      })),
    );
    const question = joinedQuestion(asking, heading, this.#fleet.machines.length > 1);
    const { signal, publish } = this.#call;
    const decision = await this.#fleet.approvals.decide(question, signal, (asked) => publish(askedEvent(asked)));
    publish(answeredEvent(question, decision));
    return decision;
  }

  /** The machine is checked once more: if its shell moved, or an edited command needs more, it asks again. */
  #answer(one: Asking, decision: Decision): void {
    this.#effects.answered(one.progress);
    one.resolve(decision);
  }

  #release(one: Asking, result: ToolResult): void {
    this.#effects.finish(one.progress, result);
    one.resolve({ kind: "denied", by: "operator" });
  }

  #leftOutWords(): string {
    const out = this.#all.flatMap(({ machine, result }) =>
      result === undefined || result.result.ok ? [] : [machine.name],
    );
    return out.length === 0 ? "" : `left out: ${foldNames(out)}`;
  }

  /** Its result is shown before the question for the others. */
  #canaryWords({ machine, result }: Progress): string {
    if (result === undefined) return "";
    const { exitCode, outcome } = result.result;
    const ended = exitCode === undefined ? outcome : `exit code ${exitCode}`;
    const text = `canary: ${ended}\n${printedBy(result)}`;
    this.#call.publish({ type: "tool_output", call: this.#call.call, stream: "info", text, machine: machine.name });
    return `canary ${machine.name}: ${ended}`;
  }
}

/** What one machine would ask. */
interface MachineRequest {
  readonly machine: string;
  readonly request: ApprovalRequest;
}

/**
 * One question made of those of several machines; the strictest one holds. `heading` precedes what the policy says: the
 * result of a canary, machines that are left out. `named`: also a single machine is called by its name in the run.
 */
function joinedQuestion(asking: readonly MachineRequest[], heading: string, named: boolean): ApprovalRequest {
  const [{ request: first, machine }] = asking as [MachineRequest, ...MachineRequest[]];
  const policy = [heading, joined(asking, "; ", (request) => request.policy)].filter(Boolean).join("; ");
  if (asking.length === 1) {
    if (!named) return { ...first, policy };
    const typed = first.typed === undefined || first.reaches === true ? {} : { typed: machine, alsoTyped: [] };
    return { ...first, where: whereOf(asking), ...typed, policy };
  }
  const requests = asking.map(({ request }) => request);
  const { call, tool, why, background, keep, write } = first;
  const understated = requests.find((one) => one.understated);
  const windows = requests.flatMap(({ approveMaxMs }) => approveMaxMs ?? []);
  const typed = asking.flatMap(({ machine: name, request }) =>
    request.typed === undefined ? [] : [request.reaches === true ? request.typed : name],
  );
  const sizes = requests.map((one) => diffSize(one.diff ?? ""));
  const diff = joined(
    asking,
    "\n",
    (request) => request.diff ?? "",
    (text, names) => `# ${names}\n${text}`,
  );
  return {
    id: crypto.randomUUID(),
    call,
    tool,
    where: whereOf(asking),
    subject: NO_MACHINE,
    machines: asking.map(({ machine: name, request }) => ({ name, subject: request.subject })),
    action: joined(asking, "\n", ({ action }) => action),
    ...requests.reduce<Stated>((all, one) => stricter(all, one), first),
    why,
    policy,
    understated: understated !== undefined,
    editable: requests.every((one) => one.editable),
    ...defined({
      background,
      keep,
      cwd: requests.some((one) => one.cwd !== undefined)
        ? joined(asking, "; ", (one) => one.cwd ?? "an unknown directory")
        : undefined,
      pane: joined(asking, "; ", (one) => one.pane ?? "") || undefined,
      diff: diff || undefined,
      write: write && {
        ...write,
        path: joined(asking, ", ", (one) => one.write?.path ?? ""),
        creates: requests.every((one) => one.write?.creates),
        added: Math.max(...sizes.map((one) => one.added)),
        removed: Math.max(...sizes.map((one) => one.removed)),
      },
      reverse: joined(asking, "\n", (one) => one.reverse ?? "") || undefined,
      declared: understated?.declared,
      found: requests.flatMap((one) => one.found ?? []).reduce<Stated | undefined>(strictest, undefined),
      prefixes: same(requests.map((one) => JSON.stringify(one.prefixes))) === undefined ? undefined : first.prefixes,
      approveMaxMs: windows.length === 0 ? undefined : Math.min(...windows),
      answer: requests.map((one) => one.answer).reduce(requiredAnswer),
      typed: typed.length === 0 ? undefined : foldNames([...new Set(typed)]),
      label: joined(asking, " ", ({ label = "" }) => label) || undefined,
    }),
  };
}

function strictest(all: Stated | undefined, one: Stated): Stated {
  return all === undefined ? one : stricter(all, one);
}

/** `deploy@web[01-12] (12)`; machines with another user are named with theirs. */
function whereOf(asking: readonly MachineRequest[]): string {
  const users = Map.groupBy(asking, ({ request }) => request.where.replace(/@.*$/s, ""));
  const named = [...users].flatMap(([user, members]) => {
    const names = members.map(({ machine }) => machine);
    const [own, others] = [names.filter((name) => !name.includes("@")), names.filter((name) => name.includes("@"))];
    const isKnown = users.size === 1 || others.every((name) => name.startsWith(`${user}@`));
    return [
      ...(own.length === 0 ? [] : [`${user}@${foldNames(own)}`]),
      ...(others.length === 0 ? [] : [`${foldNames(others)}${isKnown ? "" : ` as ${user}`}`]),
    ];
  });
  return `${named.join(",")}${asking.length === 1 ? "" : ` (${asking.length})`}`;
}

/** The text itself if it is the same for all; otherwise each text with the machines it belongs to. */
function joined(
  asking: readonly MachineRequest[],
  separator: string,
  textOf: (request: ApprovalRequest) => string,
  named = (text: string, names: string) => `${text} (${names})`,
): string {
  const groups = Map.groupBy(asking, ({ request }) => textOf(request));
  const [only] = groups.keys();
  if (groups.size === 1) return only ?? "";
  return [...groups]
    .filter(([text]) => text !== "")
    .map(([text, members]) => named(text, foldNames(members.map(({ machine }) => machine))))
    .join(separator);
}

function same<T>(values: readonly T[]): T | undefined {
  const [first] = values;
  return values.every((value) => value === first) ? first : undefined;
}

const LOOK_MS = 3_000;
