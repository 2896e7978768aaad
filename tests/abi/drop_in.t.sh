#!/usr/bin/env bash
# A program that was built against the original library runs on this one, unchanged; and what the
# original's own black-box test asks of a profiler, asked of this one.
. "$(dirname "$0")/lib.sh"

build_host session_host.c host
build_host host.c worker

# samples NAME: how many are in the profile.
samples() { read_profile "$1" && told samples; }

it "programs linked with the system's libprofiler run on this one, unchanged"
theirs=$(ldconfig -p 2>/dev/null | awk '$1 == "libprofiler.so.0" { print $NF; exit }')
header=
for folder in /usr/include /usr/local/include; do
    [ -f "$folder/gperftools/profiler.h" ] && header=$folder
done
if [ -z "$theirs" ] || [ -z "$header" ]; then
    skip 'gperftools is not installed (libgoogle-perftools-dev)'
else
    # Their header, their library.
    ${CC:-cc} $flags -D_GNU_SOURCE -Wno-unused-parameter "$here/host.c" -o built -I "$header" "$theirs" -ldl
    expect_status 0
    LD_LIBRARY_PATH=$PITOT_BUILD run ldd ./built
    expect_stdout_line "*libprofiler.so.0 => $PITOT_BUILD/libprofiler.so.0 *"
    # As it ran on theirs:
    run ./built trace
    expect_status 0
    export LD_LIBRARY_PATH=$PITOT_BUILD
    for part in api trace errno mask alive; do
        run ./built $part
        expect_status 0
    done
    rm -f prof prof_*
    CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 run ./built workers 0.05
    unset LD_LIBRARY_PATH
    expect agrees "$(samples prof >/dev/null && told seconds)" "$(awk '$1 == "cpu" { print $2 }' "$t_out/stdout")" 0.004
    # Every name that the original exports for C.
    nm -D --defined-only "$theirs" | awk '$3 ~ /^Profil/ { sub(/@.*/, "", $3); print $3 }' | sort -u >original
    nm -D --defined-only "$PITOT_BUILD/libprofiler.so.0" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >ours
    expect_equal 'functions that are not here' "$(comm -23 original ours | tr '\n' ' ')" ''
fi

it 'twice the work is twice the samples, by CPUPROFILE and by the functions'
for way in environment functions; do
    for share in 0.2 0.4; do
        rm -f prof
        if [ $way = environment ]; then
            CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 run ./worker burn $share
        else
            CPUPROFILE_FREQUENCY=1000 run ./host brackets prof $share
        fi
        expect_status 0
        samples prof >samples.$share
    done
    python3 - "$(cat samples.0.2)" "$(cat samples.0.4)" <<'PY' || fail "$way: $(cat samples.0.2) and $(cat samples.0.4)"
import sys
once, twice = map(int, sys.argv[1:])
sys.exit(not 1.7 < twice / max(1, once) < 2.3)
PY
done

it 'with 1, 2, 3 and 4 threads the samples are those of all of them'
for threads in 1 2 3 4; do
    rm -f prof
    CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 run ./host threads $threads 0.15
    expect_status 0
    samples prof >/dev/null
    expect agrees "$(told seconds)" "$(calc "0.15 * $threads")" 0.004
done

it 'a program that forks and execs leaves exactly three files'
mkdir three
(cd three && CPUPROFILE=prof ../host fork_and_exec >../facts)
expect_equal files "$(ls three | sed 's/_[0-9]*$/_PID/' | sort | tr '\n' ' ')" 'prof prof_PID prof_PID '
for file in three/*; do
    read_profile "$file"
    expect_equal 'period' "$(told period_us)" 10000
done

it 'a filter is asked in the thread, at each tick'
rm -f filtered.prof
CPUPROFILE_FREQUENCY=1000 run ./host filters filtered.prof
cp "$t_out/stdout" facts
read_profile filtered.prof left right
expect [ "$(told left)" -ge 70 ]
expect_equal 'samples of the thread that is refused' "$(told right)" 0
