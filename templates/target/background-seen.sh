# Arguments: base, id, session, offsets into stdout and stderr up to which the session has read.
. ./background-find.sh
echo "$3 $4" >"$d/seen.$2.new" && mv "$d/seen.$2.new" "$d/seen.$2"
