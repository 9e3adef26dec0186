/** Finds fork bombs: functions that call themselves, directly or not, while forking, and loops that only fork. */
export class CallGraph {
  /** Stands for the script that is running: `$0`. */
  static readonly ITSELF = "$0";
  readonly #edges = new Map<string, Map<string, boolean>>();
  readonly #defined = new Set<string>([CallGraph.ITSELF]);
  readonly #stack: Frame[] = [frame(CallGraph.ITSELF)];
  #forever = false;

  /** Runs `body` as the body of the function `name`. */
  inside(name: string, body: () => void): void {
    this.#defined.add(name);
    this.#stack.push(frame(name));
    try {
      body();
    } finally {
      this.#stack.pop();
    }
  }

  /** Runs `body` as a part of a pipeline, a substitution or a coprocess. */
  forking(body: () => void): void {
    this.#counting("forks", body);
  }

  inBackground(body: () => void): void {
    this.#counting("background", body);
  }

  /** Runs `body` as code that may not run: recursion with an end is not a bomb. */
  conditionally(body: () => void): void {
    this.#counting("conditions", body);
  }

  #counting(what: "forks" | "background" | "conditions", body: () => void): void {
    const top = this.#stack.at(-1) as Frame;
    top[what]++;
    try {
      body();
    } finally {
      top[what]--;
    }
  }

  called(name: string): void {
    const { name: caller, forks, background, conditions } = this.#stack.at(-1) as Frame;
    let callees = this.#edges.get(caller);
    if (callees === undefined) this.#edges.set(caller, (callees = new Map()));
    callees.set(name, callees.get(name) === true || background > 0 || (forks > 0 && conditions === 0));
  }

  /** `$FUNCNAME`: the function that is running. */
  calledAgain(): void {
    this.called((this.#stack.at(-1) as Frame).name);
  }

  /** An endless loop whose body waits for nothing. */
  startsForever(): void {
    this.#forever = true;
  }

  /** Some forking call leads back to the function it is made in. */
  isBomb(): boolean {
    if (this.#forever) return true;
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

/** A function that is being walked, and its depth in subprocesses and conditions. */
interface Frame {
  readonly name: string;
  forks: number;
  background: number;
  conditions: number;
}

function frame(name: string): Frame {
  return { name, forks: 0, background: 0, conditions: 0 };
}
