/** Holds a session until it is killed: session-holder.ts CWD STATE ID. */
import { SessionStore } from "../../src/session/store.ts";

const [cwd = "", stateDirectory = "", id = ""] = process.argv.slice(2);
const store = new SessionStore({ cwd, stateDirectory, redact: (text) => text, problem: console.error });
const { log } = await store.resume(id);
console.log(`held ${log.id}`);
setInterval(() => {}, 60_000);
