/** Holds a session until it is killed: session-holder.ts CWD STATE ID. */
import { SessionStore } from "../../src/session/store.ts";

const [cwd = "", stateDirectory = "", id = ""] = process.argv.slice(2);
const store = new SessionStore({ cwd, stateDirectory, redact: (text) => text, problem: console.error });
const { log } = await store.resume(id);
console.log(`held ${log.id}`);
// Kept in use: a log that nobody can reach any more is collected, and its lock with it.
setInterval(() => void log.id, 60_000);
