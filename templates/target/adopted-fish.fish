# The hooks of an adopted fish.
function @runner@
  printf '\033]7771;%s;C;%s\a' $__buddy_k $argv[1]
  eval $__buddy_c
  set -l c $status
  set -e __buddy_c
  printf '\033]7771;%s;P;0;%s;%s;%s\a' $__buddy_k $c $argv[1] (string escape --style=url -- $PWD)
  return $c
end
functions -c fish_prompt __buddy_prompt
function __buddy_off
  printf '\033]7771;%s;X;0\a' $__buddy_k
  functions -e fish_prompt
  functions -c __buddy_prompt fish_prompt
  functions -e __buddy_prompt @runner@ __buddy_off
  set -e __buddy_c
  set -e __buddy_k
end
function fish_prompt
  __buddy_prompt
  printf '\033]7771;%s;B;%s\a' $__buddy_k (string escape --style=url -- $PWD)
end
