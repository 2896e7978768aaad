#!/usr/bin/env bash
# Random files of formats that other tools write or read: perf script with inlined frames, gprof's text in any unit
# and encoding, counts of perf report, .NET's profiles, lines where functions start, totals of speedscope, documentation
# URLs, names from a server.
. "$(dirname "$0")/../cli/lib.sh"

seed=${PITOT_SEED:-1}
ask() {
    run python3 "$PITOT_ROOT/tests/torture/diff_peers.py" "$1" "$seed" "$2" "$PITOT" ${3:+"$3"}
    expect_status 0
    expect_no_stderr
}

go_pprof=/usr/lib/go-1.23/pkg/tool/linux_amd64/pprof
[ -x "$go_pprof" ] || go_pprof=$(/usr/lib/go-1.23/bin/go env GOTOOLDIR 2>/dev/null)/pprof
needs_go() { [ -x "$go_pprof" ] || { skip 'the pprof of Go 1.23 is not here' && false; }; }

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

it '-raw, -list and -proto: 60 profiles without names, the line where each function starts'
needs python3 gcc readelf && needs_go && ask starts 60 "$go_pprof"

it '-raw: 300 profiles with a documentation URL'
needs python3 && needs_go && ask doc 300 "$go_pprof"

it '-raw: 200 profiles of a server that names most of their addresses'
if "$PITOT" version --features | grep -q '^servers *libcurl [0-9]'; then
    needs python3 && needs_go && ask remote 200 "$go_pprof"
else
    skip 'built without libcurl'
fi

it 'speedscope: 60 callgrind files have the totals of their samples'
if needs python3 node && npm_package speedscope; then ask speedscope 60 "$package"; fi
