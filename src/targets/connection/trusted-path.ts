/** The directories of a PATH in which nobody but the user and root can put a program. */

export interface DirectoryState {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

export interface PathOwner {
  readonly uid: number;
  /** Where buddy works: a program that a project brings along is not the one that the policy knows by that name. */
  readonly cwd: string;
  readonly home: string;
}

/** `stateOf`: of an existing directory, links followed. */
export function trustedPath(
  path: string,
  stateOf: (directory: string) => DirectoryState | undefined,
  { uid, cwd, home }: PathOwner,
): string {
  const isProject = cwd !== "/" && !`${home}/`.startsWith(`${cwd}/`);
  const directories = path.split(":").map((one) => (one.length > 1 ? one.replace(/\/+$/, "") : one));
  const trusted = directories.filter(
    (one) =>
      one.startsWith("/") &&
      !/\/\.\.?(?:\/|$)/.test(one) &&
      !(isProject && `${one}/`.startsWith(`${cwd}/`)) &&
      withParents(one).every((each, at) => isTrusted(stateOf(each), uid, at > 0)),
  );
  return [...new Set(trusted)].join(":");
}

/** A sticky directory lets nobody replace what another user has in it. */
function isTrusted(state: DirectoryState | undefined, uid: number, isParent: boolean): boolean {
  if (state === undefined || (state.uid !== 0 && state.uid !== uid)) return false;
  if (isParent && (state.mode & 0o1000) !== 0) return true;
  const ownGroup = state.gid === 0 || state.gid === uid;
  return (state.mode & 0o2) === 0 && ((state.mode & 0o20) === 0 || ownGroup);
}

function withParents(path: string): string[] {
  const all = [path];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) all.push(path.slice(0, at));
  if (path !== "/") all.push("/");
  return all;
}
