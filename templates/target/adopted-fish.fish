# The hooks of an adopted fish.
function @decoder@
  printf '%b' (string replace -a , ' ' -- "$argv[1]" | string replace -a + '\\')
end
function @viewer@
  string match -qr '[[:cntrl:]]|^__buddy_bare ' -- "$argv[1]"; or printf '%s\n' "$argv[1]"
end
function @adder@
  set -l p (string split -r -m 2 . -- $argv[1])
  test "$__buddy_t" = $p[3]; or set -g __buddy_c
  set -g __buddy_t $p[3]
  set -g -a __buddy_c $p[1]
  test (count $__buddy_c) = $p[2]; or set -g __buddy_t ''
end
function @runner@
  @adder@ $argv[1]
  set -l t (string split -r -m 1 . -- $argv[1])[2]
  set -l c (@decoder@ (string join '' -- $__buddy_c) | string collect)
  test "$__buddy_t" = $t; or set c 'false'
  set -q argv[2]; or @viewer@ $c
  set -e __buddy_c
  set -e __buddy_t
  printf '\033]7771;%s;C;%s\a' $__buddy_k $t
  eval $c
  set -l c $status
  printf '\033]7771;%s;P;0;%s;%s;%s\a' $__buddy_k $c $t (string escape --style=url -- $PWD)
  return $c
end
function @asker@
  set -l p (string split -r -m 1 . -- $argv[1])
  @viewer@ (@decoder@ $p[1] | string collect)
  @runner@ (sh -c '@read_unseen@' sh $p[2]) shown
end
functions -c fish_prompt __buddy_prompt
function __buddy_off
  printf '\033]7771;%s;X;0\a' $__buddy_k
  functions -e fish_prompt
  functions -c __buddy_prompt fish_prompt
  functions -e __buddy_bare @decoder@ @viewer@ __buddy_prompt @adder@ @runner@ @asker@ __buddy_off
  set -e __buddy_k
end
function fish_prompt
  __buddy_prompt
  printf '\033]7771;%s;B;%s\a' $__buddy_k (string escape --style=url -- $PWD)
end
