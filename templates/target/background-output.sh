# Arguments: base, id, session, most bytes of each stream, offsets ("": as stored on the target). Prints the
# state, then offset, size and bytes sent of stdout and of stderr, then the bytes of both.
LC_ALL=C; export LC_ALL
. ./background-find.sh
. ./background-tell.sh
o=${4-} e=${5-}
if [ -z "$o" ]; then o=0 e=0; if [ -f "$d/seen.$2" ]; then read -r o e <"$d/seen.$2"; fi; fi
tell "$d"
size() { n=$5; }
size $(ls -ln "$d/stdout"); so=$n
size $(ls -ln "$d/stderr"); se=$n
no=$((so - o)) ne=$((se - e))
if [ $no -gt "$3" ]; then no=$3; fi
if [ $ne -gt "$3" ]; then ne=$3; fi
printf '%s\0' $o $so $no $e $se $ne
if [ $no -gt 0 ]; then tail -c "+$((o + 1))" "$d/stdout" 2>/dev/null | take $no; fi
if [ $ne -gt 0 ]; then tail -c "+$((e + 1))" "$d/stderr" 2>/dev/null | take $ne; fi
exit 0
