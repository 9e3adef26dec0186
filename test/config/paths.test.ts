/** Where files are kept, and how paths are read and shown. */
import { expect, test } from "bun:test";
import {
  buddyPaths,
  expandHome,
  requirePaths,
  shortenHome,
  describeOrigin,
  shownPath,
} from "../../src/config/paths.ts";
import { fileError } from "../../src/lib/files.ts";
import { buddyError } from "../support/errors.ts";

test("below XDG_CONFIG_HOME or ~/.config, or nowhere", () => {
  expect(buddyPaths({ HOME: "/tmp" })?.auth).toBe("/tmp/.config/buddy/auth.json");
  expect(buddyPaths({ HOME: "/no/such/home" })).toBeUndefined();
  expect(buddyPaths({ HOME: "/home/u", XDG_CONFIG_HOME: "/x" })?.trust).toBe("/x/buddy/trust.json");
  expect(buddyPaths({ HOME: "relative" })).toBeUndefined();
  expect(() => requirePaths({}, "it")).toThrow(buddyError("config", "HOME"));
});

test("~ is read and written", () => {
  expect(expandHome("~/k", { HOME: "/home/u" })).toBe("/home/u/k");
  expect(expandHome("~", { HOME: "/home/u" })).toBe("/home/u");
  expect(expandHome("~other/k", { HOME: "/home/u" })).toBe("~other/k");
  expect(() => expandHome("~/k", {})).toThrow(buddyError("config", "HOME", "~/k"));
  expect(shortenHome("/home/u/k", { HOME: "/home/u" })).toBe("~/k");
  expect(shortenHome("/home/user2/k", { HOME: "/home/u" })).toBe("/home/user2/k");
  expect(shortenHome("/k", { HOME: "/" })).toBe("/k");
});

test("origins end a sentence", () => {
  const place = { cwd: "/srv", env: { HOME: "/home/u" } };
  expect(describeOrigin({ kind: "default" }, place)).toBe("by default");
  expect(describeOrigin({ kind: "env", name: "X" }, place)).toBe("from X");
  expect(describeOrigin({ kind: "flag", flag: "--x" }, place)).toBe("from --x");
  expect(describeOrigin({ kind: "file", file: "/srv/buddy.toml", line: 3 }, place)).toBe("from ./buddy.toml line 3");
  expect(describeOrigin({ kind: "file", file: "/home/u/b.toml", line: undefined }, place)).toBe("from ~/b.toml");
  expect(shownPath("/srv/sub/b.toml", place)).toBe("/srv/sub/b.toml");
});

test("why a file cannot be used, in words", () => {
  expect(fileError(Object.assign(new Error("x"), { code: "EROFS" }))).toBe("the file system is read-only");
  expect(fileError(new Error("odd"))).toBe("odd");
  expect(fileError("text")).toBe("text");
});
