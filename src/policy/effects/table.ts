/** The rows that say what the words of a command stand for. Those that prove reads are in `read-only/prove.ts`. */
import machines from "../../../templates/commands/machines.txt" with { type: "text" };
import { once } from "../../lib/values.ts";
import { MACHINE_ROLES } from "./machines.ts";
import { Rows } from "./notation.ts";

export const effectRows = once(() => new Rows([machines], MACHINE_ROLES));
