/** The names of files with keys, and of buddy's own files. */
import { once } from "../../lib/values.ts";

export interface Secret {
  /**
   * Names of directories and the file; `*` matches any characters, `**` at the end anything below, `#` digits, alone
   * also `self` and the like.
   */
  readonly parts: readonly string[];
  readonly absolute: boolean;
  /** Public exceptions. */
  readonly but: readonly string[];
  /** Many harmless files have the same ending: a pattern counts only if it has more of the name than that. */
  readonly named: boolean;
}

/** `a/b` may be in any directory, `/a/b` is absolute; names after `!` are public; `*.json` does not match `=a.json`. */
function table(text: string): readonly Secret[] {
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [text = "", ...but] = line.trim().split(/\s+!?/);
      const path = text.replace(/^=/, "");
      const parts = path.split("/").filter((part) => part !== "");
      return { parts, absolute: path.startsWith("/"), but, named: text !== path };
    });
}

const PUBLIC_SSH = "!*.pub !config !config.d !known_hosts* !authorized_keys* !rc";
export const keys = once(() =>
  table(`
  .config/buddy/auth.json
  .config/buddy/mcp-auth.json
  .config/buddy/buddy.toml
  buddy/auth.json
  buddy/mcp-auth.json
  .local/state/buddy/**
  .ssh/** ${PUBLIC_SSH}
  id_rsa
  id_dsa
  id_ecdsa
  id_ed25519
  id_rsa.bak
  id_rsa.old
  id_rsa~
  id_dsa.bak
  id_dsa.old
  id_dsa~
  id_ecdsa.bak
  id_ecdsa.old
  id_ecdsa~
  id_ed25519.bak
  id_ed25519.old
  id_ed25519~
  id_*_sk
  ssh_host_*_key
  /etc/ssh/ssh_host_*_key
  *_rsa
  *_ed25519
  *_ecdsa
  deploy_key
  *private*.pem
  .gnupg/** !*.pub !pubring* !gpg.conf !gpg-agent.conf !trustdb.gpg
  private-keys-v1.d/**
  .aws/credentials
  .aws/sso/**
  .aws/cli/cache/**
  .azure/**
  .config/gcloud/** !configurations !active_config
  .config/gh/hosts.yml
  .config/glab-cli/config.yml
  .config/hub
  .config/doctl/config.yaml
  .config/hcloud/cli.toml
  .config/scw/config.yaml
  .config/ngrok/ngrok.yml
  .oci/**
  .aliyun/config.json
  .databrickscfg
  .fly/config.yml
  .pulumi/credentials.json
  .kaggle/kaggle.json
  .huggingface/token
  .cache/huggingface/token
  .config/rclone/rclone.conf
  .config/sops/**
  .config/op/**
  .config/containers/auth.json
  .docker/config.json
  .dockercfg
  .dockerconfigjson
  .config/helm/registry/config.json
  .kube/config
  .kube/*.conf
  kubeconfig
  =kubeconfig.yaml
  =kubeconfig.yml
  *.kubeconfig
  .netrc
  _netrc
  .authinfo
  .authinfo.gpg
  .smbcredentials
  .credentials
  .git-credentials
  .config/git/credentials
  .pgpass
  .my.cnf
  .mylogin.cnf
  .npmrc
  .pypirc
  =.yarnrc.yml
  .gem/credentials
  .cargo/credentials
  .cargo/credentials.toml
  .terraformrc
  .terraform.d/credentials.tfrc.json
  .vault-token
  .*-token
  .*_token
  .token
  .secret
  .passwd-s3fs
  .htpasswd
  .password-store/**
  .local/share/keyrings/**
  .local/share/kwalletd/**
  library/keychains/**
  .codex/auth.json
  .claude/.credentials.json
  =.claude.json
  .mozilla/firefox/*/logins.json
  .mozilla/firefox/*/key4.db
  login*data
  .mozilla/firefox/*/cookies.sqlite
  google-chrome/*/cookies
  chromium/*/cookies
  .subversion/auth/**
  .env
  .env.* !.env.example !.env.sample !.env.template !.env.dist
  *.env !example.env !sample.env !template.env
  *.key
  *.p8
  *.p12
  *.pfx
  *.kdbx
  *.keytab
  privkey*.pem
  key.pem
  *-key.pem
  *_key.pem
  .env~
  *.keyring
  *.keystore
  *.tfvars
  *.tfstate
  *.tfstate.backup
  =secret.yaml
  =secret.yml
  =*secrets.yaml
  =*secrets.yml
  =*secrets.json
  =secrets.toml
  =*credentials.json
  =client_secret*.json
  =*service-account*.json
  =*service_account*.json
  =wp-config.php
  secring.gpg
  smbpasswd
  *.ppk
  *.jks
  *.ovpn
  .envrc
  .s3cfg
  .boto
  .msmtprc
  .vault_pass*
  =vault_pass*
  .m2/settings.xml
  .gradle/gradle.properties
  .composer/auth.json
  .config/composer/auth.json
  .config/github-copilot/**
  .config/stripe/**
  .config/configstore/**
  .config/netlify/config.json
  .config/linode-cli
  .config/tea/config.yml
  .config/filezilla/**
  .cloudflared/** !config.yml
  .ngrok2/**
  .gemini/oauth_creds.json
  com.vercel.cli/auth.json
  containers/auth.json
  .age/**
  .vnc/passwd
  .mc/config.json
  .influxdbv2/configs
  .snowsql/config
  .dbt/profiles.yml
  .purple/accounts.xml
  .fetchmailrc
  .xauthority
  .iceauthority
  jupyter_cookie_secret
  hs_ed25519_secret_key
  private_keys/**
  =config.v2.json
  /etc/chef/*.pem
  /etc/cloudflared/*.json
  /etc/docker/key.json
  /etc/dovecot/private/**
  /etc/salt/pki/** !*.pub
  /etc/samba/private/**
  /var/lib/sss/db/**
  /var/lib/cloud/instance/user-data.txt*
  /etc/postfix/sasl_passwd
  /etc/exim4/passwd.client
  /etc/mysql/debian.cnf
  /var/lib/rancher/k3s/server/token
  /etc/shadow
  /etc/shadow-
  /etc/gshadow
  /etc/gshadow-
  /etc/security/opasswd
  /etc/master.passwd
  etc/shadow
  etc/shadow-
  etc/gshadow
  etc/gshadow-
  etc/master.passwd
  /var/backups/shadow.bak
  /var/backups/gshadow.bak
  /var/db/shadow/**
  /var/lib/samba/private/**
  /var/lib/kubelet/config.json
  /etc/ssl/private/**
  /etc/pki/tls/private/**
  /etc/letsencrypt/keys/**
  /etc/wireguard/**
  =wg#.conf
  /etc/ipsec.secrets
  /etc/ppp/*-secrets
  /etc/openvpn/** !*.conf !*.crt
  /etc/networkmanager/system-connections/**
  /etc/wpa_supplicant/**
  /etc/krb5.keytab
  /etc/kubernetes/*.conf
  /etc/kubernetes/pki/** !*.crt !*.pub
  /etc/rancher/k3s/k3s.yaml
  /var/lib/kubelet/pki/**
  /run/secrets/**
  /var/run/secrets/**
  /proc/#/environ
  /proc/#/task/#/environ
  /proc/#/root/**
  /proc/#/cwd/**
  /proc/#/mem
  /proc/#/task/#/mem
  /proc/#/task/#/root/**
  /proc/#/task/#/cwd/**
  /proc/vmcore
  /proc/#/fd/**
  /proc/#/task/#/fd/**
  /proc/#/map_files/**
  /proc/kcore
`),
);

/** `#` is the number of a user. */
export const own = once(() =>
  table(`
  .buddyx/**
  .agentx/**
  buddy-#/**
  /tmp/buddy-#/**
  /private/tmp/buddy-#/**
  /dev/shm/buddy-#/**
  /tmp/buddy-#/*/key
  /private/tmp/buddy-#/*/key
  /dev/shm/buddy-#/*/key
  /run/user/*/buddy/**
  .cache/buddy/**
  .local/state/buddy/**
`),
);
