/** The state of files (content, mode, owner, link), many in one round trip; and the scripts that restore them. */
import { nameFrom } from "../../lib/byte-names.ts";
import { ENTER, FULL, WALK } from "./file-scripts.ts";
import type { FileState, SeenFile } from "../target.ts";

/**
 * Arguments: working directory, most bytes of one file, most bytes of all; then for each file its path, the name of a
 * file in it if that is a directory, and 1 to follow a link at its end. Prints for each, NUL-terminated: path, kind,
 * mode, user id, group id, owner, ACL or target of the link, size; then the bytes, and the size again: a file may
 * change while it is read.
 */
export const LOOK = `
LC_ALL=C; export LC_ALL
${FULL}${WALK}
cwd=$1 most=$2 left=$3
shift 3
facts() { mode=$1 uid=$3 gid=$4 size=$5; }
names() { owner=$3:$4; }
reached() { d=\${r%/*}; while [ -n "$d" ] && [ ! -d "$d" ]; do d=\${d%/*}; done; [ -x "\${d:-/}" ]; }
while [ $# -ge 3 ]; do
  full "$1" "$cwd"
  if [ -n "$2" ] && [ -d "$p" ]; then p=\${p%/}/$2; fi
  while :; do case $p in ?*/) p=\${p%/} ;; *) break ;; esac; done
  n=
  case $3\${p##*/} in 0 | 0. | 0..) ;; 0*) n=/\${p##*/} p=\${p%/*} ;; esac
  if walk 2>/dev/null; then
    if [ -n "$n" ]; then r=\${r%/}$n; fi
    if [ -L "$r" ]; then k=link
    elif [ -d "$r" ]; then k=directory
    elif [ -f "$r" ]; then k=file
    elif [ -e "$r" ]; then k=special
    elif reached; then k=missing
    else k=unreadable; fi
    case $r in /proc/* | /sys/*) k=special ;; esac
  else r=$p k=special; fi
  mode= uid= gid= size=0 owner= more=
  if [ $k = link ]; then target "$r"; more=$t; fi
  if [ $k = file ]; then
    facts $(ls -ldn "$r"); names $(ls -ld "$r")
    if [ ! -r "$r" ]; then k=unreadable
    elif [ "$size" -gt "$most" ] || [ "$size" -gt "$left" ]; then k=large; fi
    if [ $k != file ]; then size=0; fi
    case $mode in *+) if command -v getfacl >/dev/null 2>&1; then more=$(getfacl -cpE "$r" 2>/dev/null); fi ;; esac
    left=$((left - size))
  fi
  printf '%s\\0' "$r" $k "$mode" "$uid" "$gid" "$owner" "$more" "$size"
  if [ $size -gt 0 ]; then
    { take $size <"$r"; take $size </dev/zero; } 2>/dev/null | take $size
  fi
  if [ $k = file ]; then facts $(ls -ldn "$r"); fi
  printf '%s\\0' "$size"
  shift 3
done
`;

/**
 * Arguments: path, working directory, name for the temporary file, target of the link or "" to remove the file.
 * Exit 21: it is a directory.
 */
export const REMOVE_OR_LINK = `
LC_ALL=C; export LC_ALL
${ENTER}
r=$1 dir=\${1%/*}
if [ -z "$4" ] && [ ! -d "\${dir:-/}" ]; then exit 0; fi
enter "\${dir:-/}"
f=./\${r##*/}
if [ -d "$f" ] && [ ! -L "$f" ]; then exit 21; fi
if [ -z "$4" ]; then exec rm -f "$f"; fi
trap 'rm -f "./$3"' EXIT
ln -s "$4" "./$3" || exit 1
if mv -f -T "./$3" "$f" 2>/dev/null; then exit 0; fi
rm -f "$f" && mv -f "./$3" "$f"
`;

/** Argument: path; the ACL on stdin. */
export const SET_ACL = `
if [ -L "$1" ]; then exit 3; fi
setfacl --set-file=- "$1"
`;

export function seenFiles(answer: Buffer, count: number): SeenFile[] {
  let at = 0;
  const field = (): string => {
    const end = answer.indexOf(0, at);
    const text = nameFrom(answer.subarray(at, end));
    at = end + 1;
    return text;
  };
  return Array.from({ length: count }, () => {
    const [path, kind, mode, uid, gid, owner, more, size] = Array.from({ length: 8 }, field) as Eight;
    const bytes = new Uint8Array(answer.subarray(at, at + Number(size)));
    at += bytes.length;
    const changed = field() !== size;
    return { path, state: state() };

    function state(): FileState {
      if (kind === "missing") return { kind };
      if (kind === "link") return { kind, to: more };
      if (kind === "file" && !changed) {
        const acl = more === "" ? {} : { acl: more };
        return { kind, bytes, mode: bitsOf(mode), uid: Number(uid), gid: Number(gid), owner, ...acl };
      }
      return {
        kind: "unread",
        why: kind === "directory" || kind === "special" || kind === "large" ? kind : "unreadable",
      };
    }
  });
}

type Eight = [string, string, string, string, string, string, string, string];

/** Permission bits from the form of `ls -l`: "-rwsr-xr-t". */
function bitsOf(shown: string): number {
  let bits = 0;
  for (const [index, letter] of shown.slice(1, 10).split("").entries()) {
    const special = 0o4000 >> Math.floor(index / 3);
    if (letter !== "-" && letter !== "S" && letter !== "T") bits |= 0o400 >> index;
    if (/[sStT]/.test(letter)) bits |= special;
  }
  return bits;
}
