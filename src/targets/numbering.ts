/** Which process numbers a machine and its containers share: a number of another container means nothing here. */

/**
 * For sh: __buddy_numbering sets the variable of that name, the same for all who see the same processes: when the first
 * of them started. A file in /tmp may come from a container that shares it. Empty where the first process cannot be
 * seen. Without a program: it runs each time a target is opened.
 */
export const NUMBERING = `__buddy_numbering() {
  __buddy_numbering=
  if IFS= read -r __buddy_numbering; then
    set -- \${__buddy_numbering##*) }
    __buddy_numbering=\${20-}
  fi
} 2>/dev/null </proc/1/stat`;
