# lib.sh: tests of the command line that read as sentences. A test file is a bash script
# tests/cli/NAME.t.sh, found by itself, that prints TAP:
#
#   . "$(dirname "$0")/lib.sh"
#
#   it 'refuses an empty file with one line'
#   : >empty
#   run pitot top empty
#   expect_status 1
#   expect_stderr 'pitot: empty: the file is empty'
#
# `it` begins a test; the next `it`, or the end of the file, ends it. A test fails if one of its
# expectations does. The file runs in a fresh empty folder which is removed afterwards, with stdin
# empty, HOME there, and these set by the runner (what the file has started is ended before that, and
# what it has left in /dev/shm fails a test of its own):
#
#   PITOT            the program under test (the command `pitot` below calls it)
#   PITOT_BUILD      the build folder it is in, which also holds libprofiler.so.0
#   PITOT_ROOT       the top of the source tree
#   PITOT_SANITIZED  1 under the sanitizers
#   PITOT_CORPUS     real profiles, or unset: see corpus
set -u
: "${PITOT_ROOT:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"
: "${PITOT_BUILD:=$PITOT_ROOT/build}"
: "${PITOT:=$PITOT_BUILD/pitot}"
: "${PITOT_SANITIZED:=0}"
export PITOT_ROOT PITOT_BUILD PITOT PITOT_SANITIZED

t_dir=$(mktemp -d "${TMPDIR:-/tmp}/pitot-cli.XXXXXX") || exit 1
t_out=$(mktemp -d "${TMPDIR:-/tmp}/pitot-out.XXXXXX") || exit 1
export HOME=$t_dir
export PITOT_TEST_DIR=$t_dir # t_running finds by it what this file has started
unset XDG_CACHE_HOME PPROF_BINARY_PATH DEBUGINFOD_URLS
export PITOT_PAGER=
cd "$t_dir" || exit 1
exec </dev/null

t_name= t_count=0 t_failed=0 t_skip= t_shown= t_before=0 t_started= status=0

pitot() { "$PITOT" "$@"; }

# --- tests

# it SENTENCE: what follows is the test of that sentence.
it() {
    t_finish
    t_name=$1 t_failed=0 t_skip= t_shown= status=0
    : >"$t_out/stdout"
    : >"$t_out/stderr"
    echo '(nothing was run)' >"$t_out/command"
}

# skip REASON: the current test cannot be done here. What fails after it is shown, and does not count.
skip() { t_skip=$1; }

# skip_all REASON: no test of this file can be done here. Before the first `it`.
skip_all() {
    echo "1..0 # SKIP $1"
    t_count=-1
    exit 0
}

# corpus FILE: the path of a real profile is in $corpus, or false and the test is skipped.
corpus() {
    if [ -z "${PITOT_CORPUS:-}" ]; then
        skip 'PITOT_CORPUS is not set'
        return 1
    fi
    corpus=$PITOT_CORPUS/$1
    if [ ! -e "$corpus" ]; then
        skip "PITOT_CORPUS has no $1"
        return 1
    fi
}

# npm_package NAME: the folder of a package of npm is in $package, or false and the test is skipped.
# They are what other tools say of a file; docs/testing.md tells how to get them.
npm_package() {
    package=${PITOT_NPM:-$PITOT_ROOT/build-test/npm}/node_modules/$1
    if [ ! -e "$package" ]; then
        skip "the npm package $1 is not here: npm install --prefix build-test/npm $1"
        return 1
    fi
}

# needs COMMAND...: false, and the test is skipped, if one of these commands is not installed.
needs() {
    local command
    for command; do
        if ! command -v "$command" >/dev/null; then
            skip "$command is not installed"
            return 1
        fi
    done
}

# fail MESSAGE: the current test fails.
fail() {
    if [ -n "$t_skip" ]; then
        printf '%s\n' "$1" | sed 's/^/# ignored, since skipped: /'
    else
        if [ $t_failed = 0 ]; then
            sed 's/^/# ran: /' "$t_out/command"
            t_show stderr
        fi
        printf '%s\n' "$1" | sed 's/^/# /'
        t_failed=1
    fi
    return 0
}

