/** Why the rows of the table do not prove that a program with these arguments only reads. */
import { once } from "../../../lib/values.ts";
import { isFixed } from "../syntax/field.ts";
import { type Form, leading, outside, type Refusal, refused } from "./form.ts";
import { CLOUD_READERS } from "./cloud-reads.ts";
import { HTTP_READERS } from "./http-reads.ts";
import type { Preset, PresetReader } from "./operator.ts";
import { READERS } from "./readers.ts";
import { type Call, Rows } from "./rows.ts";
import containers from "../../../../templates/policy/containers.txt" with { type: "text" };
import files from "../../../../templates/policy/files.txt" with { type: "text" };
import git from "../../../../templates/policy/git.txt" with { type: "text" };
import macos from "../../../../templates/policy/macos.txt" with { type: "text" };
import operatorClusters from "../../../../templates/policy/operator-clusters.txt" with { type: "text" };
import operatorData from "../../../../templates/policy/operator-data.txt" with { type: "text" };
import operatorMachines from "../../../../templates/policy/operator-machines.txt" with { type: "text" };
import operatorNetwork from "../../../../templates/policy/operator-network.txt" with { type: "text" };
import operatorServices from "../../../../templates/policy/operator-services.txt" with { type: "text" };
import network from "../../../../templates/policy/network.txt" with { type: "text" };
import packages from "../../../../templates/policy/packages.txt" with { type: "text" };
import shell from "../../../../templates/policy/shell.txt" with { type: "text" };
import storage from "../../../../templates/policy/storage.txt" with { type: "text" };
import system from "../../../../templates/policy/system.txt" with { type: "text" };

const PRESET_READERS: Readonly<Record<string, PresetReader>> = { ...CLOUD_READERS, ...HTTP_READERS };

/** The table, read when it is first needed. */
export const readOnlyRows = once(
  () =>
    new Rows([
      files,
      shell,
      system,
      network,
      storage,
      packages,
      containers,
      git,
      macos,
      operatorClusters,
      operatorNetwork,
      operatorServices,
      operatorMachines,
      operatorData,
    ]),
);

export function notReadOnly(program: string, args: readonly string[], preset?: Preset): Refusal | undefined {
  let why: Refusal | undefined;
  for (const row of readOnlyRows().of(program)) {
    if (row.preset !== undefined && row.preset !== preset?.name) continue;
    let first: Refusal | undefined;
    for (const call of row.calls) {
      const found = notCalled(call, args, preset);
      if (found === undefined) return undefined;
      first ??= found;
    }
    // The reason of a preset's row is the better one.
    if (why === undefined || row.preset !== undefined) why = first;
  }
  return why ?? NOT_LISTED;
}

const NOT_LISTED = { does: "is not known to be read-only" };
const MOST_NESTED = 3;

function notCalled(call: Call, args: readonly string[], preset: Preset | undefined): Refusal | undefined {
  const { form, subcommands } = call;
  if (subcommands === undefined) return notCovered(form, args, preset);
  const front = leading(form, args);
  if ("why" in front) return front.why;
  const rest = args.slice(front.at);
  if (rest.length === 0) return call.bare ? outside(form, args) : "without a subcommand";
  for (let count = Math.min(MOST_NESTED, rest.length); count > 0; count--) {
    const path = rest.slice(0, count);
    const forms = path.every((word) => isFixed(word) && !word.includes(" "))
      ? subcommands.get(path.join(" "))
      : undefined;
    if (forms === undefined) continue;
    const whys = forms.map((one) => notCovered(one, rest.slice(count), preset));
    const [why = NOT_LISTED] = whys;
    return whys.includes(undefined) ? undefined : { does: refused(path.join(" "), why) };
  }
  return isFixed(rest[0] as string)
    ? { does: refused(rest[0] as string, NOT_LISTED) }
    : "with a subcommand that is only known when it runs";
}

function notCovered(form: Form, args: readonly string[], preset: Preset | undefined): Refusal | undefined {
  const { reader } = form;
  if (reader === undefined) return outside(form, args);
  const asking = Object.hasOwn(PRESET_READERS, reader) ? PRESET_READERS[reader] : undefined;
  if (asking !== undefined && preset !== undefined) return asking(args, preset);
  const read = Object.hasOwn(READERS, reader) ? READERS[reader] : undefined;
  return read === undefined ? notReadOnly(reader, args, preset) : read(args);
}
