/** The mark that turns while something is under way. */
export function spinnerFrame(now: number): string {
  return FRAMES[Math.floor(now / SPINNER_MS) % FRAMES.length]!;
}

const FRAMES = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"];
export const SPINNER_MS = 250;
