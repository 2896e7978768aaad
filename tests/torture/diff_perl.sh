#!/usr/bin/env bash
# pitot google-pprof against gperftools' own google-pprof: random questions about programs in C and
# C++, with and without debug information, recorded by Debian's libprofiler and by ours.
. "$(dirname "$0")/../cli/lib.sh"

export PITOT
seed=${PITOT_SEED:-1}
command -v google-pprof >/dev/null || skip_all 'google-pprof is not installed'
[ -e /usr/lib/x86_64-linux-gnu/libprofiler.so ] || skip_all 'libgoogle-perftools-dev is not installed'

# build NAME COMPILER OPTIONS...: a program, recorded twice by Debian's library and once by ours.
build() {
    local name=$1
    shift
    expect "$@" -o "$name" -lm -Wl,--no-as-needed -lprofiler
    for run in 1 2; do
        CPUPROFILE=$name.$run.prof CPUPROFILE_FREQUENCY=$((run * 700)) "./$name" >/dev/null 2>&1
    done
    CPUPROFILE=$name.3.prof CPUPROFILE_FREQUENCY=1000 LD_LIBRARY_PATH=$PITOT_BUILD "./$name" \
        >/dev/null 2>&1
}

it "random questions get the answers of google-pprof, seed $seed"
if needs cc c++; then
    cp "$PITOT_ROOT"/tests/torture/perl_program.c "$PITOT_ROOT"/tests/torture/perl_program.cc .
    build c_o2 cc -O2 -g perl_program.c
    build c_o0 cc -O0 -g -no-pie perl_program.c
    build c_plain cc -O2 perl_program.c
    build c_strip cc -O2 -s perl_program.c
    build c_dwarf4 cc -O3 -g -gdwarf-4 -no-pie perl_program.c
    build cxx_o2 c++ -O2 -g perl_program.cc
    build cxx_o0 c++ -O0 -g perl_program.cc
    build cxx_plain c++ -O2 perl_program.cc
    run python3 "$PITOT_ROOT/tests/torture/diff_perl.py" --pairs="${PITOT_PAIRS:-1000}" --seed="$seed" \
        --seconds="${PITOT_SECONDS:-1200}" .
    stdout | tail -n 6 | sed 's/^/# /'
    [ "$status" = 0 ] || fail "$(stdout | tail -n 40)$(stderr)"
fi
