/** What happens with an error that no one caught: one handler at a time, so that no two of them race for the exit. */
type CrashHandler = (error: unknown) => void | Promise<void>;

let current: CrashHandler | undefined;

/** Takes over until it is disposed of; the handler before it comes back then. */
export function handleCrashes(handler: CrashHandler): Disposable {
  if (current === undefined)
    for (const event of ["uncaughtException", "unhandledRejection"] as const) process.on(event, crashed);
  const before = current;
  current = handler;
  return {
    [Symbol.dispose]() {
      current = before;
      if (current === undefined)
        for (const event of ["uncaughtException", "unhandledRejection"] as const) process.off(event, crashed);
    },
  };
}

function crashed(error: unknown): void {
  void current?.(error);
}
