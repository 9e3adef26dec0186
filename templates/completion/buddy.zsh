#compdef buddy
# zsh completion for buddy; in ~/.zshrc after compinit: eval "$(buddy completion zsh)"
_buddy() {
  local line
  local -a values shown
  for line in "${(@f)$(command ${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) _files; return ;;
      :directories) _files -/; return ;;
      *)
        values+=("${line%%$'\t'*}")
        if [[ $line == *$'\t'* ]]; then shown+=("${line/$'\t'/  -- }"); else shown+=("$line"); fi
        ;;
    esac
  done
  (( $#values )) && compadd -l -d shown -a values
}
if [[ ${funcstack[1]} == _buddy ]]; then _buddy "$@"; else compdef _buddy buddy; fi
