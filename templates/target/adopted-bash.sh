# shellcheck shell=bash
# The hooks of an adopted bash. @mark@ is printed after the prompt: it is drawn, and in which directory.
__buddy_m=$'\e]7771;'$__buddy_k';B;' __buddy_e=$'\a' __buddy_h=${HISTCONTROL-}
HISTCONTROL=ignorespace:$__buddy_h
. ./adopted-place.sh
__buddy_ps() {
  case $PS1 in *__buddy_m*) ;; *) PS1=$PS1@mark@ ;; esac
}
__buddy_off() {
  PS1=${PS1//@mark@/}
  PROMPT_COMMAND=${PROMPT_COMMAND//$'\n''${__buddy_m:+__buddy_ps}'/}
  PROMPT_COMMAND=${PROMPT_COMMAND//'${__buddy_m:+__buddy_ps}'/}
  [ -n "$PROMPT_COMMAND" ] || [ "${#PROMPT_COMMAND[@]}" -gt 1 ] || unset PROMPT_COMMAND
  HISTCONTROL=$__buddy_h
  [ -n "$HISTCONTROL" ] || unset HISTCONTROL
  printf '\033]7771;%s;X;0\a' "$__buddy_k"
  unset -f @decoder@ @viewer@ @adder@ @runner@ @asker@ __buddy_bare __buddy_exec __buddy_ps __buddy_off __buddy_at
  unset __buddy_k __buddy_m __buddy_e __buddy_h __buddy_c __buddy_n
}
# The first lines were typed before HISTCONTROL was set.
__buddy_f() {
  local h
  h=$(HISTTIMEFORMAT= history 1)
  [[ $h == *@word@* && $h =~ ^\ *([0-9]+) ]] && history -d "${BASH_REMATCH[1]}" && __buddy_f
}
__buddy_f
unset -f __buddy_f
__buddy_ps
# shellcheck disable=SC2178
PROMPT_COMMAND=${PROMPT_COMMAND:+"$PROMPT_COMMAND"$'\n'}'${__buddy_m:+__buddy_ps}'
