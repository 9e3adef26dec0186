/** The version of this build, and where it comes from. */
import { version } from "../../package.json";

export const VERSION: string = version;

/** Set in the binaries of a release (scripts/build.ts). */
declare const BUDDY_RELEASES: string | undefined;

/** Where this build's releases are; undefined if it was built from a checkout. */
export const RELEASES: string | undefined = typeof BUDDY_RELEASES === "string" ? BUDDY_RELEASES : undefined;
