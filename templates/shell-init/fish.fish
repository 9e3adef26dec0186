# buddy: prompt marks for this pane, read after your own start-up files.
set -g __buddy_dir $BUDDY_DIR
set -e BUDDY_DIR
set -g __buddy_pane (string replace % '' -- $TMUX_PANE)
set -g __buddy_id 0
set -g __buddy_code 0
set -g __buddy_tag 0
read -g __buddy_key <$__buddy_dir/key
read -g __buddy_run <$__buddy_dir/run
# Where that is gone, nothing is written into the root directory.
test -n "$__buddy_run"; or set -g __buddy_run $__buddy_dir
if test -r $__buddy_run/$__buddy_pane.cwd
    read -z __buddy_file <$__buddy_run/$__buddy_pane.cwd
    builtin cd -- $__buddy_file 2>/dev/null
    set -e __buddy_file
end

# Each of these hides from a trace (fish_trace) what it does: the key would be on the screen.
function __buddy_ended --on-event fish_postexec
    set -g __buddy_code $status
    set -l fish_trace
    builtin printf '\033]7771;%s;E;%s;%s\a' $__buddy_key $__buddy_code $__buddy_tag
end
# Handlers run in the order in which they were defined: what yours print is not output.
for __buddy_file in (builtin functions --handlers-type generic 2>/dev/null | string replace -rf '^fish_postexec (?!__buddy_)' '')
    builtin functions $__buddy_file | builtin source
end
set -e __buddy_file

function __buddy_before --on-event fish_prompt
    set -l fish_trace
    # As marks carry it: a byte that a terminal could take for something else is %XX.
    set -g __buddy_at (string escape --style=url -- "$PWD")
    set -g __buddy_id (builtin math $__buddy_id + 1)
    __buddy_save >$__buddy_run/$__buddy_pane.env 2>/dev/null
    set -l mark "$__buddy_key;P;$__buddy_id;$__buddy_code;$__buddy_tag;$__buddy_at"
    builtin printf '\033]7;buddy;%s\a\033]7771;%s\a' $mark $mark
    set -g __buddy_tag 0
end

# For background shells, as sh reads it.
function __buddy_save
    for name in (set -nx)
        string match -q '__buddy_*' -- $name; and continue
        string match -qr '^[A-Za-z_][A-Za-z_0-9]*$' -- $name; or continue
        builtin printf "export %s='%s'\n" $name (string replace -a "'" "'\\''" -- "$$name" | string collect)
    end
    builtin printf 'umask %s\n' (umask)
end

function __buddy_start --on-event fish_preexec
    set -l fish_trace
    # What you entered: on the screen it may be on several rows.
    set -l line
    test "$__buddy_tag" = 0; and not set -q __buddy_taken; and set line ';L;'(string sub -l 500 -- "$argv" | string replace -ra '[[:cntrl:]]' ' ' | string join ' ')
    set -e __buddy_taken
    builtin printf '\033]7;buddy;%s;C;%s;%s\a\033]7771;%s;C;%s%s\a' $__buddy_key $__buddy_tag $__buddy_at $__buddy_key $__buddy_tag "$line"
end

# The last of all handlers, however late another was defined: what yours print is not output.
function __buddy_last
    set -l others (builtin functions --handlers-type generic 2>/dev/null | string match -r '^fish_preexec .*')
    test "$others[-1]" = 'fish_preexec __buddy_start'; or builtin functions __buddy_start | builtin source
end

function __buddy_status
    return $argv[1]
end

# Bound to a key that no keyboard sends: puts the command into the line at once, whatever the operator had typed there.
function __buddy_take
    set -l fish_trace
    if builtin commandline --paging-mode; or builtin commandline --search-mode
        # A list is open: that is given up first, buddy asks again.
        builtin printf '\033]7771;%s;T;;\a' $__buddy_key
        builtin commandline -f cancel
        return
    end
    # Without what is left of this key where it came after half of another one.
    set -g __buddy_aside (builtin commandline -b | string replace -ra '\e?\[7771~' '' | string collect)
    set -l aside (builtin printf '%s\n' $__buddy_aside | string replace -ra '[[:cntrl:]]' ' ' | string join ' ')
    set -l content ''
    test -s $__buddy_run/$__buddy_pane.next; and read -z content <$__buddy_run/$__buddy_pane.next
    builtin echo -n >$__buddy_run/$__buddy_pane.next
    set -l parts (string split -m 1 \n -- $content)
    # Either this shell or buddy decides about a command: whoever makes its file. Otherwise buddy has withdrawn it, or it was taken.
    if test -n "$parts[2]"; and not builtin echo -n 2>/dev/null >?$__buddy_run/$__buddy_pane.claim.$parts[1]
        set parts ''
    end
    set -g __buddy_taken 1
    __buddy_last
    builtin printf '\033]7771;%s;T;%s;%s\a' $__buddy_key $parts[1] "$aside"
    set -g __buddy_tag 0
    if test -z "$parts[1]"
        # Nothing to run: the line is given up.
        set -e __buddy_taken
        builtin commandline -r ''
        return
    end
    set -g __buddy_tag $parts[1]
    builtin commandline -r -- "$parts[2]"
    builtin commandline --is-valid 2>/dev/null
    set -l valid $status
    # An invalid line would stay in the editor; evaluated, it fails like any command.
    test $valid -eq 1; and builtin commandline -r -- "eval "(string escape -- "$parts[2]")
    if test $valid -eq 2
        builtin commandline -r ''
        builtin printf '\033]7771;%s;I\a' $__buddy_key
        set -g __buddy_tag 0
    else
        builtin commandline -f execute
    end
end

# To where a clean child was last, which file $argv has.
function __buddy_follow
    read -lz to <$argv[1]
    set to (string replace -r '\n$' '' -- "$to" | string collect)
    test -n "$to"; and test "$to" != "$PWD"; and builtin cd -- "$to" >/dev/null 2>/dev/null
end

# Another such key: puts back what was set aside, before whatever was typed since.
function __buddy_give
    set -l point (builtin math (string length -- "$__buddy_aside") + (builtin commandline -C))
    builtin commandline -r -- "$__buddy_aside"(builtin commandline -b | string collect)
    builtin commandline -C $point
    set -g __buddy_aside ''
end

builtin functions -q __buddy_user_prompt; or builtin functions -c fish_prompt __buddy_user_prompt
function fish_prompt
    set -l fish_trace
    builtin printf '[buddy %s: %s] ' $__buddy_id $__buddy_code
    __buddy_status $__buddy_code
    __buddy_user_prompt
    builtin printf '\033]7771;%s;B\a' $__buddy_key
end

# The title names the directory: a control character in it would end the title, and the rest be taken for output.
builtin functions -q fish_title; and builtin functions -c fish_title __buddy_title
function fish_title
    builtin functions -q __buddy_title; and __buddy_title $argv | string replace -ra '[[:cntrl:]]' ' '
end

for __buddy_mode in default insert
    builtin bind -M $__buddy_mode \e\[7771\~ __buddy_take
    builtin bind -M $__buddy_mode \e\[7773\~ __buddy_give
end
set -e __buddy_mode
builtin echo up 2>/dev/null >$__buddy_run/$__buddy_pane.up
