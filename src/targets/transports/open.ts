/** From options to a transport that has reached its machine. */
import type { TargetOptions, Transport } from "../target.ts";
import { LocalTransport } from "./local.ts";

export async function openTransport(options: TargetOptions): Promise<Transport> {
  options.signal?.throwIfAborted();
  return new LocalTransport({
    secretEnv: options.secretEnv,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
}
