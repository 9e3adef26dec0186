/** The colours that untrusted text sets, kept as a state and written in one plain form; other SGR codes are dropped. */
export class ColorState {
  readonly #on = new Set<number>();
  #front: Color = "";
  #behind: Color = "";

  /** `parameters`: of an SGR sequence, between CSI and m. Conceal, blink and unknown codes are ignored. */
  apply(parameters: string): void {
    if (!/^[0-9;:]*$/.test(parameters)) return;
    const plain = parameters.includes(":") ? withoutColons(parameters) : parameters;
    const numbers = plain.split(";").map((part) => (part === "" ? 0 : Number.parseInt(part, 10)));
    for (let i = 0; i < numbers.length; i++) i += this.#one(numbers, i);
  }

  /** The sequence that sets this state from any other; empty for the default state. */
  sequence(): string {
    const codes = [...this.#on].sort().map(String);
    // The same colour in front and behind would hide text.
    if (this.#front !== this.#behind) codes.push(...codesOf(this.#front, 3), ...codesOf(this.#behind, 4));
    return codes.length === 0 ? "" : `\x1b[0;${codes.join(";")}m`;
  }

  /** Returns how many further numbers the code took. */
  #one(numbers: readonly number[], at: number): number {
    const code = numbers[at] ?? 0;
    if (code === 0) {
      this.#on.clear();
      this.#front = this.#behind = "";
    } else if (ATTRIBUTES.has(code)) this.#on.add(code);
    else if (code >= 21 && code <= 29) for (const attribute of ENDED_BY[code] ?? []) this.#on.delete(attribute);
    else if (code >= 30 && code <= 37) this.#front = `${code - 30}`;
    else if (code >= 40 && code <= 47) this.#behind = `${code - 40}`;
    else if (code >= 90 && code <= 97) this.#front = `${code - 82}`;
    else if (code >= 100 && code <= 107) this.#behind = `${code - 92}`;
    else if (code === 39) this.#front = "";
    else if (code === 49) this.#behind = "";
    else if (code === 38 || code === 48) return this.#extended(code, numbers, at);
    return 0;
  }

  #extended(code: 38 | 48, numbers: readonly number[], at: number): number {
    const kind = numbers[at + 1];
    const wanted = kind === 5 ? 1 : kind === 2 ? 3 : 0;
    const values = numbers.slice(at + 2, at + 2 + wanted);
    if (wanted > 0 && values.length === wanted && values.every((value) => value <= 255)) {
      const color = kind === 5 && Number(values[0]) < 16 ? `${values[0]}` : `${kind};${values.join(";")}`;
      if (code === 38) this.#front = color;
      else this.#behind = color;
    }
    return values.length + 1;
  }
}

/** "" default, "0" … "15" the terminal's own, "5;n" of 256, "2;r;g;b". */
type Color = string;

/** Bold, dim, italic, underline, inverse, struck. */
const ATTRIBUTES: ReadonlySet<number> = new Set([1, 2, 3, 4, 7, 9]);
const ENDED_BY: Readonly<Record<number, readonly number[]>> = { 22: [1, 2], 23: [3], 24: [4], 27: [7], 29: [9] };

/** 38:2::r:g:b and 38:2:r:g:b mean 38;2;r;g;b; `Number.parseInt` reads the first number of other forms, such as 4:3. */
function withoutColons(parameters: string): string {
  return parameters
    .replace(/([34]8):2:[0-9]*:([0-9]+):([0-9]+):([0-9]+)/g, "$1;2;$2;$3;$4")
    .replace(/([34]8):2:([0-9]+):([0-9]+):([0-9]+)/g, "$1;2;$2;$3;$4")
    .replace(/([34]8):5:([0-9]+)/g, "$1;5;$2");
}

function codesOf(color: Color, ground: 3 | 4): string[] {
  if (color === "") return [];
  if (color.includes(";")) return [`${ground}8;${color}`];
  const index = Number(color);
  return [index < 8 ? `${ground}${index}` : `${(ground === 3 ? 90 : 100) + index - 8}`];
}
