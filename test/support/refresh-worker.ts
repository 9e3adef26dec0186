/** One of several processes that refresh the same sign-in: refresh-worker.ts AUTH_JSON ISSUER TIMES. */
import { OpenAiDevice } from "../../src/auth/openai-device.ts";
import { AuthStore } from "../../src/auth/store.ts";
import { tokenSource } from "../../src/auth/sign-in.ts";

const [path = "", issuer = "", times = "0"] = process.argv.slice(2);
const source = tokenSource(new AuthStore(path, console.error), new OpenAiDevice(issuer));
let { accessToken: refused } = await source.token();
for (let i = 0; i < Number(times); i += 1) ({ accessToken: refused } = await source.token({ refused }));
console.log(`${times} refreshed`);
