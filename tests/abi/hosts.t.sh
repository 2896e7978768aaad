#!/usr/bin/env bash
# Hosts of all kinds do under the library what they do alone: what they print, how they end, what they
# see of themselves. One host is tried in every mode, the others in two; with PITOT_ALL_HOSTS=1 (make torture) all of
# them in all modes.
. "$(dirname "$0")/lib.sh"
unset PITOT_LISTEN PITOT_LISTEN_FIRST PITOT_CPUPROFILE_FIRST PITOT_RECORD_DIR

${CC:-cc} -O1 -g -pthread -D_GNU_SOURCE -Wno-unused-parameter "$here/hosts_host.c" -o host -ldl || exit 1
library=$PITOT_BUILD/libprofiler.so.0

# as MODE CASE...: runs it that way; what it prints is then in run.out and run.err, how it ended in
# run.status. What the library says on standard error is its own, and left out.
as() {
    rm -rf here run.*
    mkdir here
    chmod 777 here
    local how=$1
    shift
    export HOST_OURS=1
    unset HOST_LATE
    [ -z "${HOST_FORKS:-}" ] || HOST_OURS=
    case $how in
        alone) HOST_OURS=0 ;;
        record) export HOST_LATE=1 ;;
        pressed | ticker) HOST_OURS=2 ;;
    esac
    (
        cd here || exit 1
        case $how in
            alone) ../host run ../run ../host "$@" ;;
            profile) ../host run ../run env CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 LD_PRELOAD="$library" ../host "$@" ;;
            record) "$PITOT" record --engine=preload -o rec.pb.gz ../host run ../run ../host "$@" 2>record.err ;;
            listen) ../host run ../run env PITOT_LISTEN="unix:$PWD/s" LD_PRELOAD="$library" ../host "$@" ;;
            waits) ../host run ../run env CPUPROFILE=prof CPUPROFILESIGNAL=12 LD_PRELOAD="$library" ../host "$@" ;;
            pressed)
                ../host run ../run env CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 CPUPROFILESIGNAL=12 HOST_PRESS=12 \
                    LD_PRELOAD="$library" ../host "$@"
                ;;
            ticker)
                ../host run ../run ../host refused env CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 LD_PRELOAD="$library" \
                    ../host "$@"
                ;;
            static | archive) ../host run ../run env CPUPROFILE=prof ../$how/host "$@" ;;
        esac
    )
    grep -v '^pitot: libprofiler: ' run.err >run.said
}

# same CASE MODE...: as alone in each of the modes, or in two of them, other ones for each case.
turn=0
same() {
    local again file how case=$1
    if [ "${PITOT_ALL_HOSTS:-0}" = 0 ] && [ "$case" != main_first ]; then
        local -a modes=("${@:2}")
        turn=$((turn + 1))
        set -- "$case" "${modes[turn % ${#modes[@]}]}" "${modes[(turn + 1) % ${#modes[@]}]}"
    fi
    as alone "$case"
    for file in out said status; do mv run.$file alone.$file; done
    for how in "${@:2}"; do
        as "$how" "$case"
        # A tick in a thread under strict seccomp makes a system call that ends it by SIGKILL
        # (docs/libprofiler.md): by chance, so that another run does not meet it.
        for again in 1 2 3 4 5 6 7 8; do
            [ "$case" = strict ] && ! cmp -s alone.status run.status || break
            as "$how" "$case"
        done
        for file in out said status; do
            cmp -s "alone.$file" "run.$file" ||
                fail "$case, $how, $file: $(diff "alone.$file" "run.$file" 2>&1 | head -20)"
        done
    done
}

# With libprofiler.a: a program that is static altogether, and one that is not. A C library may have no
# static form here.
built=
for how in static archive; do
    mkdir $how
    link=()
    [ $how = archive ] || link=(-static)
    ${CC:-cc} "${link[@]}" -O1 -g -pthread -D_GNU_SOURCE -Wno-unused-parameter "$here/hosts_host.c" -o $how/host \
        -Wl,--whole-archive "$PITOT_BUILD/libprofiler.a" -Wl,--no-whole-archive -ldl 2>link.err && built="$built $how"
done

# --- endings

everywhere="profile record listen waits pressed ticker $built"
it 'the process ends with the last thread of the program, in it'
for case in main_first worker_first alone c11 breed exits masked; do
    same $case $everywhere
done
same hidden ${everywhere/static/}

it 'a signal for the process is taken by the threads of the program, or ends it'
for case in term term_handled; do
    same $case $everywhere
done

it 'the profile is whole when the process ended with its last thread'
for how in profile pressed ticker; do
    profile=here/prof
    [ $how != pressed ] || profile=here/prof.0
    # A profile that a signal starts may begin when 20 ms of work are over: that host is run again.
    for again in 1 2 3 4 5 6 7 8; do
        as $how main_first
        [ $how = pressed ] && ! "$PITOT" top $profile >/dev/null 2>&1 || break
    done
    run pitot top "$profile"
    expect_status 0
    expect_stdout_line '* work*'
done
as record main_first
run pitot top here/rec.pb.gz
expect_status 0
expect_stdout_line '* work*'

it 'a child of fork ends with its last thread, too'
same forked profile record listen waits $built

it 'a thread that starts and stops profiles may be the last'
same starts profile listen waits $built

# (Since Linux 5.18 alone with that of the last one: here they are the same.)
it 'a process whose threads all left by exit(2) ends with the status of the first, and runs no handler'
for case in leaves leaves_by_syscall worker_leaves worker_leaves_last; do
    same $case profile record pressed ticker $built
done
same strict profile record pressed $built

# --- what programs do, and see of themselves

it 'exits of all kinds'
for case in fast_exit quick_exit abort raise exits_among; do
    same $case profile record listen $built
done

it 'descriptors, threads, signals and children are as alone'
for case in reports vfork spawns reaps loads closes few_descriptors exec_in_thread; do
    same $case profile record listen
done
same fork_in_thread profile record
same daemon profile record
HOST_FORKS=1 same daemon listen # nobody listens in a child of fork

# The ticker has other work than the host's: in an exec it may be about to send a tick (hosts_host.c makes this likely).
it 'no tick comes after exec, which would end the new program'
same execs ticker profile

it 'a server that waits for all signals gets them'
same serves_signals profile record listen

it 'a program that gives up its user or changes its root'
if [ "$(id -u)" != 0 ]; then
    skip 'only root may'
else
    chmod 755 .
    same drops profile record listen
    same chroots profile record listen
fi
