/** What to leave out of the next request when a server names a parameter it does not know. */
import { once } from "../lib/once.ts";
import type { ModelError } from "./errors.ts";
import type { Droppable } from "./protocols/protocol.ts";

/** The parameter to leave out, or undefined when leaving something out cannot help. */
export function droppableFor(error: ModelError, dropped: ReadonlySet<Droppable>): Droppable | undefined {
  if (error.reason !== "refused" || (error.status !== undefined && ![400, 404, 415, 422, 501].includes(error.status)))
    return undefined;
  const text = error.providerText ?? "";
  for (const [parameter, pattern] of rules()) if (!dropped.has(parameter) && pattern.test(text)) return parameter;
  return undefined;
}

const REFUSED =
  "(unsupported|not (be )?(supported|allowed|permitted|available|recogni[sz]ed|enabled|implemented)|unknown|unrecogni[sz]ed|unexpected|extra (inputs|fields)|invalid|does not support|only .* supported|must be verified)";

/** Both orders of "Unsupported parameter: 'x'" and "x is not supported". The longer names come first. */
function refusing(name: string): RegExp {
  return new RegExp(`${name}\\b.{0,120}?${REFUSED}|${REFUSED}.{0,120}?\\b${name}`, "is");
}

const rules = once((): readonly (readonly [Droppable, RegExp])[] => [
  [
    "reasoning_items",
    /invalid_encrypted_content|encrypted content .{0,60}(could not be|cannot be) (verified|decrypted)/i,
  ],
  [
    "message_extra",
    /messages[.[]\S*.{0,200}(unsupported|not permitted|unknown|unrecogni[sz]ed|additional|unexpected)|reasoning_(content|details)/is,
  ],
  [
    "broken_arguments",
    /arguments.{0,80}(json|pars|decod)|(json|pars|decod).{0,80}arguments|Expecting (value|property name)|Unterminated string/is,
  ],
  [
    "include",
    /encrypted content is not supported|reasoning\.encrypted_content|\binclude\b.{0,60}(not|unsupported|unknown)/i,
  ],
  ["stream_options", refusing("stream_options")],
  ["response_format", refusing("(response_format|text\\.format|json_schema|structured output)")],
  ["temperature", refusing("temperature")],
  ["top_p", refusing("top_p")],
  ["reasoning_effort", refusing("reasoning_effort")],
  ["reasoning", refusing("reasoning(\\.summary|\\.effort)?")],
  ["stream", refusing("stream(ing)?")],
]);
