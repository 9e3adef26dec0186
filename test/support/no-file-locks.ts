/** A file system without locks: a library that answers every fcntl lock with an error (of NFS without lockd: ENOLCK). */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
static int pass(const char *name, int fd, int command, void *argument) {
  if (command == F_SETLK || command == F_SETLKW || command == F_GETLK) { errno = NO_LOCKS; return -1; }
  int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
  return real(fd, command, argument);
}
#define WRAP(name) int name(int fd, int command, ...) { \\
  va_list list; va_start(list, command); void *argument = va_arg(list, void *); va_end(list); \\
  return pass(#name, fd, command, argument); }
WRAP(fcntl)
WRAP(fcntl64)
`;

/** Path of the library, for LD_PRELOAD; compiled once. */
export function noFileLocks(error = "ENOLCK"): string {
  const directory = join(tmpdir(), `buddy-no-locks-${process.pid}`);
  const library = join(directory, `${error}.so`);
  if (existsSync(library)) return library;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "no-locks.c"), SOURCE);
  const { exitCode, stderr } = Bun.spawnSync(
    ["cc", `-DNO_LOCKS=${error}`, "-shared", "-fPIC", "-o", library, join(directory, "no-locks.c"), "-ldl"],
    { stderr: "pipe" },
  );
  if (exitCode !== 0) throw new Error(`cc: ${stderr.toString()}`);
  return library;
}
