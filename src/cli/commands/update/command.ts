/** `buddy update`: replaces this binary with the newest release, verified as install.sh does it. */
import { BuddyError, EXIT } from "../../../lib/errors.ts";
import { jsonText, print } from "../../../lib/output.ts";
import { log } from "../../../lib/log.ts";
import { isTerminal } from "../../../lib/terminal.ts";
import { VERSION } from "../../../lib/version.ts";
import { defineCommand } from "../../command.ts";
import { watchSignals } from "../../signals-and-crashes.ts";

export const command = defineCommand({
  name: "update",
  args: {
    version: { type: "positional", required: false, description: "this version instead of the newest" },
    check: { type: "boolean", description: "only say whether there is a newer version" },
    rollback: { type: "boolean", description: "go back to the version before the last update" },
    json: { type: "boolean", description: "with --check: print as JSON" },
  },
  examples: [
    ["buddy update --check", "is there a newer one?"],
    ["buddy update", "install it; the old binary is kept"],
    ["buddy update --rollback", "go back to the old one"],
  ],
  notes:
    "The checksum and the version are verified, then the binary is replaced in one\n" +
    "step. If a package manager installed buddy, use that instead. buddy never checks\n" +
    "for updates on its own. BUDDY_INSTALL_BASE_URL names a mirror.",
  async run({ args: { version, check, rollback, json }, globals }) {
    if (check && rollback) throw new BuddyError("usage", "--check and --rollback cannot be combined");
    if (json && !check) throw new BuddyError("usage", "--json requires --check");
    if (rollback && version !== undefined) throw new BuddyError("usage", `too many arguments: "${version}"`);
    const { Update, ownExecutable } = await import("./update.ts");
    using signals = watchSignals();
    const update = new Update({
      executable: ownExecutable(),
      current: VERSION,
      env: process.env,
      signal: signals.signal,
      say: globals.quiet ? () => {} : (line) => log.info(line),
      ...(isTerminal(2) && !globals.quiet ? { progress: showProgress } : {}),
    });
    if (rollback) {
      log.info(`rolled back to ${await update.rollback()}`);
      return EXIT.ok;
    }
    const found = await update.findRelease(version?.replace(/^v/, ""));
    if (check) {
      const { newest, state } = found;
      if (json) await print([jsonText({ current: VERSION, newest, update: state === "newer" })]);
      else await print([`${found.words}\n`]);
      return EXIT.ok;
    }
    if (found.state === "newer" || found.state === "differs") log.info(await update.install(found));
    else log.info(found.words);
    return EXIT.ok;
  },
});

/** One line that changes, and goes away when the download has ended. */
function showProgress(done: number, of: number | undefined): void {
  const mb = (bytes: number) => (bytes / 1e6).toFixed(1);
  const text = of === done ? "" : `downloading ${mb(done)}${of === undefined ? "" : ` of ${mb(of)}`} MB`;
  void Bun.stderr.write(`\r\u001b[K${text}`);
}
