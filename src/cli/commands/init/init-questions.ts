/** The questions of `buddy init` on a terminal. */
import { BuddyError } from "../../../lib/errors.ts";
import { interrupted, setupQuestions } from "../../../ui/questions/setup-questions.ts";
import type { InitAnswers } from "./command.ts";
import { connectModel } from "./connect-model.ts";

export async function askInitQuestions(): Promise<InitAnswers> {
  const questions = setupQuestions();
  if (questions === undefined) throw new BuddyError("usage", "there is no terminal to ask on");
  questions.say("Let's set up buddy. You can edit the file later.", "");
  const connected = await connectModel(process.env, questions, { listsModels: true });
  if (connected === undefined) throw interrupted();
  if (connected.answered !== "") questions.say(`${questions.style.ok("●")} ${connected.answered}`, "");
  const autoApprove = await questions.choose<InitAnswers["autoApprove"]>(
    "Which commands may buddy run without asking?",
    [
      { value: "read-only", label: "Read-only commands", found: "recommended" },
      { value: "developer", label: "Also everyday build and git commands" },
      { value: "operator", label: "Also read-only commands that use your credentials: kubectl get, aws describe-…" },
      { value: "none", label: "None: ask every time" },
    ],
    "leave, nothing is written",
  );
  if (autoApprove === undefined) throw interrupted();
  const name = await questions.line("tmux session name (optional):", (text) =>
    /^[A-Za-z0-9_-]{0,32}$/.test(text) ? undefined : "letters, digits, - and _, at most 32",
  );
  if (name === undefined) throw interrupted();
  questions.say(`${questions.style.ok("●")} All set`);
  return { ...connected, autoApprove, name };
}
