/** A program on a terminal of its own, for what is asked and answered there. */
import { until } from "./until.ts";

export interface OnTerminal {
  readonly child: Bun.Subprocess;
  /** Everything written to the terminal so far. */
  text(): string;
  type(keys: string): void;
  sees(what: string | RegExp): Promise<void>;
}

export function onTerminal(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd?: string,
): OnTerminal {
  let text = "";
  const decoder = new TextDecoder();
  const child = Bun.spawn([...argv], {
    env,
    ...(cwd === undefined ? {} : { cwd }),
    terminal: { cols: 200, rows: 50, data: (_, bytes) => void (text += decoder.decode(bytes, { stream: true })) },
  });
  return {
    child,
    text: () => text,
    type: (keys) => void child.terminal?.write(keys),
    async sees(what) {
      await until(() => (typeof what === "string" ? text.includes(what) : what.test(text)), `${what} on the terminal`);
    },
  };
}
