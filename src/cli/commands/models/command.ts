/** `buddy models`: what the endpoint of a profile offers, with windows and prices where they are known. */
import { alignColumns } from "../../../lib/text.ts";
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "models",
  args: {
    profile: { type: "positional", required: false, description: "a profile; without it, the active one" },
    json: { type: "boolean", description: "print as JSON" },
  },
  examples: [
    ["buddy models", "the models of the active profile's endpoint"],
    ["buddy models --json", "for programs"],
  ],
  async run({ args: { profile: name, json }, globals }) {
    const { loadConfiguration } = await import("../../../app/configuration.ts");
    const { resolveProfile } = await import("../../../config/profiles.ts");
    const { modelOptions } = await import("../../../app/model/model-client.ts");
    const { listModelsByClient } = await import("../../../model/list-models.ts");
    const { infoFor } = await import("../../../model/catalog.ts");
    const loaded = await loadConfiguration(globals);
    const profile = resolveProfile(loaded, name);
    if (profile.baseUrl === "")
      throw new BuddyError("usage", "demo is a script built into buddy: it has no models to list", {
        hint: "Name another profile: buddy models PROFILE",
      });
    const offered = await listModelsByClient(await modelOptions(loaded, profile), new AbortController().signal);
    const rows = offered
      .map((model) => {
        const known = infoFor(model.id, { rules: loaded.config.model_rules });
        return {
          id: model.id,
          current: model.id === profile.model,
          context: model.contextLimit ?? (known.known ? known.contextLimit : undefined),
          price_in: model.priceIn ?? known.priceIn,
          price_out: model.priceOut ?? known.priceOut,
          images: known.images,
        };
      })
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    await print([json === true ? jsonText(rows, 2) : await table(rows, profile.model)]);
    return EXIT.ok;
  },
});

interface Row {
  readonly id: string;
  readonly current: boolean;
  readonly context: number | undefined;
  readonly price_in: number | undefined;
  readonly price_out: number | undefined;
  readonly images: boolean | undefined;
}

async function table(rows: readonly Row[], current: string): Promise<string> {
  if (rows.length === 0) return "this endpoint lists no models\n";
  const { showLine } = await import("../../../policy/screen/terminal-text.ts");
  const cells = rows.map((row) => [
    `${row.current ? "* " : "  "}${showLine(row.id)}`,
    row.context === undefined ? "" : `${Math.round(row.context / 1000)}k`,
    row.price_in === undefined || row.price_out === undefined ? "" : `$${row.price_in} / $${row.price_out}`,
    row.images ? "images" : "",
  ]);
  const head = ["  MODEL", "CONTEXT", "IN / OUT PER M", ""];
  const unlisted = rows.some((row) => row.current) ? [] : ["", `${current}, the profile's model, is not in this list`];
  return `${[...alignColumns([head, ...cells], Infinity, 1), ...unlisted].join("\n")}\n`;
}
