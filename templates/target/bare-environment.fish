# The same function in fish, whose variables can be hidden from what a block starts.
function __buddy_bare
    set -l fish_trace
    set -l keep
    for name in @names@
        set -l value "$$name"
        switch $name
            case '*_proxy' '*_PROXY'
                string match -qr -- '^[\w.@:+/~%,*\[\]=-]+$' $value; or continue
            case TZ 'XDG*' 'DBUS*'
                string match -qr -- '^(?!.*\.\.)(?:[^/:]|:?/usr/share/zoneinfo/|:?/etc/localtime$|(?:unix:path=)?/run/user/\d)[\w.:+/,=-]*$' $value; or continue
            case '*'
                string match -qr -- '^[\w.@:+-]+$' $value; or continue
        end
        set -a keep $name=$value
    end
    set -l hide
    for name in (set -nx)
        # fish itself reacts to the terminal and the locale; they do nothing to env.
        contains -- $name PWD SHLVL _ @names@; or set -a hide "set -l -u $name;"
    end
    set -l program /usr/bin/env
    test -x $program; or set program /bin/env
    builtin eval "$hide"' $program -i $keep PWD=$PWD $argv'
end
