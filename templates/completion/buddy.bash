# bash completion for buddy; in ~/.bashrc: eval "$(buddy completion bash)"
_buddy() {
  local line words=() found=() i quote=
  # Words as typed: readline splits at =, : and @, which buddy wants whole.
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
  local current=${words[${#words[@]}-1]}
  # Inside quotes readline takes the word whole, without the quote.
  if [[ $current == [\'\"]* ]]; then
    quote=${current:0:1} current=${current:1}
    words[${#words[@]}-1]=$current
  fi
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
  [[ -z $quote && -n $prefix && $COMP_WORDBREAKS == *"${prefix: -1}"* ]] || prefix=
  # Of the three only the @ stays with what follows it.
  prefix=${prefix%@}
  for ((i = 0; i < ${#found[@]}; i++)); do COMPREPLY+=("${found[i]#"$prefix"}"); done
  # More is to be typed after a directory, or the name of a parameter.
  [[ ${#found[@]} -eq 1 && ${found[0]} == *[/=] ]] && compopt -o nospace
}
complete -F _buddy buddy
