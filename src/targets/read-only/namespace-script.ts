/** The script that makes the read-only namespace of the second lock. */
import namespaceScript from "../../../templates/read-only-namespace.sh" with { type: "text" };
import { lean, OWN_DIRECTORY } from "../script-line.ts";

export const NAMESPACE = lean(`${OWN_DIRECTORY}\n${namespaceScript}`);
