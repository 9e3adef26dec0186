/** The parts of zod/mini that settings are made of, in a chunk of their own; schemas are made when a value is read. */
import * as z from "zod/mini";

export const zod = {
  array: z.array,
  boolean: z.boolean,
  enum: z.enum,
  gte: z.gte,
  int: z.int,
  literal: z.literal,
  lte: z.lte,
  minLength: z.minLength,
  number: z.number,
  optional: z.optional,
  record: z.record,
  regex: z.regex,
  strictObject: z.strictObject,
  string: z.string,
  union: z.union,
  unknown: z.unknown,
};

export type Zod = typeof zod;
export type Schema = z.ZodMiniType;
