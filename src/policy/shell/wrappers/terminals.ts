/** tmux and screen: commands that start in, or are typed into, another terminal. */
import { type Field, field } from "../syntax/field.ts";
import { leadingOptions } from "./options.ts";
import type { Wrapped } from "./wrapped.ts";

const STARTS =
  /^(?:new(?:-session|-window|w)?|neww|split-window|splitw|respawn-pane|respawnp|respawn-window|respawnw|run-shell|run|if-shell|if|display-popup|popup|pipe-pane|pipep)$/;
const TYPES = /^(?:send-keys|send)$/;

export function tmuxRuns(argv: readonly Field[]): Wrapped | undefined {
  const global = leadingOptions(argv, 1, { flags: "2CDlNuvV", values: "cfLST" });
  const scripts: { text: string; own: true }[] = [];
  const tail = argv.slice(global.at);
  let from = 0;
  for (let i = 0; i <= tail.length; i++) {
    if (i < tail.length && tail[i]?.value !== ";") continue;
    const words = tail.slice(from, i);
    from = i + 1;
    const verb = words[0]?.value ?? "";
    if (!STARTS.test(verb) && !TYPES.test(verb)) continue;
    const options = leadingOptions(words, 1, {
      flags: "AdDEPXkbBCfhvZoOIlMRHK",
      values: verb.startsWith("send") ? "tN" : "censtxyFwTpSm",
    });
    const given = words.slice(options.at).map((word) => word.value);
    const text = TYPES.test(verb)
      ? given
          .map((word) => (/^(?:Enter|C-m|C-j|KPEnter)$/.test(word) ? "\n" : word))
          .join(verb === "send-keys" ? " " : " ")
      : given.join(" ");
    if (text.trim() !== "") scripts.push({ text, own: true });
  }
  return scripts.length === 0 ? undefined : { harmless: false, scripts };
}

export function screenRuns(argv: readonly Field[]): Wrapped {
  const options = leadingOptions(argv, 1, { flags: "aADdmqrRUvx", values: "cehLpsSTtX" });
  const typed = options.seen.get("X")?.value;
  if (typed === "stuff" || typed === "exec") {
    const text = argv
      .slice(options.at)
      .map((word) => word.value)
      .join(" ");
    return { harmless: false, scripts: [{ text: text.replace(/\\[nr]|\^M/g, "\n"), own: true }] };
  }
  const inner = argv.slice(options.at);
  return inner.length === 0
    ? { harmless: false }
    : { harmless: false, commands: [inner.map((word) => field(word.value, word.source))] };
}
