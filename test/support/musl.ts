/**
 * What a musl binary needs to run on a glibc machine: the musl loader, and this machine's libstdc++ over a few missing
 * names.
 */
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Fills `directory` with the libraries; to be given as LD_LIBRARY_PATH. Needs musl-tools. */
export function muslLibraries(directory: string): void {
  for (const name of ["libstdc++.so.6", "libgcc_s.so.1"]) {
    const found = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu"].map((parent) => join(parent, name));
    copyFileSync(found.find((path) => Bun.file(path).size > 0) ?? name, join(directory, name));
  }
  const source = join(directory, "names.c");
  writeFileSync(source, MISSING_NAMES);
  // libstdc++ asks for glibc's loader by this file name; the musl loader takes whatever answers to it.
  const out = join(directory, "ld-linux-x86-64.so.2");
  const built = Bun.spawnSync(["musl-gcc", "-shared", "-fPIC", "-o", out, source], { stderr: "pipe" });
  if (built.exitCode !== 0) throw new Error(`musl-gcc: ${built.stderr.toString()}`);
}

const MISSING_NAMES = `
#include <stdint.h>
#include <sys/random.h>
#include <time.h>
char __libc_single_threaded = 0;
struct { unsigned vendor, type, subtype, features[1]; } __cpu_model;
int __cpu_indicator_init(void) { return 0; }
int _dl_find_object(void *address, void *result) { return -1; }
int __cxa_thread_atexit_impl(void (*end)(void *), void *object, void *handle) { return 0; }
uint32_t arc4random(void) { uint32_t n = 0; getrandom(&n, sizeof n, 0); return n; }
size_t __strftime_l(char *s, size_t n, const char *f, const struct tm *t, locale_t l) { return strftime_l(s, n, f, t, l); }
`;
