/** Thrown where a text costs more to look at than it may; what was found until then counts, the rest is uncertain. */
export class OutOfWork extends Error {}
