/** `buddy mcp`: the servers of tools, whether they work, and adding or removing one. */
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { defineCommand } from "../../command.ts";

export const command = defineCommand({
  name: "mcp",
  args: {
    action: {
      type: "positional",
      required: false,
      choices: ["list", "check", "add", "remove", "login", "logout"],
      description: "list (default), check, add, remove, or sign in to a server and out of it",
    },
    name: { type: "positional", required: false, description: "the server; with check, all if omitted" },
    command: { type: "positional", required: false, rest: true, description: "with add: -- PROGRAM ARGUMENTS…" },
    url: { type: "string", valueHint: "URL", description: "with add: the address of a server instead of a program" },
    env: { type: "string", valueHint: "NAME=VALUE", description: "with add: a variable for the program" },
    header: { type: "string", valueHint: "NAME=VALUE", description: "with add --url: a header; ${VAR} is replaced" },
    json: { type: "boolean", description: "list or check as JSON" },
  },
  examples: [
    ["buddy mcp", "the servers of your configuration"],
    ["buddy mcp check", "start each that is enabled, and list its tools, resources and prompts"],
    ["buddy mcp add files -- mcp-server-filesystem /srv", "a program"],
    ["buddy mcp add tickets --url https://tickets.example.com/mcp", "an address"],
    ["buddy mcp remove lab", "remove one"],
  ],
  async run({ args, globals }) {
    const { action = "list", name } = args;
    const words = args._.slice(2);
    if (action !== "add") {
      if (words[0] !== undefined) throw new BuddyError("usage", `too many arguments: "${words[0]}"`);
      const flag = (["url", "env", "header"] as const).find((name) => args[name] !== undefined);
      if (flag !== undefined) throw new BuddyError("usage", `--${flag} works only with buddy mcp add`);
    }
    if (name === undefined && action !== "list" && action !== "check")
      throw new BuddyError("usage", `buddy mcp ${action} needs the name of a server`, {
        hint: action === "add" ? "For example: buddy mcp add NAME -- PROGRAM ARGUMENTS" : "buddy mcp lists them",
      });
    if (action === "list" && name !== undefined) throw new BuddyError("usage", `too many arguments: "${name}"`);
    const { addServer, checkServers, listServers, removeServer, signIn, signOut } = await import("./servers.ts");
    switch (action) {
      case "add":
        await addServer(globals, name ?? "", { words, url: args.url, env: args.env, header: args.header });
        return EXIT.ok;
      case "remove":
        await removeServer(globals, name ?? "");
        return EXIT.ok;
      case "login":
        await signIn(globals, name ?? "");
        return EXIT.ok;
      case "logout":
        await signOut(globals, name ?? "");
        return EXIT.ok;
      case "check":
        return checkServers(globals, name, args.json === true);
      default:
        return listServers(globals, args.json === true);
    }
  },
});
