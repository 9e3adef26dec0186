# fish completion for buddy; in ~/.config/fish/config.fish: buddy completion fish | source
function __buddy_complete
    # Without the quote that it may begin with.
    set -l words (commandline -opc) (commandline -ct | string replace -r '^[\'"]' '')
    set -l lines (command $words[1] __complete $words[2..-1] 2>/dev/null)
    switch "$lines[1]"
        case :files
            __fish_complete_path (commandline -ct)
        case :directories
            __fish_complete_directories (commandline -ct)
        case '*'
            string join \n -- $lines
    end
end
complete -c buddy -f -a '(__buddy_complete)'
