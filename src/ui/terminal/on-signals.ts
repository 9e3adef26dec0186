/** Listens to signals until the returned function is called; those that were ignored at the start stay ignored. */
import { isIgnored } from "../../lib/ignored-signals.ts";

export function onSignals(handlers: Readonly<Partial<Record<NodeJS.Signals, () => void>>>): () => void {
  const wanted = Object.entries(handlers).filter(([signal]) => !isIgnored(signal));
  for (const [signal, handler] of wanted) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of wanted) process.off(signal, handler);
  };
}
