/** Where releases are: `repository` of package.json; in continuous integration the repository that runs it. */
import { repository } from "../../package.json";

export interface ReleaseAddress {
  /** For people. */
  readonly homepage: string;
  /** The directory of all releases. */
  readonly releases: string;
}

export function releaseAddress(env: Readonly<Record<string, string | undefined>> = process.env): ReleaseAddress {
  const server = env["GITHUB_SERVER_URL"] ?? "https://github.com";
  const homepage = env["GITHUB_REPOSITORY"]
    ? `${server}/${env["GITHUB_REPOSITORY"]}`
    : repository.url.replace(/^git\+/, "").replace(/\.git$/, "");
  if (URL.parse(homepage)?.protocol !== "https:") throw new Error(`${homepage} is not the address of a repository`);
  return { homepage, releases: `${homepage}/releases` };
}
