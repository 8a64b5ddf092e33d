# The process between a node and a container's command. It outlives the node, starts the command
# once, passes signals on, and leaves the exit code in a file.
#
#   sh shim.sh RUN_DIR CLAIM WORKING_DIR CGROUPS COMMAND...
#
# RUN_DIR/CLAIM is created exclusively: whoever creates it decides about this start, so that a
# command is never started by two shims, nor after the node has given the start up.
# CGROUPS are directories, separated by spaces. The process group that this shell leads ends with it.
_volcano_run=$1 _volcano_claim=$2 _volcano_cwd=$3 _volcano_groups=$4
shift 4
_volcano_child= _volcano_early=

_volcano_pass() {
    if test -n "$_volcano_child"; then
        kill -s "$1" "$_volcano_child" 2>/dev/null
    else
        _volcano_early=$1
    fi
}
for _volcano_signal in TERM HUP INT QUIT USR1 USR2; do
    trap "_volcano_pass $_volcano_signal" "$_volcano_signal"
done

_volcano_start() {
    shift 19
    printf '%s %s\n' "$$" "$1"
}
read -r _volcano_stat <"/proc/$$/stat"
set -C
{ _volcano_start ${_volcano_stat##*) } >"$_volcano_run/$_volcano_claim"; } 2>/dev/null || exit 0
set +C

(
    for _volcano_group in $_volcano_groups; do
        echo 0 >"$_volcano_group/cgroup.procs" || exit 125
    done
    cd "$_volcano_cwd" || exit 126
    unset OLDPWD
    exec "$@"
) </dev/null >>"$_volcano_run/log" 2>&1 &
_volcano_child=$!
# A signal between the fork and the child's own signal table would be lost. The child opens its log
# after that, so the log's existence says when it can be signalled; the node waits for it, too.
if test -n "$_volcano_early"; then
    until test -e "$_volcano_run/log" || ! kill -0 "$_volcano_child" 2>/dev/null; do :; done
    kill -s "$_volcano_early" "$_volcano_child"
fi

# A trap interrupts `wait` with a code that is not the command's: ask again while it lives.
while :; do
    wait "$_volcano_child"
    _volcano_code=$?
    kill -0 "$_volcano_child" 2>/dev/null || break
done
printf '%s\n' "$_volcano_code" >"$_volcano_run/exit.new" &&
    mv "$_volcano_run/exit.new" "$_volcano_run/exit"
kill -s KILL "-$$"
