/**
 * Programs that check configuration files: they check the new text before it replaces the old file. As sh, for the
 * script that writes files.
 */

import fileCheck from "../../../templates/target/file-check.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { words } from "../../lib/text.ts";

export interface FileCheck {
  /** Patterns of sh, in which `*` also matches `/`. */
  readonly files: readonly string[];
  readonly program: string;
  /**
   * `copy`: the program reads one file, `$f`, a copy with the same name. `whole`: it reads the whole configuration from
   * its usual path, with the new file in it.
   */
  readonly how: "copy" | "whole";
  /** One simple command. */
  readonly command: string;
  /** A command that succeeds if this version of the program supports the check. */
  readonly where?: string;
}

const copy = (program: string, command: string, files: string, where?: string): FileCheck => ({
  files: words(files),
  program,
  how: "copy",
  command,
  ...(where === undefined ? {} : { where }),
});
const whole = (program: string, command: string, files: string): FileCheck => ({
  files: words(files),
  program,
  how: "whole",
  command,
});

export const FILE_CHECKS: readonly FileCheck[] = [
  copy("visudo", 'visudo -c -f "$f"', "/etc/sudoers /etc/sudoers.d/*"),
  copy("sshd", '"$(command -v sshd)" -t -f "$f"', "/etc/ssh/sshd_config"),
  whole("sshd", '"$(command -v sshd)" -t', "/etc/ssh/sshd_config.d/*.conf"),
  copy("ssh", 'ssh -G -F "$f" localhost', "/etc/ssh/ssh_config /etc/ssh/ssh_config.d/*.conf"),
  whole("nginx", "nginx -t -q", "/etc/nginx/*"),
  whole("apache2ctl", "apache2ctl configtest", "/etc/apache2/*"),
  whole("httpd", "httpd -t", "/etc/httpd/*"),
  copy("haproxy", 'haproxy -c -q -f "$f"', "/etc/haproxy/haproxy.cfg"),
  whole("caddy", "caddy validate --config /etc/caddy/Caddyfile", "/etc/caddy/*"),
  whole("named-checkconf", "named-checkconf", "/etc/bind/named.conf* /etc/named.conf"),
  copy("unbound-checkconf", 'unbound-checkconf "$f"', "/etc/unbound/unbound.conf"),
  whole("dnsmasq", "dnsmasq --test", "/etc/dnsmasq.conf /etc/dnsmasq.d/*"),
  copy("nft", 'nft -c -f "$f"', "/etc/nftables.conf /etc/nftables/*.nft /etc/sysconfig/nftables.conf"),
  copy(
    "systemd-analyze",
    'systemd-analyze verify --man=no "$f"',
    words("service timer socket path mount automount target slice swap")
      .map((kind) => `/etc/systemd/system/*.${kind} /lib/systemd/system/*.${kind} /usr/lib/systemd/system/*.${kind}`)
      .join(" "),
  ),
  copy(
    "sysctl",
    'sysctl --dry-run --quiet --load="$f"',
    "/etc/sysctl.conf /etc/sysctl.d/*.conf",
    "sysctl --help 2>&1 | grep -q -e --dry-run",
  ),
  copy("findmnt", 'findmnt --verify --tab-file "$f"', "/etc/fstab", "findmnt --help 2>&1 | grep -q -e --verify"),
  copy("logrotate", 'logrotate -d --state /dev/null "$f"', "/etc/logrotate.conf /etc/logrotate.d/*"),
  copy("crontab", 'crontab -T "$f"', "/var/spool/cron/*", "crontab -T /dev/null"),
  whole("rsyslogd", "rsyslogd -N1", "/etc/rsyslog.conf /etc/rsyslog.d/*.conf"),
  copy("testparm", 'testparm -s "$f"', "/etc/samba/smb.conf"),
  whole("doveconf", "doveconf -n", "/etc/dovecot/*"),
  whole("squid", "squid -k parse", "/etc/squid/squid.conf /etc/squid/conf.d/*.conf"),
  whole("promtool", "promtool check config /etc/prometheus/prometheus.yml", "/etc/prometheus/*"),
  copy("bash", 'bash -n "$f"', "/etc/bash.bashrc /etc/bashrc /etc/bash_completion.d/*"),
  copy("sh", 'sh -n "$f"', "/etc/profile /etc/profile.d/*.sh /etc/default/* /etc/init.d/* /etc/rc.local"),
];

export const CHECK = script(fileCheck, {
  find_check: ["case $full in", ...FILE_CHECKS.map(caseLine), "esac"].join("\n"),
});

function caseLine({ files, program, how, command, where }: FileCheck): string {
  const set = `by=${program} kind=${how} cmd='${command}'`;
  const act = where === undefined ? set : `if { ${where}; } >/dev/null 2>&1; then ${set}; fi`;
  return `${files.join(" | ")}) ${act} ;;`;
}
