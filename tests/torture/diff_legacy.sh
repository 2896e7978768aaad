#!/usr/bin/env bash
# Random text profiles against go tool pprof.
. "$(dirname "$0")/../cli/lib.sh"

go=go
[ -x /usr/lib/go-1.23/bin/go ] && go=/usr/lib/go-1.23/bin/go
for tool in python3 "$go"; do
    command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done

seed=${PITOT_SEED:-1}
for round in 0 1 2 3; do
    it "250 random text profiles of seed $((seed + round)) are read as go tool pprof reads them"
    run python3 "$PITOT_ROOT/tests/torture/diff_legacy.py" $((seed + round)) 250 "$go" "$PITOT"
    expect_status 0
    expect_no_stderr
done
