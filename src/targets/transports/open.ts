/** From options to a transport that has reached its machine: never another one than was asked for. */
import type { TargetOptions, Transport } from "../target.ts";
import { LocalTransport } from "./local.ts";

export async function openTransport(options: TargetOptions): Promise<Transport> {
  options.signal?.throwIfAborted();
  const where = options.container === undefined && options.cwd !== undefined ? { cwd: options.cwd } : {};
  const signalled = options.signal === undefined ? {} : { signal: options.signal };
  if (options.ssh === undefined) return new LocalTransport({ secretEnv: options.secretEnv, ...where });
  const [{ SshTransport }, { canAsk }] = await Promise.all([import("./ssh.ts"), import("./terminal.ts")]);
  return await SshTransport.open({
    destination: options.ssh,
    secretEnv: options.secretEnv,
    interactive: canAsk(),
    ...where,
    ...signalled,
  });
}
