/** Why a file operation failed, in words that end a sentence. */
export function fileError(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "";
  return WORDS[code] ?? (error instanceof Error ? error.message : String(error));
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "a part of the path is not a directory",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
  EPERM: "the operation is not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ELOOP: "there are too many symbolic links",
  ENAMETOOLONG: "the name is too long",
  EMFILE: "too many files are open",
  SQLITE_CANTOPEN: "the lock beside it cannot be made",
  SQLITE_READONLY: "the lock beside it cannot be written",
  SQLITE_FULL: "the disk is full",
};
