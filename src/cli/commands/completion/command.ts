/** `buddy completion`: a completion script for the shell. */
import bash from "../../../../templates/completion/buddy.bash" with { type: "text" };
import fish from "../../../../templates/completion/buddy.fish" with { type: "text" };
import zsh from "../../../../templates/completion/buddy.zsh" with { type: "text" };
import { EXIT } from "../../../lib/errors.ts";
import { print } from "../../../lib/output.ts";
import { defineCommand } from "../../command.ts";

const SCRIPTS: Readonly<Record<string, string>> = { bash, zsh, fish };

export const command = defineCommand({
  name: "completion",
  args: {
    shell: { type: "positional", choices: ["bash", "zsh", "fish"], description: "the shell to print the script for" },
  },
  examples: [
    ['eval "$(buddy completion bash)"', "in ~/.bashrc"],
    ['eval "$(buddy completion zsh)"', "in ~/.zshrc, after compinit"],
    ["buddy completion fish | source", "in ~/.config/fish/config.fish"],
  ],
  async run({ args }) {
    await print([SCRIPTS[args.shell ?? ""] ?? ""]);
    return EXIT.ok;
  },
});
