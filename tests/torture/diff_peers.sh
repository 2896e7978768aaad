#!/usr/bin/env bash
# Random files of formats that other tools write or read: perf script with inlined frames, gprof's text in any unit
# and encoding, counts of perf report, .NET's profiles, lines where functions start, totals of speedscope.
. "$(dirname "$0")/../cli/lib.sh"

seed=${PITOT_SEED:-1}
ask() {
    run python3 "$PITOT_ROOT/tests/torture/diff_peers.py" "$1" "$seed" "$2" "$PITOT" ${3:+"$3"}
    expect_status 0
    expect_no_stderr
}

it 'perf script: 300 texts with inlined frames, with and without the code around them'
needs python3 && ask script 300

it '.NET: 300 profiles whose functions have no ids, also with an empty default event'
needs python3 && ask dotnet 300

it 'gprof: 60 flat profiles in seconds, "(K) cycles" and others, as UTF-8 and UTF-16'
needs python3 gcc gprof && ask gprof 60

it 'perf report -n: 60 files of perf.data that convert writes count the samples'
if needs python3 gcc readelf perf; then
    if ! perf version >/dev/null 2>&1; then skip 'this perf does not run'; else ask counts 60; fi
fi

it '-raw and -list: 60 profiles without names, the line where each function starts'
needs python3 gcc readelf && ask starts 60

it 'speedscope: 60 callgrind files have the totals of their samples'
if needs python3 node && npm_package speedscope; then ask speedscope 60 "$package"; fi
