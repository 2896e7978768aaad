#!/usr/bin/env bash
# Random programs, profiles and options against GNU gprof.
. "$(dirname "$0")/../cli/lib.sh"

for tool in python3 gcc gprof; do
    command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done

seed=${PITOT_SEED:-1}
for round in 0 1 2 3; do
    it "250 random questions of seed $((seed + round)) are answered as gprof answers them"
    run python3 "$PITOT_ROOT/tests/torture/diff_gprof.py" $((seed + round)) 250 gprof "$PITOT"
    expect_status 0
    expect_no_stderr
done
