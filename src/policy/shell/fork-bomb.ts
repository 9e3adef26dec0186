/** Which functions call which, and whether some call themselves while forking: a fork bomb. */
export class CallGraph {
  /** Stands for the script that is running: `$0`. */
  static readonly ITSELF = "$0";
  readonly #edges = new Map<string, Map<string, boolean>>();
  readonly #defined = new Set<string>([CallGraph.ITSELF]);
  readonly #stack: { readonly name: string; forks: number }[] = [{ name: CallGraph.ITSELF, forks: 0 }];

  /** Runs `body` as the body of the function `name`. */
  inside(name: string, body: () => void): void {
    this.#defined.add(name);
    this.#stack.push({ name, forks: 0 });
    try {
      body();
    } finally {
      this.#stack.pop();
    }
  }

  /** Runs `body` as something that happens in a process of its own. */
  forking(body: () => void): void {
    const frame = this.#stack.at(-1) as { forks: number };
    frame.forks++;
    try {
      body();
    } finally {
      frame.forks--;
    }
  }

  called(name: string): void {
    const frame = this.#stack.at(-1) as { name: string; forks: number };
    let callees = this.#edges.get(frame.name);
    if (callees === undefined) this.#edges.set(frame.name, (callees = new Map()));
    callees.set(name, callees.get(name) === true || frame.forks > 0);
  }

  /** Some forking call leads back to the function it is made in. */
  isBomb(): boolean {
    for (const [caller, callees] of this.#edges)
      for (const [callee, forks] of callees)
        if (forks && this.#defined.has(callee) && this.#reaches(callee, caller)) return true;
    return false;
  }

  #reaches(from: string, to: string): boolean {
    const seen = new Set<string>([from]);
    const queue = [from];
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      if (name === to) return true;
      for (const next of this.#edges.get(name)?.keys() ?? [])
        if (this.#defined.has(next) && !seen.has(next)) {
          seen.add(next);
          queue.push(next);
        }
    }
    return false;
  }
}
