/** Machines with a network, a host name and mounts of their own. */
import { afterAll, beforeAll, expect } from "bun:test";
import { fileAccess } from "../../../src/targets/files/files.ts";
import { SshTransport } from "../../../src/targets/connection/ssh.ts";
import { type Machine, MACHINES, startMachine } from "../../support/lab.ts";
import { until } from "../../support/until.ts";
import { needs } from "../../support/needs.ts";

const { describe, test } = await needs("linux", "root", "sshd", "ip");

async function onMachine<T>(machine: Machine, work: () => Promise<T>): Promise<T> {
  const before = process.env["PATH"];
  process.env["PATH"] = machine.env.PATH;
  try {
    return await work();
  } finally {
    process.env["PATH"] = before;
  }
}

const open = (destination: string) => SshTransport.open({ destination, interactive: false });

describe("a machine with a small disk", () => {
  let machine: Machine;
  beforeAll(async () => {
    machine = await startMachine({ name: "small-disk", ...MACHINES["small-disk"] });
  });
  afterAll(() => machine[Symbol.asyncDispose]());

  test("it has its own name, and nothing is lost when its disk is full", async () => {
    await onMachine(machine, async () => {
      await using transport = await open("small-disk");
      expect(transport.facts.host).toBe("small-disk");
      const files = fileAccess(transport, { cwd: () => "/mnt" });
      machine.run("yes old | head -c 20000 >/mnt/file; ln /mnt/file /mnt/link");
      await expect(files.write("file", Buffer.alloc(36_000, "x"))).rejects.toThrow(
        "the disk is full; nothing was changed",
      );
      expect((await files.read("link")).text).toBe("old\n".repeat(5000));
      expect(machine.run("ls -A /mnt")).toBe("file\nlink\n");
    });
  });

  test("its cable is pulled and put back: the connection is made again", async () => {
    await onMachine(machine, async () => {
      await using transport = await open("small-disk");
      machine.link(false);
      await until(async () => !(await transport.answers(300)), "the silence is noticed");
      machine.link(true);
      await transport.ensure();
      expect((await transport.run("hostname")).stdout.toString()).toBe("small-disk\n");
    });
  });
});
