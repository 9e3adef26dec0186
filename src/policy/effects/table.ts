/** The rows that say what the words of a command stand for. Those that prove reads are in `read-only/prove.ts`. */
import changes from "../../../templates/commands/changes.txt" with { type: "text" };
import machines from "../../../templates/commands/machines.txt" with { type: "text" };
import { once } from "../../lib/values.ts";
import { MACHINE_ROLES } from "./machines.ts";
import { Rows } from "./notation.ts";

/** Which machines a command reaches. */
export const machineRows = once(() => new Rows([machines], MACHINE_ROLES));

/** Which files it changes. */
export const changeRows = once(() => new Rows([changes]));
