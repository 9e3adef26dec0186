/** One question for several machines: made from the questions that each of them would ask; the strictest one holds. */
import { foldNames } from "../../lib/names.ts";
import type { ApprovalRequest, RequestPlace, Stated } from "../../policy/approvals.ts";
import { requiredAnswer, type RequiredAnswer } from "../../policy/verdict.ts";
import { stricter } from "../permit/ask-operator.ts";
import { diffSize } from "../../tools/bound-output.ts";

/** What one machine would ask. */
export interface MachineRequest {
  readonly machine: string;
  readonly request: ApprovalRequest;
}

export interface SetQuestionOptions {
  /** Precedes what the policy says: the result of a canary, machines that are left out. */
  readonly heading: string;
  /** The run has several machines: also one alone is called by its name among them. */
  readonly named: boolean;
}

export function setQuestion(
  asking: readonly MachineRequest[],
  { heading, named }: SetQuestionOptions,
): ApprovalRequest {
  const [first] = asking;
  if (first === undefined) throw new Error("a question needs a machine");
  if (asking.length === 1) {
    const { request, machine } = first;
    const own = named
      ? { where: whereOf(asking), ...(request.typed === undefined ? {} : { typed: machine, alsoTyped: [] }) }
      : {};
    return { ...request, ...own, policy: [heading, request.policy].filter(Boolean).join("; ") };
  }
  const requests = asking.map(({ request }) => request);
  const strictest = requests.reduce<Stated>((all, one) => stricter(all, one), first.request);
  const understated = requests.find((one) => one.understated);
  const reverse = requests.find((one) => one.reverse !== undefined)?.reverse;
  const answer = requests.reduce<RequiredAnswer | undefined>((all, one) => requiredAnswer(all, one.answer), undefined);
  const windows = requests.flatMap(({ approveMaxMs }) => approveMaxMs ?? []);
  const typed = asking.filter(({ request }) => request.typed !== undefined);
  const diff = joinedBy(
    asking,
    ({ diff = "" }) => diff,
    (text, names) => `# ${names}\n${text}`,
    "\n",
  );
  const { write } = first.request;
  const cwd = same(requests.map((one) => one.cwd));
  const labels = [...new Set(requests.flatMap(({ label }) => (label === undefined ? [] : [label])))];
  const {
    diff: _diff,
    cwd: _cwd,
    pane: _pane,
    prefixes: _prefixes,
    declared: _declared,
    found: _found,
    answer: _answer,
    typed: _typed,
    alsoTyped: _alsoTyped,
    label: _label,
    approveMaxMs: _approveMaxMs,
    ...rest
  } = first.request;
  return {
    ...rest,
    id: crypto.randomUUID(),
    where: whereOf(asking),
    machine: "",
    machines: asking.map(({ machine, request }) => ({ name: machine, machine: request.machine })),
    action: joinedBy(
      asking,
      ({ action }) => action,
      (text, names) => `${text} (${names})`,
      "\n",
    ),
    ...strictest,
    policy: [
      heading,
      joinedBy(
        asking,
        ({ policy }) => policy,
        (text, names) => `${text} (${names})`,
        "; ",
      ),
    ]
      .filter((part) => part !== "")
      .join("; "),
    understated: understated !== undefined,
    ...(reverse === undefined ? {} : { reverse }),
    ...(understated?.declared === undefined ? {} : { declared: understated.declared }),
    ...(understated?.found === undefined ? {} : { found: understated.found }),
    editable: requests.every((one) => one.editable),
    ...(cwd === undefined ? {} : { cwd }),
    ...(diff === "" ? {} : { diff }),
    ...(write === undefined
      ? {}
      : {
          write: {
            ...write,
            creates: requests.some((one) => one.write?.creates),
            ...diffSize(first.request.diff ?? ""),
          },
        }),
    ...(same(requests.map((one) => JSON.stringify(one.prefixes))) === undefined || first.request.prefixes === undefined
      ? {}
      : { prefixes: first.request.prefixes }),
    ...(windows.length === 0 ? {} : { approveMaxMs: Math.min(...windows) }),
    ...(answer === undefined ? {} : { answer }),
    ...(typed.length === 0 ? {} : { typed: foldNames(typed.map(({ machine }) => machine)) }),
    ...(labels.length === 0 ? {} : { label: labels.join(" ") }),
  };
}

/** `deploy@web[01-12] (12)`. */
function whereOf(asking: readonly MachineRequest[]): string {
  const names = asking.map(({ machine }) => machine);
  const users = new Set(asking.map(({ request }) => request.where.replace(/@.*$/s, "")));
  const [user = ""] = users;
  const folded = foldNames(names);
  const who = users.size === 1 && !names.some((name) => name.includes("@")) ? `${user}@${folded}` : folded;
  return names.length === 1 ? who : `${who} (${names.length})`;
}

/** The text itself where it is the same for all; otherwise each with the machines it belongs to. */
function joinedBy(
  asking: readonly MachineRequest[],
  textOf: (request: ApprovalRequest) => string,
  named: (text: string, names: string) => string,
  between: string,
): string {
  const groups = Map.groupBy(asking, ({ request }) => textOf(request));
  const [only] = groups.keys();
  if (groups.size === 1) return only ?? "";
  return [...groups]
    .map(([text, members]) => named(text, foldNames(members.map(({ machine }) => machine))))
    .join(between);
}

function same<T>(values: readonly T[]): T | undefined {
  const [first] = values;
  return values.every((value) => value === first) ? first : undefined;
}

/** With the place that was looked up for it. */
export function placed(request: ApprovalRequest, place: RequestPlace | undefined): ApprovalRequest {
  return place === undefined ? request : { ...request, ...place };
}
