/** The sh scripts behind FileAccess: POSIX tools only, for busybox and old systems. */
import filePath from "../../../templates/target/file-path.sh" with { type: "text" };
import fileWalk from "../../../templates/target/file-walk.sh" with { type: "text" };
import fileResolve from "../../../templates/target/file-resolve.sh" with { type: "text" };
import fileDeny from "../../../templates/target/file-deny.sh" with { type: "text" };
import fileRead from "../../../templates/target/file-read.sh" with { type: "text" };
import fileEnter from "../../../templates/target/file-enter.sh" with { type: "text" };
import fileWrite from "../../../templates/target/file-write.sh" with { type: "text" };
import fileStates from "../../../templates/target/file-states.sh" with { type: "text" };
import fileRemoveOrLink from "../../../templates/target/file-remove-or-link.sh" with { type: "text" };
import fileSetAcl from "../../../templates/target/file-set-acl.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { CHECK } from "./file-checks.ts";

const parts = { fileCheck: CHECK, fileDeny, fileEnter, filePath, fileWalk };

export const RESOLVE = script(fileResolve, parts);
export const READ = script(fileRead, parts);
export const WRITE = script(fileWrite, parts);
export const STATES = script(fileStates, parts);
export const REMOVE_OR_LINK = script(fileRemoveOrLink, parts);
export const SET_ACL = script(fileSetAcl);
