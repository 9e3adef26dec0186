/** `buddy doctor`: what works on this machine, and what to do about the rest. */
import { isatty } from "node:tty";
import { wantsColor } from "../../../lib/terminal.ts";
import { EXIT } from "../../../lib/errors.ts";
import { redactor } from "../../../lib/secrets/redact.ts";
import { plural } from "../../../lib/text.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { isLocal, placeOf } from "../../../targets/place.ts";
import { defineCommand } from "../../command.ts";
import type { Finding } from "./machine.ts";
import type { GlobalOptions } from "../../args/options.ts";

export const command = defineCommand({
  name: "doctor",
  args: {
    json: { type: "boolean", description: "print the findings as JSON" },
  },
  examples: [
    ["buddy doctor", "this machine; exit code 1 if something needed is broken"],
    ["buddy doctor --ssh web1", "also the host"],
  ],
  async run({ args, globals }) {
    const findings = (await examine(globals)).map(withoutSecrets);
    const ok = findings.every(({ status }) => status !== "broken");
    await print([args.json ? jsonText({ ok, findings }, 2) : await page(findings, globals)]);
    return ok ? EXIT.ok : EXIT.failure;
  },
});

async function examine(globals: GlobalOptions): Promise<Finding[]> {
  const { checkConfiguration, checkModel } = await import("./configuration.ts");
  const { checkTarget, checkUnasked, checkMachine } = await import("./machine.ts");
  const { findings, loaded } = await checkConfiguration(globals);
  if (loaded !== undefined) findings.push(...(await checkModel(loaded)));
  findings.push(...(await checkMachine()));
  const secondLock = loaded?.config.safety.read_only_namespace ?? "auto";
  const { chosenPlace } = await import("../../../app/machines/places.ts");
  const place = loaded === undefined ? placeOf(globals) : await chosenPlace(globals, loaded);
  if (isLocal(place)) {
    const { LocalTransport } = await import("../../../targets/connection/local.ts");
    await using transport = new LocalTransport();
    return [...findings, await checkUnasked(transport, secondLock)];
  }
  const cwd = globals.cd ?? place.cd;
  const target = await checkTarget({
    place,
    ...(cwd === undefined ? {} : { cwd }),
    secondLock,
  });
  return [...findings, ...target];
}

/** Findings are pasted into requests for help. */
function withoutSecrets({ text, remedy, ...finding }: Finding): Finding {
  const { BUDDY_API_KEY, AGENT_API_KEY } = process.env;
  const redact = redactor([BUDDY_API_KEY, AGENT_API_KEY].flatMap((key) => key ?? []));
  return { ...finding, text: redact(text), ...(remedy === undefined ? {} : { remedy: redact(remedy) }) };
}

async function page(findings: readonly Finding[], globals: GlobalOptions): Promise<string> {
  const { findingRows } = await import("./machine.ts");
  const color = wantsColor({ flag: globals.color, env: process.env, isTty: isatty(1) });
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map((finding) => findingRows(finding, width, color));
  const bad = findings.filter(({ status }) => status === "broken").length;
  const warnings = findings.filter(({ status }) => status === "warning").length;
  const summary =
    bad > 0 ? `${plural(bad, "problem")} found` : warnings > 0 ? "it works, with warnings" : "no problems found";
  return `${lines.join("\n")}\n\n${summary}\n`;
}
