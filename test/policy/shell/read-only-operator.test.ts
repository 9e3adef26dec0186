/**
 * The operator preset: reads with the operator's own credentials run without a question, nothing that shows secrets or
 * changes anything.
 */
import { expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import asks from "./operator-asks.txt" with { type: "text" };
import operator from "./operator-reads.txt" with { type: "text" };
import { RULES } from "./rules.ts";

const OPERATOR = { ...RULES, autoApprove: "operator" } as const;
const linesOf = (text: string) => text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
const commands = linesOf(operator);

test("what changes something or shows keys, tokens or secrets does not run unasked", () => {
  const rules = { ...OPERATOR, hosts: ["example.com"] };
  expect(linesOf(asks).filter((command) => judgeShell(command, rules).verdict.kind === "allow")).toEqual([]);
});

test("at least 108 of 119 everyday operator reads run without a question", () => {
  expect(commands.length).toBeGreaterThanOrEqual(119);
  const asked = commands.filter(
    (command) => judgeShell(command, { ...OPERATOR, hosts: ["example.com"] }).verdict.kind !== "allow",
  );
  expect(1 - asked.length / commands.length, asked.join("\n")).toBeGreaterThanOrEqual(108 / 119);
});

test("they are read-only, but not in the read-only namespace: they need credentials and other machines", () => {
  const judged = judgeShell("kubectl get pods | grep api", OPERATOR);
  expect(judged).toMatchObject({ readOnly: true, mutation: false, verdict: { kind: "allow" } });
  expect(judged.commands.map(({ preset }) => preset)).toEqual(["operator", undefined]);
});

test.each([
  ["sudo ls"],
  ["sudo -S -n ls"],
  ["sudo -n"],
  ["sudo -n -s"],
  ["sudo -n -i ls"],
  ["sudo -n sh"],
  ["sudo -n rm x"],
  ["sudo -n cat /etc/shadow"],
  ["sudo -n PATH=/tmp ls"],
  ["sudo -n LD_PRELOAD=x ls"],
  ["sudo -n ./ls"],
  ["sudo -n git -C /srv/app status"],
  ["sudo -n -E ls"],
  ["sudo -n -D /x ls"],
  ["sudo -n $X"],
  ["sudo -nu root -- touch x"],
  ["ssh web1"],
  ["ssh web1 rm x"],
  ["ssh web1 'touch x'"],
  ["ssh -o ProxyCommand='touch x' web1 uptime"],
  ["ssh -F config web1 uptime"],
  ["ssh -J 'x;id' web1 uptime"],
  ["ssh -J -oProxyCommand=x web1 uptime"],
  ["ssh -i key"],
  ["ssh -A web1 uptime"],
  ["ssh -tt web1 uptime"],
  ["ssh $X uptime"],
  ["ssh -oProxyCommand=x web1 uptime"],
  ["ssh web1 'echo $((a))'"],
  ["ssh web1 'cat /etc/shadow'"],
  ["ssh web1 'git -C /srv status'"],
  ["ssh web1 'ls > out'"],
  ["ssh web1 'sudo reboot'"],
  ["ssh -R 80:x:80 web1 ls"],
  [": <(ssh web1 tail -f /var/log/syslog)"],
  ["head -1 <(sudo -n tail -f /var/log/syslog)"],
  [": >(sudo -n sleep 600)"],
  ["kubectl get pods && kubectl delete pod x"],
  ["kubectl get pods > pods.txt"],
  ["KUBECONFIG=./x kubectl get pods"],
  ["AWS_ENDPOINT_URL=http://x aws s3 ls"],
])("%s asks", (text) => {
  expect(judgeShell(text, OPERATOR).verdict.kind).toBe("ask");
});

test("hosts of fetch_allowed_domains may be asked over HTTP, others not", () => {
  const rules = { ...OPERATOR, hosts: ["example.com"] };
  expect(judgeShell("curl -s https://api.example.com/health", rules).verdict.kind).toBe("allow");
  expect(judgeShell("curl -s https://example.org/", rules).verdict.kind).toBe("ask");
});

test("without the preset the same commands ask", () => {
  for (const text of [
    "kubectl get pods",
    "sudo -n ls",
    "ssh web1 uptime",
    "curl -s http://localhost/",
    "dig example.com",
  ])
    expect(judgeShell(text, RULES).verdict.kind).toBe("ask");
});
