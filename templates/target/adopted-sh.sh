# The hooks of an adopted sh. The backslashes tell the line editor of busybox that the mark has no width.
__buddy_m=$(printf '\033]7771;%s;B;' "$__buddy_k") __buddy_e=$(printf '\a')
__buddy_off() {
  PS1=$__buddy_p
  printf '\033]7771;%s;X;0\a' "$__buddy_k"
  unset -f @decoder@ @viewer@ @adder@ @runner@ @asker@ __buddy_bare __buddy_exec __buddy_ps __buddy_off
  unset __buddy_k __buddy_p __buddy_m __buddy_e __buddy_c __buddy_n
}
__buddy_ps() {
  case $PS1 in *__buddy_m*) ;; *) __buddy_p=$PS1
  case ${BB_ASH_VERSION-} in [0-9]*) PS1=$PS1'\[@ready@\]' ;; *) PS1=$PS1'@ready@' ;; esac ;; esac
}
__buddy_ps
