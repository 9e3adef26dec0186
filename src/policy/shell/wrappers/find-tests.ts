/** Which tests of find leave out enough files to count: a test that nearly every file passes narrows nothing. */

/** Whether `test value` narrows a deletion down. A value that cannot be read does not. */
export function narrows(test: string, value: string): boolean {
  switch (test.replace(/^-i?(?=name|path|wholename|regex|lname)/, "-").replace(/^-[acm](?=time|min)/, "-")) {
    case "-name":
    case "-lname":
      return !/^[*?.\uFDD0-\uFDD2]*$/.test(value.replace(/\[[^\]]*\]/g, "?"));
    case "-path":
    case "-wholename":
      return !/^[*?./\uFDD0-\uFDD2]*$/.test(value.replace(/\[[^\]]*\]/g, "?"));
    case "-regex":
      return !/^[.*+?^$|/()\\\uFDD0-\uFDD2]*$/.test(value.replace(/\[[^\]]*\]/g, "."));
    case "-size":
      return sizeNarrows(value);
    case "-time":
      return ageNarrows(value, 1, 365);
    case "-min":
      return ageNarrows(value, 2, 365 * 24 * 60);
    case "-used":
    case "-links":
      return /^(?:[2-9]|[1-9]\d+|\+[1-9]\d*)$/.test(value);
    case "-user":
    case "-group":
      return !/^(?:root|wheel|admin|0+|[-+].*|[*?\uFDD0-\uFDD2]*)$/.test(value);
    case "-uid":
    case "-gid":
      return /^[1-9]\d*$/.test(value);
    case "-inum":
      return /^\d+$/.test(value);
    case "-perm":
      return modeNarrows(value);
    case "-samefile":
    case "-newer":
    case "-anewer":
    case "-cnewer":
      return true;
    default:
      if (/^-newer[aBcm]t$/.test(test)) return isRecent(value);
      return /^-newer[aBcm][aBcm]$/.test(test);
  }
}

const UNITS: Readonly<Record<string, number>> = {
  c: 1,
  w: 2,
  b: 512,
  k: 1024,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
  P: 2 ** 50,
};

/** Most files are larger than nothing and smaller than a megabyte. */
function sizeNarrows(value: string): boolean {
  const [, sign, digits, unit = "b"] = /^([-+]?)(\d+)([cwbkMGTP]?)$/.exec(value) ?? [];
  if (digits === undefined) return false;
  const bytes = Number(digits) * (UNITS[unit === "" ? "b" : unit] ?? 512);
  if (sign === "+") return bytes >= 4096;
  if (sign === "-") return bytes < 2 ** 20;
  return true;
}

/** `+N`: older than N; `-N`: younger. Nearly every file is older than a moment and younger than years. */
function ageNarrows(value: string, least: number, most: number): boolean {
  const [, sign, digits] = /^([-+]?)(\d+(?:\.\d+)?)[smhdw]?$/.exec(value) ?? [];
  if (digits === undefined) return false;
  if (sign === "+") return Number(digits) >= least;
  return sign === "-" ? Number(digits) < most : true;
}

const YEAR = 365 * 24 * 60 * 60 * 1000;

/** A moment within the last year, as a date or in the few words that everybody writes. */
function isRecent(value: string): boolean {
  const [, count, unit = ""] =
    /^-?(\d{1,4}) ?(sec|second|min|minute|hour|day|week|month)s?(?: ago)?$/.exec(value) ?? [];
  if (count !== undefined) return Number(count) < (unit === "month" ? 12 : unit === "week" ? 52 : 365);
  if (/^(?:today|yesterday|now|last (?:hour|day|week|month))$/.test(value)) return true;
  if (!/^\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?$/.test(value)) return false;
  const at = Date.parse(value.replace(" ", "T"));
  return !Number.isNaN(at) && Date.now() - at < YEAR;
}

/** Exact modes, and bits that few files have: set-id, sticky, writable for others. */
function modeNarrows(value: string): boolean {
  const [, prefix, octal] = /^([-/+]?)([0-7]{1,4})$/.exec(value) ?? [];
  if (octal === undefined) return /^[-/+]?(?:[ugo]*\+?[=+][st]+|[go]+[+=]w)$/.test(value);
  const mode = Number.parseInt(octal, 8);
  const rare = 0o7022;
  if (prefix === "") return true;
  return prefix === "-" ? (mode & rare) !== 0 : mode !== 0 && (mode & ~rare) === 0;
}
