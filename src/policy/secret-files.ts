/** Files that are nothing but keys: to read one is to hand it to the model, so it is asked although nothing changes. */
export function holdsSecrets(path: string): boolean {
  const plain = path.replace(/\/+/g, "/").replace(/\/\.(?=\/)/g, "");
  return !plain.endsWith(".pub") && SECRETS.some((pattern) => pattern.test(plain));
}

/** A directory of such files, for programs that read all that is in one. */
export function holdsSecretFiles(path: string): boolean {
  return /(^|\/)(\.ssh|\.config\/buddy|\.gnupg|private-keys-v1\.d)\/?$/.test(path);
}

const SECRETS: readonly RegExp[] = [
  // buddy's own sign-ins, and keys that stand in its configuration
  /(^|\/)\.config\/buddy\/(auth\.json|buddy\.toml|[^/]*[*?[…][^/]*)/,
  /(^|\/)buddy\/auth\.json/,
  // private keys of ssh and gpg; a pattern may match them
  /(^|\/)\.ssh\/(id_[^/]*|identity|[^/]*(rsa|dsa|ecdsa|ed25519)|[^/]*[*?[…][^/]*)$/,
  /(^|\/)(id_(rsa|dsa|ecdsa|ed25519)(_sk)?|ssh_host_[a-z0-9]+_key)$/,
  /(^|\/)\.gnupg\/(private-keys-v1\.d\/|secring)/,
  // what other programs sign in with
  /(^|\/)(\.aws\/credentials|\.netrc|\.git-credentials|\.pgpass|\.my\.cnf|\.vault-token|\.kube\/config|\.docker\/config\.json|\.config\/gh\/hosts\.yml)$/,
  /^\/etc\/(ssl|pki\/tls)\/private\//,
  // the environment of other processes, and the password hashes
  /^\/proc\/[^/]+\/(task\/[^/]+\/)?environ$/,
  /^\/etc\/g?shadow-?$/,
];
