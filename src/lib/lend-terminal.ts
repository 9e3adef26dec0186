/** The terminal belongs to one at a time: whoever draws on it stops while another program asks something there. */
export interface TerminalPainter {
  /** Takes off the screen what still changes, and leaves the keys to others. */
  pause(): void | Promise<void>;
  resume(): void;
}

const painters = new Set<TerminalPainter>();
let lent = 0;

/** Returns how to be forgotten again. */
export function paintsOnTerminal(painter: TerminalPainter): () => void {
  painters.add(painter);
  if (lent > 0) void painter.pause();
  return () => void painters.delete(painter);
}

/** Nothing of buddy is drawn, and no key is read, until `work` is over. */
export async function lendTerminal<T>(work: () => Promise<T>): Promise<T> {
  if (lent++ === 0) for (const painter of painters) await painter.pause();
  try {
    return await work();
  } finally {
    if (--lent === 0) for (const painter of painters) painter.resume();
  }
}
