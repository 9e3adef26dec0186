/** A value that is made when it is first asked for: a regular expression of a page costs a start half a millisecond. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
