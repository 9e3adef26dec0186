import { describe, expect, test } from "bun:test";
import { fileKind } from "../../../src/policy/privacy/output-kind.ts";
import { Privacy } from "../../../src/policy/privacy/privacy.ts";

const shown = (path: string, text: string) =>
  new Privacy({ mask: true, own: () => [] }).mask(text, { from: "test", output: fileKind(path) });

/** Path and text of a daemon's configuration; what is in [[]] is its secret. No path: a command or its output. */
const PLANTED = String.raw`
  | rocommunity [[swordfish]]
  | rwcommunity6 [[swordfish]] 10.0.0.0/8
  | com2sec -Cn ctx ro default [[swordfish]]
  | createUser bob SHA-256 [["swordfish1" AES "codfish99"]]
  | snmpwalk -v2c -c [[swordfish]] 10.0.0.1 sys
  | snmp-server community [[swordfish]] RO
  | olcRootPW: [[swordfish]]
  | olcRootPW:: [[c3dvcmRmaXNo]]
  | userPassword: [[{SSHA}7Vd0m3Zs5kQ8nB1tYw2Rj6LhGf9PuCe4]]
  | rootpw [[swordfish]]
  | echo 'root:[[swordfish]]' | sudo chpasswd
  | printf 'root:[[swordfish]]\nbob:[[codfish]]\n' | ssh root@h chpasswd -c SHA512
  | chpasswd <<< 'root:[[swordfish]]'
  | echo [[swordfish]] | passwd --stdin bob
  | echo 'bob:[[swordfish:1001:1001::/home/bob:/bin/sh]]' | newusers
  | ALTER ROLE app WITH LOGIN PASSWORD '[[swordfish]]';
  | CREATE USER 'a'@'%' IDENTIFIED BY '[[swordfish]]';
  | SET PASSWORD FOR 'a'@'h' = PASSWORD('[[swordfish]]');
  | CHANGE MASTER TO MASTER_PASSWORD='[[swordfish]]';
  | rabbitmqctl add_user bob [[swordfish]]
  | ipmitool -I lanplus -H h -U a -P [[swordfish]] power status
  | config set requirepass [[sw0rdfish]]
/etc/redis/redis.conf | masterauth "[[sword fish]]"
/etc/redis/redis.conf | user alice on >[[swordfish]] ~* +@all
/etc/redis/redis.conf | # requirepass [[sw0rdfish9]]
/etc/redis/sentinel.conf | sentinel auth-pass main [[swordfish]]
/etc/haproxy/haproxy.cfg | stats auth admin:[[swordfish]]
/etc/haproxy/haproxy.cfg | user bob insecure-password [[swordfish]]
/etc/keepalived/keepalived.conf | auth_pass [[swordfish]]
/etc/keepalived/keepalived.conf | auth_pass [[4711]]
/etc/postfix/sasl_passwd | [[[smtp.example.com]:587 bob:swordfish]]
/etc/postfix/ldap.cf | bind_pw = [[swordfish]]
/etc/dovecot/dovecot-sql.conf.ext | connect = host=localhost user=mail password=[[swordfish]]
/etc/dovecot/dovecot-ldap.conf.ext | dnpass = [[swordfish]]
/etc/postgresql/15/main/postgresql.conf | primary_conninfo = 'host=db1 user=rep password=[[swordfish]]'
/etc/mysql/debian.cnf | password = [[sword#fish]]
/root/.my.cnf | password="[[sword fish]]"
/etc/bind/named.conf | key "rndc" { algorithm hmac-sha256; secret "[[c3dvcmRmaXNoc3dvcmRmaXNo]]"; };
/etc/prometheus/snmp.yml | community: [[swordfish]]
/etc/prometheus/prometheus.yml | credentials: [[swordfish]]
/etc/prometheus/alertmanager.yml | smtp_auth_password: '[[sword fish]]'
/etc/grafana/grafana.ini | password = """[[swordfish;9]]"""
/etc/grafana/grafana.ini | client_secret = [[swordfish]]
/srv/compose.yml | - POSTGRES_PASSWORD=[[swordfish]]
/etc/app.yml | password: [[correct horse battery]]
/etc/app.yml | {name: bob, password: [[swordfish]]}
/etc/app.json | {"smtpPass": "[[swordfish]]"}
/etc/apache2/apache2.conf | AuthLDAPBindPassword [[swordfish]]
/etc/apache2/apache2.conf | SetEnv DB_PASSWORD [[swordfish]]
/etc/apache2/apache2.conf | DBDParams "host=db user=a pass=[[swordfish]]"
/etc/nginx/nginx.conf | fastcgi_param DB_PASSWORD [[swordfish]];
/etc/nginx/nginx.conf | proxy_set_header Authorization "Basic [[dXNlcjpodW50ZXIy]]";
/etc/nginx/nginx.conf | proxy_pass http://bob:[[swordfish]]@backend:80;
/etc/sssd/sssd.conf | ldap_default_authtok = [[swordfish]]
/etc/exim4/exim4.conf | hide mysql_servers = localhost/db/bob/[[swordfish]]
/etc/proftpd/sql.conf | SQLConnectInfo ftp@localhost bob [[swordfish]]
/etc/squid/squid.conf | cache_peer p parent 3128 0 login=bob:[[swordfish]]
/etc/turnserver.conf | user=bob:[[swordfish]]
/etc/rabbitmq/advanced.config | {default_pass, <<"[[swordfish]]">>},
/etc/mosquitto/conf.d/b.conf | remote_password [[swordfish]]
/etc/zabbix/zabbix_server.conf | DBPassword=[[swordfish]]
/etc/monit/monitrc | allow admin:[[swordfish]]
/etc/tomcat10/tomcat-users.xml | <user username="a" password="[[swordfish]]" roles="x"/>
/etc/php/8.2/fpm/pool.d/www.conf | env[DB_PASSWORD] = [[swordfish]]
/etc/systemd/system/x.service | Environment="DB_PASSWORD=[[swordfish]]"
/etc/fstab | //nas/x /mnt cifs username=bob,password=[[swordfish]] 0 0
/etc/frr/frr.conf | enable password 8 [[swordfish]]
/etc/wpa_supplicant/wpa_supplicant.conf | psk="[[sword fish]]"
/var/www/wp-config.php | define( 'AUTH_SALT', '[[sword fish]]' );
/etc/preseed.cfg | d-i passwd/root-password password [[swordfish]]
/root/ks.cfg | rootpw --plaintext [[swordfish]]
/etc/app | /etc/app/db.conf:3:password = [[swordfish]]
`;

