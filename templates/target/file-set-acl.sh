# Argument: path; the ACL on stdin.
if [ -L "$1" ]; then exit 3; fi
setfacl --set-file=- "$1"
