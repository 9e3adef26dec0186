import { expect, test } from "bun:test";
import { namedMachines } from "../../../src/policy/shell/named-machines.ts";

const named = (text: string): string[] => namedMachines([{ words: text.split(" ") }]);

test("a machine whose name is a number was taken for the value of ssh -M, and its rules did not hold", () => {
  expect(named("ssh -M 10 touch x")).toEqual(["10"]);
  expect(named("autossh -M 0 web1 touch x")).toEqual(["web1"]);
});