/** Lines as packages install them, or as people write them around these names: nothing in them is secret. */
const STOCK = String.raw`
/etc/nginx/nginx.conf | proxy_pass http://127.0.0.1:8080/app/;
/etc/nginx/nginx.conf | +    proxy_pass backend2;
/etc/nginx/nginx.conf | fastcgi_pass unix:/run/php/php8.2-fpm.sock;
/etc/nginx/nginx.conf | uwsgi_pass $upstream;
/etc/nginx/nginx.conf | grpc_pass grpcs://10.0.0.7:50051; # api
/etc/nginx/nginx.conf | ssl_password_file /etc/nginx/pass.txt;
/srv/play.yml | proxy_pass: http://backend:8080/
/etc/apache2/apache2.conf | ProxyPass /app http://10.0.0.7:8080/app
/etc/apache2/apache2.conf | SSLPassPhraseDialog exec:/usr/share/apache2/ask-for-passphrase
/etc/apache2/apache2.conf | # the file then has to have this password: BACKTICKxxj31ZMTZzkVA'.
/etc/haproxy/haproxy.cfg | stats socket /run/haproxy/admin.sock mode 660 level admin
/etc/postfix/main.cf | smtp_sasl_password_maps = hash:/etc/postfix/sasl_passwd
/etc/dovecot/dovecot-sql.conf.ext | #   connect = host=sql.example.com user=virtual password=blarg
/etc/dovecot/dovecot-sql.conf.ext | password_query = SELECT userid AS user, password FROM users WHERE userid = '%n'
/etc/dovecot/conf.d/10-ssl.conf | ssl_cipher_list = ALL:!kRSA:!aNULL:!PSK:!RC4:!LOW@STRENGTH
/etc/dovecot/conf.d/10-ssl.conf | ssl_key = </etc/dovecot/private/dovecot.pem
/etc/postgresql/15/main/postgresql.conf | password_encryption = scram-sha-256	# or md5
/etc/postgresql/15/main/pg_hba.conf | # METHOD can be "trust", "reject", "md5", "password", "scram-sha-256",
/etc/redis/redis.conf | # requirepass foobared
/etc/redis/redis.conf | # masterauth <master-password>
/etc/ssh/sshd_config | PasswordAuthentication yes
/etc/pam.d/common-password | password	[success=1 default=ignore]	pam_unix.so obscure yescrypt
/etc/pam.d/sshd | password required pam_deny.so
/etc/nsswitch.conf | passwd:         files systemd
/etc/bind/named.conf.options | dnssec-validation auto;
/etc/prometheus/alertmanager.yml | smtp_auth_password: 'password'
/etc/grafana/grafana.ini | ;admin_password = admin
/etc/grafana/grafana.ini | ;secret_key = SW2YcwTIb9zpOOhoPsMm
/etc/grafana/grafana.ini | password = $__file{/etc/secrets/grafana}
/etc/snmp/snmpd.conf | rocommunity  public default -V systemonly
/etc/samba/smb.conf | passwd chat = *Enter\snew\s*\spassword:* %n\n .
/etc/keepalived/keepalived.conf | notify_master "/etc/keepalived/pass.sh"
/etc/kubernetes/kubelet.conf | client-key: /var/lib/kubelet/pki/kubelet.pem
/etc/docker/daemon.json | {"log-driver": "json-file", "bypass": true}
/etc/app.hcl | password = random_password.db.result(1)
/etc/pf.conf | pass in on eth0
/etc/fail2ban/filter.d/x.conf | failregex = login error - (no such user|Password incorrect)$
`;

const rows = (table: string) =>
  table
    .trim()
    .split("\n")
    .map((row) => row.split(/ ?\| (.*)/s).map((cell) => cell.trim()) as [string, string]);

describe("a secret in a configuration file is masked whole", () => {
  test.each(rows(PLANTED))("%s: %s", (path, marked) => {
    const masked = marked.replaceAll(/\[\[(.*?)\]\]/g, "‹secret›");
    const text = marked.replaceAll(/\[\[|\]\]/g, "");
    for (const around of ["", "  # another line\n"])
      expect(shown(path, `${around}${text}\n`).replaceAll(/‹secret-\d+: [^›]*›/g, "‹secret›")).toContain(masked);
  });
});

describe("what packages install has no secret", () => {
  test.each(rows(STOCK))("%s: %s", (path, line) => {
    const text = `${line.replace("BACKTICK", "`")}\n`;
    expect(shown(path, text)).toBe(text);
  });

  test("a file of keys may have only a certificate", () => {
    const text =
      "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----\n";
    expect(shown("/etc/ssl/certs/ca.pem", text)).toBe(text);
    expect(shown("/etc/ssl/private/x.pem", `${text}swordfish\n`)).toBe(`${text}‹secret-1: secret›\n`);
  });
});
