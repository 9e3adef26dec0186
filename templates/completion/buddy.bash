# bash completion for buddy; in ~/.bashrc: eval "$(buddy completion bash)"
_buddy() {
  local line words=() found=() i
  # Words as typed: readline splits at =, : and @, which buddy wants whole.
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
  local current=${words[${#words[@]}-1]}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default -o filenames; return ;;
      :directories) compopt -o dirnames; COMPREPLY=($(compgen -d -- "$current")); return ;;
      *) found+=("${line%%$'\t'*}") ;;
    esac
  done < <(command "${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  # What readline already took as a word of its own must not be repeated.
  local prefix=${current%"${current##*[=:@]}"}
  [[ -n $prefix && $COMP_WORDBREAKS == *"${prefix: -1}"* ]] || prefix=
  # Of the three only the @ stays with what follows it.
  prefix=${prefix%@}
  for ((i = 0; i < ${#found[@]}; i++)); do COMPREPLY+=("${found[i]#"$prefix"}"); done
}
complete -F _buddy buddy
