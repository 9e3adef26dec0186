# No inner shell reads a start-up file (with SSH_CLIENT set and SHLVL below 2, bash does), no pager waits for keys, git does not write
# to its index, pip (before 23.1) and Homebrew do not look for updates, make of BSD (`--version` is `-v ersion` there) reads no
# Makefile, and programs, cd and git use the paths that the policy has checked.
@absolute_path@
[ "${SHLVL:-0}" -gt 2 ] || export SHLVL=3
unset BASH_ENV ENV CDPATH GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_CONFIG_PARAMETERS
export PAGER=cat GIT_PAGER=cat MANPAGER=cat SYSTEMD_PAGER=cat GIT_OPTIONAL_LOCKS=0 PIP_DISABLE_PIP_VERSION_CHECK=1
export HOMEBREW_NO_AUTO_UPDATE=1 HOMEBREW_NO_ANALYTICS=1 MAKEFLAGS='-f /dev/null'
case ${GIT_CONFIG_COUNT:=0} in
*[!0-9]* | 0?* | ????*) ;;
*) eval "export GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=diff.autoRefreshIndex GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=false"
  export GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1)) ;;
esac
