/** The four fields every tool that can change something asks of the model. */
import { z } from "zod";

export const declaredFields = {
  risk: z.enum(["low", "medium", "high"]),
  mutation: z.boolean().describe("changes anything"),
  privesc: z.boolean().describe("sudo/su/doas"),
  why: z.string().trim().min(1, "must say why in a few words").describe("reason, shown to the operator"),
};
