/** Who would act, on which machine, in which shell: what is approved for one of them counts for no other. */
export interface Subject {
  /** Identity of the machine; "" for what belongs to none, such as a page. */
  readonly machine: string;
  readonly user: string;
  /** Its program and pane; an adopted shell differs from every other. */
  readonly shell: string;
}

export const NO_MACHINE: Subject = { machine: "", user: "", shell: "" };

export function isSameSubject(a: Subject, b: Subject): boolean {
  return a.machine === b.machine && a.user === b.user && a.shell === b.shell;
}
