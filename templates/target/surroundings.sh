# Prints what tells these namespaces and this root directory from others.
for n in mnt net pid uts ipc user cgroup time; do readlink "/proc/self/ns/$n" 2>/dev/null; done
ls -di / 2>/dev/null
:
