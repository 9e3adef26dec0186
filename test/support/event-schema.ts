/** Holds events against docs/events.schema.json. */
import Ajv2020 from "ajv/dist/2020.js";
import schema from "../../docs/events.schema.json";

const validate = new Ajv2020({ allErrors: true, discriminator: false }).compile(schema);

/** What is wrong with an event, or undefined. */
export function eventProblem(event: unknown): string | undefined {
  if (validate(event)) return undefined;
  const { type } = event as { type?: string };
  const own = (validate.errors ?? []).filter((error) => error.schemaPath.includes(`/${type}/`));
  return `${JSON.stringify(event)}: ${(own.length > 0 ? own : (validate.errors ?? [])).map((error) => `${error.instancePath} ${error.message}`).join("; ")}`;
}

/** The events of `exec --json` output, each valid and none other. */
export function eventsOf(stdout: string): { type: string; [field: string]: unknown }[] {
  const lines = stdout.split("\n");
  if (lines.pop() !== "") throw new Error("the last line has no end");
  return lines.map((line) => {
    const event = JSON.parse(line) as { type: string };
    const problem = eventProblem(event);
    if (problem !== undefined) throw new Error(problem);
    return event;
  });
}
