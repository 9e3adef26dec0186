/** The contract of shells behind a command: a chroot, namespaces, a pod behind ssh. */
import { contractSuite } from "./contract-suite.ts";

await contractSuite([
  { where: "chroot", shell: "direct" },
  { where: "nsenter", shell: "bash", program: "bash" },
  { where: "ssh kubectl", shell: "direct-sh", image: "busybox" },
]);
