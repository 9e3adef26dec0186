/** The embedded catalog as text. */
import text from "../../templates/models.toml" with { type: "text" };

/**
 * At least the exact rules of names that begin with this letter; "" for the others. scripts/build.ts puts one text for
 * each letter instead of this module: a string is decoded when its function is first called, and 230 KB of them
 * took a start 0.4 ms.
 */
export function rulesFrom(_letter: string): string {
  return text;
}
