#compdef buddy
# zsh completion for buddy; in ~/.zshrc after compinit: eval "$(buddy completion zsh)"
_buddy() {
  local line
  local -a values shown
  for line in "${(@f)$(command ${words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
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
  # More is to be typed after a directory, or the name of a parameter.
  if [[ $#values == 1 && $values[1] == *[/=] ]]; then compadd -S '' -- $values; return; fi
  (( $#values )) && compadd -l -d shown -a values
}
if [[ ${funcstack[1]} == _buddy ]]; then _buddy "$@"; else compdef _buddy buddy; fi
