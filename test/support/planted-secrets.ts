/**
 * Values that look like secrets and are none: put together here, so that no file holds one that a scanner would report.
 */
const joined = (...parts: readonly string[]): string => parts.join("");

export const SECRETS = {
  aws: joined("AKIA", "Q7ZC3M5VD2XW", "9KLP"),
  awsSecret: joined("f3Kq9/", "TzLw0aXbR7uVnE2pYc5GdHs8JmQo1iNt", "B6"),
  password: joined("correct-", "h0rse-", "battery"),
  github: joined("ghp", "_", "r8Wq2Zt6Yp0Lk4Nv9Bx3Cd7Fg1Hj5Ms2Qa6T"),
  /** Nothing but its place tells that it is one. */
  plain: joined("violet", "Umbrella", "Seven"),
} as const;

/** Not a key: random base64 between the lines that keys have. */
export const KEY_BLOCK = [
  joined("-----BEGIN ", "RSA PRIVATE KEY-----"),
  "MIIEowIBAAKCAQEAx7Vd0m3Zs5kQ8nB1tYw2Rj6LhGf9PuCe4XaDoKi0NzSvEqTy",
  "b8Jp5MrWl3UgHc7FxZ2dVn6QkAo1ItYs9EwRj4LmGp0BuXfCe8KzDhTq5SvNaOy3",
  "Wl7JrMg2UcHxFb6ZdVk9QnAt4IsYw1EoRj8LpGm5BuXzCf0KeDhTv3SqNaOy7Wl2",
  joined("-----END ", "RSA PRIVATE KEY-----"),
  "",
].join("\n");
