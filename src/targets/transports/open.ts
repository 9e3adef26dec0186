/** From options to a transport that has reached its machine: never another one than was asked for. */
import type { TargetOptions, Transport } from "../target.ts";
import { LocalTransport } from "./local.ts";

export async function openTransport(options: TargetOptions): Promise<Transport> {
  options.signal?.throwIfAborted();
  const cwd = options.cwd === undefined ? {} : { cwd: options.cwd };
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  if (options.container === undefined) return await openHost(options, cwd);
  const { ContainerTransport } = await import("./container.ts");
  const base = await openHost(options, {});
  return await ContainerTransport.open({ name: options.container, base, ...cwd, ...signal });
}

async function openHost(options: TargetOptions, cwd: { cwd?: string }): Promise<Transport> {
  if (options.ssh === undefined) return new LocalTransport({ secretEnv: options.secretEnv, ...cwd });
  const [{ SshTransport }, { canAsk }] = await Promise.all([import("./ssh.ts"), import("./terminal.ts")]);
  return await SshTransport.open({
    destination: options.ssh,
    secretEnv: options.secretEnv,
    interactive: canAsk(),
    ...cwd,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