# --- running

# run COMMAND...: its exit status is then in $status, its output in the files that the
# expectations below look at.
run() {
    printf '%s\n' "$*" >"$t_out/command"
    status=0 t_shown=
    "$@" >"$t_out/stdout" 2>"$t_out/stderr" || status=$?
}

# eventually COMMAND...: repeats it until it succeeds, for what another process does in its own time.
# False after five minutes: that is for a machine where it never does, not a measure of speed.
eventually() {
    local give_up=$((SECONDS + 300))
    while ((SECONDS < give_up)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.05
    done
    return 1
}

# kill_bpf_recorder PROGRAM MAP OPTION...: `pitot record --engine=bpf OPTION...` is killed once it has
# loaded BPF programs and maps of these names, which then go. Programs of other tests' recorders may
# come and go meanwhile. The recorder has a /dev/shm of its own, if that may be: what a killed one leaves
# there is told to others.
kill_bpf_recorder() {
    local names="^prog $1 \|^map $2 " apart= recorder
    shift 2
    in_kernel() { python3 "$PITOT_ROOT/tests/cli/bpf_left.py" | grep "$names" | sort; }
    is_loaded() { in_kernel | comm -13 before - >since && grep -q ^prog since && grep -q ^map since; }
    has_gone() { [ -z "$(in_kernel | comm -12 since -)" ]; }
    in_kernel >before
    ! unshare -m mount -t tmpfs none /dev/shm 2>/dev/null || apart='mount -t tmpfs none /dev/shm;'
    ${apart:+unshare -m} sh -c "$apart"' exec "$0" record --engine=bpf "$@" -o killed.pb.gz' "$PITOT" "$@" 2>said &
    recorder=$!
    eventually is_loaded || fail "$(cat said)"
    kill -KILL $recorder
    wait $recorder 2>/dev/null
    eventually has_gone || fail "there yet: $(in_kernel | comm -12 since -)"
}

# The output of the last run, for use in $(...) and pipes.
stdout() { cat "$t_out/stdout"; }
stderr() { cat "$t_out/stderr"; }

# --- expectations; STREAM is stdout or stderr

expect_status() {
    if [ "$status" != "$1" ]; then
        fail "exit status $status, expected $1"
        t_show stderr
    fi
}

# expect_stdout TEXT: all of it, but for the last newline.
expect_stdout() { t_whole stdout "$1"; }
expect_stderr() { t_whole stderr "$1"; }
expect_no_stdout() { t_whole stdout ''; }
expect_no_stderr() { t_whole stderr ''; }

# expect_stdout_line GLOB: some line matches the shell pattern as a whole.
expect_stdout_line() { t_has_line stdout "$1" || t_missed stdout "no line matches: $1"; }
expect_stderr_line() { t_has_line stderr "$1" || t_missed stderr "no line matches: $1"; }
expect_no_stdout_line() { ! t_has_line stdout "$1" || t_missed stdout "a line matches: $1"; }
expect_no_stderr_line() { ! t_has_line stderr "$1" || t_missed stderr "a line matches: $1"; }

# expect_stdout_has TEXT: these characters are somewhere in it.
expect_stdout_has() { grep -qF -e "$1" "$t_out/stdout" || t_missed stdout "not in it: $1"; }
expect_stderr_has() { grep -qF -e "$1" "$t_out/stderr" || t_missed stderr "not in it: $1"; }

# expect_stdout_lines N: so many lines.
expect_stdout_lines() { t_lines stdout "$1"; }
expect_stderr_lines() { t_lines stderr "$1"; }

# expect COMMAND...: the command succeeds.
expect() {
    local said
    if ! said=$("$@" 2>&1); then
        fail "false: $*"
        [ -z "$said" ] || fail "$said"
    fi
}

# expect_equal WHAT IS SHOULD
expect_equal() { [ "$2" = "$3" ] || fail "$1 is '$2', expected '$3'"; }

# expect_same FILE FILE: the same bytes.
expect_same() {
    cmp -s "$1" "$2" && return 0
    fail "$1 and $2 differ"
    fail "$(diff "$1" "$2" 2>&1 | head -20)"
}

# --- inside

# t_show STREAM: what the last run wrote there, once.
t_show() {
    case $t_shown in *" $1 "*) return 0 ;; esac
    t_shown+=" $1 "
    head -n 20 "$t_out/$1" | sed "s/^/# $1: /"
    return 0
}

