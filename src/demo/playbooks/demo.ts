/** The built-in `demo` model: a script that understands a few requests, uses the real tools and tells what they said. */
import type { Playbook, ScriptedReply } from "../playbook.ts";
import type { ScriptedRequest } from "../server/read-request.ts";
import { directivesIn, ownWords, planFor } from "./directives.ts";
import { exampleOf } from "./example-of.ts";
import { GUIDED_TASKS } from "./guided-tasks.ts";
import { follow } from "./plan.ts";
import { lastPrompt, roundsOf } from "./rounds.ts";

export const demo: Playbook = {
  reply: (request) => {
    const reply = answerTo(request);
    if (!request.schema || reply.toolCalls) return reply;
    return { ...reply, text: JSON.stringify(exampleOf(request.schema, reply.text ?? "")) };
  },
};

function answerTo(request: ScriptedRequest): ScriptedReply {
  const prompt = lastPrompt(request);
  if (
    request.tools.length === 0 &&
    /compact|summar/i.test(request.messages[0]?.role === "system" ? request.messages[0].content : "")
  ) {
    return { text: summary(prompt) };
  }
  const directives = directivesIn(prompt);
  const own = ownWords(prompt);
  const plans =
    directives.length > 0
      ? directives.map(planFor)
      : GUIDED_TASKS.filter((task) => task.about.test(own)).map((task) => task.plan);
  return plans.length > 0 ? follow(plans, roundsOf(request), request) : { text: HELP };
}

const HELP = `I am buddy's built-in demo model: a script, not a language model. I understand a few things, do them with the real tools, and tell you what came out.

- \`run: <command>\` runs a command (\`background: <command>\` detached)
- \`read: <path>\` reads a file
- \`fetch: <url>\` gets a web page
- \`search: <words>\` searches the web
- or ask about the disk, the memory, the processes, or this repository

For real conversations choose a model: \`buddy login\`, a key in BUDDY_API_KEY, or a local server. \`buddy doctor\` shows what works.`;

/** The log of a session as the lines that say what was asked and done. */
function summary(log: string): string {
  const lines = log.split("\n").flatMap((line, at, all) => {
    if (all[at - 1] === "## user") return `- asked: ${line.slice(0, 200)}`;
    return line.startsWith("calls ") ? `- ${line.slice(0, 200)}` : [];
  });
  return ["Summary made by the demo script:", ...lines.slice(-40)].join("\n");
}
