# What every step of the set-up shares: one line a step, one line a failure, stamps. Sourced by install.

say() {
    printf '%s\n' "$*"
}

fail() {
    printf 'set-up: %s\n' "$*" >&2
    exit 1
}

# One set-up at a time. A user who may read the lock may hold it, so readers may not where the umask forbids writing.
alone() {
    type -P flock >/dev/null || return 0
    local group=
    [[ $(umask) != *0? ]] || group=rw
    exec 9>>.tools/lock
    [ ! -O .tools/lock ] || chmod "u=rw,g=$group,o=" .tools/lock
    flock 9
}

# run STEP COMMAND...: the command's output goes to .tools/log/STEP.log; a failure is one line with its last words.
run() {
    local step=$1 log=.tools/log/$1.log
    shift
    "$@" </dev/null >>"$log" 2>&1 9>&- && return
    local words
    words=$(grep -iE '^(\[ERROR\]|E:|ERROR:).*[[:alnum:]]' "$log" | head -n 1 || true)
    fail "$step: ${words:-$(tail -n 1 "$log")} (all of it: $root/$log)"
}

# A step is done when its stamp holds the key of its inputs.
stamped() {
    [ -f "$1" ] && [ "$(<"$1")" = "$2" ]
}

key_of() {
    cat "$@" | sha256sum | cut -d ' ' -f 1
}

# The steps spend their time on downloads and unpacking, so they share it; each says itself what went wrong.
# Job control gives each a process group, with which an interrupt ends it whole.
side_by_side() {
    local step pids=() pid failed=0
    set -m
    trap 'kill -- "${pids[@]/#/-}" 2>/dev/null; exit 130' INT TERM
    for step in "$@"; do
        "$step" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || failed=1
    done
    trap - INT TERM
    set +m
    [ "$failed" = 0 ] || exit 1
}
