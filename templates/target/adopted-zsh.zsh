# The hooks of an adopted zsh.
__buddy_m= __buddy_h=
[[ -o histignorespace ]] || { __buddy_h=1; setopt histignorespace; }
. ./adopted-place.sh
__buddy_ps() {
  local at=$(__buddy_at 0)
  [[ -z $__buddy_m ]] || PROMPT=${PROMPT//"$__buddy_m"/}
  __buddy_m=$'%{\e]7771;'$__buddy_k$';B;'${at//\%/%%}$'\a%}'
  PROMPT=$PROMPT$__buddy_m
}
__buddy_off() {
  precmd_functions=(${precmd_functions:#__buddy_ps})
  PROMPT=${PROMPT//"$__buddy_m"/}
  [[ -z $__buddy_h ]] || unsetopt histignorespace
  printf '\033]7771;%s;X;0\a' "$__buddy_k"
  unfunction __buddy_bare __buddy_exec 2>/dev/null
  unfunction @decoder@ @viewer@ @adder@ @runner@ @asker@ __buddy_ps __buddy_off __buddy_at
  unset __buddy_k __buddy_m __buddy_h __buddy_c __buddy_n
}
precmd_functions+=(__buddy_ps)
