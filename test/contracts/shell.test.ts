/** The contract of shells on this machine, over ssh and in containers. */
import { type Combination, contractSuite } from "./contract-suite.ts";

const COMBINATIONS: readonly Combination[] = [
  { where: "local", shell: "direct" },
  { where: "local", shell: "bash", program: "bash" },
  { where: "local", shell: "zsh", program: "zsh" },
  { where: "local", shell: "dash", program: "dash" },
  { where: "local", shell: "ash", program: "busybox ash" },
  { where: "local", shell: "fish", program: "fish" },
  { where: "local", shell: "mksh", program: "mksh" },
  { where: "ssh", shell: "direct" },
  { where: "ssh", shell: "bash", program: "bash" },
  { where: "container", shell: "direct" },
  { where: "container", shell: "direct-sh", image: "busybox" },
  { where: "container", shell: "bash", program: "bash" },
  { where: "container", shell: "ash", program: "sh" },
];

await contractSuite(COMBINATIONS);
