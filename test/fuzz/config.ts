/** Configuration files: settings, or an error that names file and line; never a crash, never a key in a message. */
import { readSettings } from "../../src/config/read-settings.ts";
import {
  hookSettings,
  machineRuleSettings,
  mcpSettings,
  PROFILE_SETTINGS,
  SETTINGS,
  targetSettings,
} from "../../src/config/schema.ts";
import { BuddyError } from "../../src/lib/errors.ts";
import { SECRETS } from "../support/planted-secrets.ts";
import type { Seeded } from "../support/seeded.ts";
import type { Property } from "./property.ts";

const FILE = "~/.config/buddy/buddy.toml";
const KEY = SECRETS.plain;
const KEYS = [
  ...Object.values(SETTINGS).flatMap((section) => Object.keys(section)),
  ...[PROFILE_SETTINGS, mcpSettings(), targetSettings(), machineRuleSettings(), hookSettings()].flatMap((table) =>
    Object.keys(table),
  ),
  "unknown",
  "__proto__",
  "constructor",
  '"quoted key"',
  "a.b.c",
  "''",
];
const SECTIONS = [
  ...Object.keys(SETTINGS),
  "models.x",
  'models."with.dot"',
  "mcp.x",
  "targets.x",
  'rules."prod*"',
  "api",
  "toools",
  "__proto__",
];
const VALUES = [
  "true",
  "false",
  "0",
  "-1",
  "1e999",
  "nan",
  "9007199254740993",
  '""',
  '"text"',
  "'''\nlong\n'''",
  '"""\nlong\\\n"""',
  '"10m"',
  '"${HOME}"',
  "[]",
  "[1, 2",
  '["a", 1]',
  '[["a"], ["b"]]',
  "{}",
  '{ a = 1, b = "x" }',
  "{ a = { b = { c = 1 } } }",
  "1979-05-27T07:32:00Z",
  "07:32:00",
  "",
  "\u0000",
  '"\\u0000"',
  '"\\ud800"',
  "yes",
  '"(?<=["',
];
const NOISE = [
  "[",
  "]",
  "[[",
  "]]",
  "=",
  ".",
  '"',
  "'",
  "#",
  "\n",
  "\r\n",
  "\r",
  "\t",
  "\ufeff",
  "\\",
  "{",
  "}",
  ",",
  "ä",
  "\u0001",
];

function line(random: Seeded): string {
  switch (random.below(8)) {
    case 0:
      return `[${random.of(SECTIONS)}]`;
    case 1:
      return `[[${random.of(["model_rules", "hooks", ...SECTIONS])}]]`;
    case 2:
      return random.text(NOISE, 6);
    case 3:
      return `api_key = ${random.of([`"${KEY}"`, `'${KEY}'`, `["${KEY}"]`, `"${KEY}`, `{ x = "${KEY}" }`])}`;
    default:
      return `${random.of(KEYS)} = ${random.of(VALUES)}`;
  }
}

export const CONFIG: readonly Property[] = [
  {
    name: "settings, or an error with file and line and without the key",
    usual: 10_000,
    make: (random) => Array.from({ length: 1 + random.below(8) }, () => line(random)).join("\n"),
    async wrong(text) {
      try {
        const { warnings } = readSettings(text, FILE);
        return warnings.map(unplaced).find((why) => why !== undefined);
      } catch (error) {
        if (!(error instanceof BuddyError)) throw error;
        if (error.code !== "config") return `code ${error.code}`;
        const said = `${error.message}\n${error.hint ?? ""}`;
        if (said.includes(KEY)) return `the key is in the message: ${said}`;
        return unplaced(error.message);
      }
    },
  },
];

/** Each line says where it is about, or belongs to the one before. */
function unplaced(message: string): string | undefined {
  if (message.includes(KEY)) return `the key is in the message: ${message}`;
  return new RegExp(`^${FILE.replace(/[.]/g, "\\.")} line \\d+`).test(message)
    ? undefined
    : `no file and line: ${message}`;
}
