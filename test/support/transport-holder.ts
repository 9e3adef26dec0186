/**
 * Opens a transport, starts a group there and stays: for tests that kill it in every way. Arguments: options as JSON,
 * seconds.
 */
import type { TargetOptions } from "../../src/targets/target.ts";
import { openTransport } from "../../src/targets/connection/open-transport.ts";

const [options = "{}", seconds = "1000"] = process.argv.slice(2);
const transport = await openTransport(JSON.parse(options) as TargetOptions);
const held = transport.spawn(["sh", "-c", `sleep ${seconds} & sleep ${seconds}`]);
await held.pid;
await transport.run("true");
console.log("ready");
const how = (await Bun.stdin.text()).trim();
if (how === "throw") throw new Error("as wished");
if (how === "exit") process.exit(7);
await transport[Symbol.asyncDispose]();
