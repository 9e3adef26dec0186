/** Skills: what is a valid one, where they come from, what needs trust, and what the model gets. */
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  findSkills,
  skillInstructions,
  type SkillQuestion,
  skillSource,
  type SkillTrust,
} from "../../../src/extend/skills/find-skills.ts";
import { skillPlaces } from "../../../src/extend/skills/skill-places.ts";
import { checkSkill, parseSkill } from "../../../src/extend/skills/skill.ts";

interface World extends Disposable {
  readonly home: string;
  readonly repository: string;
  write(path: string, text: string): string;
  /** A skill with that name in that directory. */
  skill(directory: string, name: string, more?: string, body?: string): string;
  find(trust?: Partial<SkillTrust>): ReturnType<typeof findSkills>;
}

function world(): World {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "buddy-skills-")));
  const [home, repository] = [join(dir, "home"), join(dir, "repo")];
  mkdirSync(join(repository, ".git"), { recursive: true });
  mkdirSync(home);
  const write = (path: string, text: string): string => {
    const full = join(dir, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  };
  return {
    home,
    repository,
    write,
    skill: (directory, name, more = "", body = "Do it.") => {
      write(`${directory}/${name}/SKILL.md`, `---\nname: ${name}\ndescription: about ${name}\n${more}---\n${body}\n`);
      return join(dir, directory, name);
    },
    find: (trust = {}) =>
      findSkills(skillPlaces(join(home, ".config/buddy"), home, repository), [], {
        remembered: () => undefined,
        remember: () => undefined,
        ...trust,
      }),
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  };
}

function head(fields: string, body = "Text."): string {
  return `---\n${fields}\n---\n${body}`;
}

