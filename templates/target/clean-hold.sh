# shellcheck shell=bash
# A command and all that it starts inherit the writing end of a pipe as 9; 7 is the reading end in this shell. So end of file on 7
# means that all of them have ended. The policy asks about every command that uses 9 or more. Older versions of bash use a file for
# `<<<`.
__buddy_hold=/proc/self/fd/7
{ { exec 7<<<x && [ -p /proc/self/fd/7 ] && read -r __buddy_line <&7 || exec 7< <(:); } && : 9>$__buddy_hold; } 2>/dev/null || { exec 7</dev/null; __buddy_hold=/dev/null; }