t_missed() {
    fail "$1: $2"
    t_show "$1"
}

t_whole() {
    [ "$(cat "$t_out/$1")" = "$2" ] && return 0
    fail "$1 is not: $2"
    t_show "$1"
}

t_has_line() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        # shellcheck disable=SC2053
        [[ $line == $2 ]] && return 0
    done <"$t_out/$1"
    return 1
}

t_lines() {
    local lines
    lines=$(wc -l <"$t_out/$1")
    [ "$lines" = "$2" ] || t_missed "$1" "$lines lines, expected $2"
}

# "# CPU 1.25 s": what the test and its commands have used since the one before ended.
t_cpu() {
    local rest user system centiseconds
    times >"$t_out/times"
    { read -r rest; read -r user system rest; } <"$t_out/times"
    centiseconds=0
    for rest in "$user" "$system"; do
        rest=${rest%s}
        rest=${rest//[m.]/ }
        set -- $rest
        centiseconds=$((centiseconds + 6000 * $1 + 100 * $2 + 10#$3 / 10))
    done
    printf '# CPU %d.%02d s\n' $(((centiseconds - t_before) / 100)) $(((centiseconds - t_before) % 100))
    t_before=$centiseconds
}

t_finish() {
    [ -n "$t_name" ] || return 0
    t_cpu
    t_count=$((t_count + 1))
    if [ -n "$t_skip" ]; then
        echo "ok $t_count - $t_name # SKIP $t_skip"
    elif [ $t_failed = 1 ]; then
        echo "not ok $t_count - $t_name"
    else
        echo "ok $t_count - $t_name"
    fi
    t_name=
}

# t_running: the pids of what this file has started and that runs yet, one a line: its children, and every process that
# has its folder in its environment.
t_running() {
    {
        jobs -pr
        jobs -ps
        PITOT_TEST_DIR= grep -lszxF "PITOT_TEST_DIR=$t_dir" /proc/[0-9]*/environ
    } >"$t_out/running"
    sed 's,/proc/,,; s,/environ,,' "$t_out/running"
}

# t_end_started: ends what this file has started, and waits until that has ended: recorders write into its folder then.
# What SIGTERM does not end in half a minute is killed. The pids are in $t_started.
t_end_started() {
    local pids pid give_up=$((SECONDS + 30))
    t_started=' '
    while pids=$(t_running); [ -n "$pids" ]; do
        for pid in $pids; do
            if ((SECONDS >= give_up)); then
                kill -KILL "$pid"
            elif [[ $t_started != *" $pid "* ]]; then
                t_started+="$pid "
                kill -TERM "$pid" && kill -CONT "$pid"
            fi
        done 2>/dev/null
        sleep 0.05
    done
}

# t_left: what this file's recorders have left in /dev/shm: profiles that they could not write where they should, and
# folders of killed ones, whose result should be in this file's folder.
t_left() {
    local path pid
    for path in /dev/shm/pitot.*.pb.gz; do
        pid=${path#*pitot.}
        [[ $t_started != *" ${pid%%.*} "* ]] || echo "$path"
    done
    for path in /dev/shm/pitot-record-*; do
        case $(readlink "$path/.result") in "$t_dir"/*) echo "$path" ;; esac
    done
}

t_end() {
    local ended=$? left
    trap - EXIT
    t_end_started
    left=$(t_left)
    if [ $t_count != -1 ]; then
        if [ -n "$left" ]; then
            it 'leaves nothing in /dev/shm'
            fail "is there: $left"
        fi
        t_finish
        echo "1..$t_count"
    fi
    [ -z "$left" ] || rm -rf $left
    cd / && rm -rf "$t_dir" "$t_out"
    exit $ended
}
trap t_end EXIT