describe("a SKILL.md", () => {
  test.each([
    ["no name", head("description: x"), "name is missing"],
    ["no description", head("name: s"), "description is missing"],
    ["capitals in the name", head("name: S\ndescription: x"), "lower-case"],
    ["two hyphens in the name", head("name: a--b\ndescription: x"), "single hyphens"],
    ["a long name", head(`name: ${"a".repeat(65)}\ndescription: x`), "at most 64"],
    ["another name than its folder", head("name: other\ndescription: x"), "name of its folder"],
    ["a long description", head(`name: s\ndescription: ${"x".repeat(1025)}`), "at most 1024"],
    ["a long compatibility", head(`name: s\ndescription: x\ncompatibility: ${"x".repeat(501)}`), "at most 500"],
    ["no text", head("name: s\ndescription: x", ""), "no instructions"],
    ["broken YAML", head("name: [s\ndescription: x"), "not valid YAML"],
    ["a list for front matter", head("- a\n- b"), "keys and values"],
    ["front matter that is never closed", "---\nname: s\n", "no closing"],
    ["control characters", head('name: s\ndescription: "a\\e[2Jb"'), "control characters"],
    ["another mode", head("name: s\ndescription: x\nmode: careful"), "mode must be read-only"],
    ["a bad parameter name", head("name: s\ndescription: x\nparameters: { A b: c }"), "not a valid parameter"],
    ["a parameter of a strange kind", head("name: s\ndescription: x\nparameters: { a: [1] }"), "parameter a"],
    [
      "a default that is not a choice",
      head("name: s\ndescription: x\nparameters: { a: { default: z, choices: [x] } }"),
      "choices",
    ],
    ["a placeholder without parameter", head("name: s\ndescription: x\nparameters: { a: b }", "{{a}} {{c}}"), "{{c}}"],
    ["an endless front matter", head(`name: s\ndescription: x\nmetadata: ${"x".repeat(20_000)}`), "16384"],
  ])("with %s is not valid", (_, text, why) => {
    const { skill, problems } = parseSkill(text, "s");
    expect(skill).toBeUndefined();
    expect(problems.join("\n")).toContain(why);
  });

  test("hostile YAML neither hangs nor throws", () => {
    const aliases = Array.from({ length: 60 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i},*a${i},*a${i}]`).join("\n");
    for (const text of [`a0: &a0 [x]\n${aliases}`, `a: ${"[".repeat(5000)}`, `a: ${"{a: ".repeat(3000)}`, "? - x\n: y"])
      expect(parseSkill(head(text), "s").skill).toBeUndefined();
  });

  test("with Windows line ends, a byte order mark and fields of others is valid", () => {
    const text = `\uFEFF${head("name: s\ndescription: x\nlicense: MIT\nmetadata: { a: b }\nallowed-tools: Bash\ncolour: red")}`;
    const { skill, warnings } = parseSkill(text.replaceAll("\n", "\r\n"), "s");
    expect(skill).toMatchObject({ name: "s", description: "x", body: "Text." });
    expect(skill?.runbook).toBeUndefined();
    expect(warnings).toHaveLength(2);
  });

  test("with parameters is a runbook, in both forms", () => {
    const map = head(
      "name: s\ndescription: x\non: [web*, db1]\nmode: read-only\nparameters:\n  a: first\n  b: { default: 3, choices: ['3', '4'] }",
    );
    const list = head(
      "name: s\ndescription: x\non: [web*, db1]\nmode: read-only\nparameters:\n  - name: a\n    description: first\n  - { name: b, default: 3, choices: ['3', '4'] }",
    );
    const expected = {
      on: ["web*", "db1"],
      readOnly: true,
      parameters: [
        { name: "a", description: "first", required: true, choices: [], target: false },
        { name: "b", description: "", required: false, fallback: "3", choices: ["3", "4"], target: false },
      ],
    };
    expect(parseSkill(map, "s").skill?.runbook).toEqual(expected);
    expect(parseSkill(list, "s").skill?.runbook).toEqual(expected);
  });
});

describe("the folder of a skill", () => {
  test.each([
    ["a link to a file outside", (folder: string) => symlinkSync("/etc/passwd", join(folder, "x"))],
    ["a link to a directory outside", (folder: string) => symlinkSync("/etc", join(folder, "x"))],
    ["a link that leads nowhere", (folder: string) => symlinkSync("/nowhere", join(folder, "x"))],
    ["a pipe", (folder: string) => void Bun.spawnSync(["mkfifo", join(folder, "x")])],
  ])("with %s is refused as a whole", async (_, spoil) => {
    using place = world();
    spoil(place.skill("home/.agents/skills", "deploy"));
    const { skills, notices } = await place.find();
    expect(skills).toEqual([]);
    expect(notices.join("\n")).toContain("deploy");
    expect(checkSkill(join(place.home, ".agents/skills/deploy")).problems).toHaveLength(1);
  });

  test("may be a link in the operator's own directory, but not out of a repository", async () => {
    using place = world();
    const real = place.skill("elsewhere", "shared");
    mkdirSync(join(place.home, ".agents/skills"), { recursive: true });
    mkdirSync(join(place.repository, ".agents/skills"), { recursive: true });
    symlinkSync(real, join(place.home, ".agents/skills/shared"));
    // One that leads nowhere does not take the others with it.
    symlinkSync("loop", join(place.home, ".agents/skills/loop"));
    expect((await place.find()).skills.map(({ name }) => name)).toEqual(["shared"]);
    rmSync(join(place.home, ".agents/skills/shared"));
    symlinkSync(real, join(place.repository, ".agents/skills/shared"));
    const { skills, notices } = await place.find({ ask: () => Promise.resolve(true) });
    expect(skills).toEqual([]);
    expect(notices.join("\n")).toContain("out of the repository");
  });

  test("is checked for `buddy skills check`", () => {
    using place = world();
    const folder = place.skill("x", "deploy");
    expect(checkSkill(folder)).toEqual({ name: "deploy", problems: [], warnings: [], files: 1 });
    expect(checkSkill(join(place.repository, "none")).problems).toHaveLength(1);
    writeFileSync(join(folder, "SKILL.md"), Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff]));
    expect(checkSkill(folder).problems.join()).toContain("UTF-8");
  });
});

describe("skills of a repository", () => {
  test("are skipped with a notice where no one can be asked", async () => {
    using place = world();
    place.skill("repo/.agents/skills", "theirs");
    place.skill("home/.config/buddy/skills", "mine");
    const { skills, notices } = await place.find();
    expect(skills.map(({ name }) => name)).toEqual(["mine"]);
    expect(notices.join("\n")).toContain("theirs");
  });

  test("are asked about once, and again when any file of the folder changes", async () => {
    using place = world();
    const folder = place.skill("repo/.buddy/skills", "theirs");
    const script = place.write("repo/.buddy/skills/theirs/scripts/go.sh", "echo hi\n");
    const answers = new Map<string, boolean>();
    const asked: SkillQuestion[] = [];
    const trust: SkillTrust = {
      remembered: (path, hash) => answers.get(`${path} ${hash}`),
      remember: (path, hash, trusted) => void answers.set(`${path} ${hash}`, trusted),
      ask: (question) => {
        asked.push(question);
        return Promise.resolve(true);
      },
    };
    expect((await place.find(trust)).skills).toHaveLength(1);
    expect((await place.find(trust)).skills).toHaveLength(1);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.skills[0]).toMatchObject({ folder, files: 2 });
    writeFileSync(script, "echo ho\n");
    await place.find(trust);
    expect(asked).toHaveLength(2);
    chmodSync(script, 0o755);
    await place.find(trust);
    expect(asked).toHaveLength(3);
    place.write("repo/.buddy/skills/theirs/new", "");
    await place.find(trust);
    expect(asked).toHaveLength(4);
  });

  test("that the operator refused are not used and not asked about again", async () => {
    using place = world();
    place.skill("repo/.agents/skills", "theirs");
    let asked = 0;
    const trust = {
      remembered: () => false,
      ask: () => {
        asked++;
        return Promise.resolve(true);
      },
    };
    const { skills, notices } = await place.find(trust);
    expect({ skills, notices, asked }).toEqual({ skills: [], notices: [], asked: 0 });
  });

  test("never take the name of one of the operator's own", async () => {
    using place = world();
    place.skill("repo/.agents/skills", "deploy", "", "evil");
    place.skill("home/.agents/skills", "deploy", "", "good");
    const { skills, notices } = await place.find({ ask: () => Promise.resolve(true) });
    expect(skills.map(({ body }) => body)).toEqual(["good"]);
    expect(notices.join("\n")).toContain("same name");
  });

  test("that changed after they were trusted are not loaded", async () => {
    using place = world();
    const folder = place.skill("repo/.agents/skills", "theirs");
    const { skills } = await place.find({ ask: () => Promise.resolve(true) });
    const source = skillSource(skills, () => undefined);
    expect(await source.load("theirs", undefined)).toMatchObject({ kind: "loaded", text: "Do it." });
    writeFileSync(join(folder, "extra.md"), "more");
    expect(await source.load("theirs", undefined)).toMatchObject({ kind: "refused" });
    expect(await source.load("theirs", "extra.md")).toMatchObject({ kind: "refused" });
  });
});

describe("the model", () => {
  test("gets names and descriptions only, bounded, and the same bytes each time", async () => {
    using place = world();
    for (let i = 0; i < 150; i++) place.skill("home/.agents/skills", `skill-${i}`, "", `secret body ${i}`);
    const { skills } = await place.find();
    const text = skillInstructions(skills);
    expect(text).toBe(skillInstructions((await place.find()).skills));
    expect(text).toContain("skill-0: about skill-0");
    expect(text).not.toContain("secret body");
    const long = skills.map((skill) => ({ ...skill, description: "x".repeat(1000) }));
    expect(skillInstructions(long).length).toBeLessThan(9_000);
  });

  test("loads the text, hears of the files, and reads one of them", async () => {
    using place = world();
    const folder = place.skill("home/.agents/skills", "deploy");
    place.write("home/.agents/skills/deploy/scripts/go.sh", "echo go\n");
    const { skills } = await place.find();
    const local = skillSource(skills, () => undefined);
    const loaded = await local.load("deploy", undefined);
    expect(loaded).toMatchObject({ kind: "loaded", text: "Do it." });
    expect(loaded.kind === "loaded" && loaded.notes.join("\n")).toContain(folder);
    expect(await local.load("deploy", "scripts/go.sh")).toMatchObject({ kind: "loaded", text: "echo go\n" });
    const remote = await skillSource(skills, () => "ssh web1").load("deploy", undefined);
    expect(remote.kind === "loaded" && remote.notes.join("\n")).toContain("not on the target (ssh web1)");
  });

  test.each(["../../../../etc/passwd", "/etc/passwd", "scripts/../../other/SKILL.md", "scripts", "", "nothing", "."])(
    "does not get out of the folder with %p",
    async (file) => {
      using place = world();
      place.skill("home/.agents/skills", "deploy");
      place.skill("home/.agents/skills", "other");
      place.write("home/.agents/skills/deploy/scripts/go.sh", "echo go\n");
      const { skills } = await place.find();
      expect(await skillSource(skills, () => undefined).load("deploy", file)).toMatchObject({ kind: "refused" });
    },
  );
});
