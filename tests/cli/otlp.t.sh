#!/usr/bin/env bash
# otlp.t.sh: OpenTelemetry profiles, against what protobufjs (npm) reads and writes.
. "$(dirname "$0")/lib.sh"

here=$PITOT_ROOT/tests/cli
golden=$PITOT_ROOT/tests/golden

it 'writes what protobufjs reads: types, units, sums, and the functions of leaves'
if npm_package protobufjs && needs node python3; then
    for file in cpu.pb.gz heap.pb.gz goroutine.pb.gz; do
        run pitot convert "$golden/pprof/$file" -o out.otlp
        expect_status 0
        node "$here/otlp_dump.js" "$package" out.otlp >dump
        # A type, a unit, how many samples, their sum.
        pitot info --json "$golden/pprof/$file" | python3 -c '
import json, sys
for e in json.load(sys.stdin)["events"]:
    print(e["type"], e["unit"], e["total"])' >expected
        grep -E '^[^ ]+ [a-z]+ [0-9]+ -?[0-9]+$' dump | awk '{ print $1, $2, $4 }' >got
        expect_same expected got
        for event in $(awk '{ print $1 }' expected); do
            pitot dump --raw "$golden/pprof/$file" | python3 "$here/profile_sums.py" "$event" |
                awk -F '\t' '{ s[$3] += $1 } END { for (n in s) if (s[n] != 0) print s[n], n }' |
                sort >expected.leaves
            sed -n "s/^$event \(-*[0-9][0-9]*\) \([^0-9].*\)$/\1 \2/p" dump | sort >got.leaves
            expect_same expected.leaves got.leaves
        done
    done
fi

it 'makes the goldens anew with the same bytes'
if npm_package protobufjs && needs node; then
    mkdir made
    node "$golden/otlp/make.js" "$package" made
    for file in events times; do
        expect_same "$golden/otlp/$file.otlp" made/$file.otlp
    done
fi

it 'keeps all of a profile.proto but what it says is lost'
pitot convert "$golden/pprof/cpu.pb.gz" -o cpu.otlp
run pitot convert cpu.otlp -o back.pb
expect_status 0
pitot convert --canonical "$golden/pprof/cpu.pb.gz" --to=folded -o a.folded 2>/dev/null
pitot convert --canonical back.pb --to=folded -o b.folded 2>/dev/null
expect_same a.folded b.folded

it 'is recognised by content, gzipped or not'
gzip -c cpu.otlp >renamed.bin
run pitot info renamed.bin
expect_stdout_line 'file *: otlp, gzip, *'
