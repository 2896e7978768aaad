#!/usr/bin/env bash
# Every report on mutated files of at most a kilobyte, PITOT_CASES (10,000) of each format: at most
# 100 ms of CPU time and 50 MB each.
. "$(dirname "$0")/../cli/lib.sh"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'what the sanitizers add is not measured'

seed=${PITOT_SEED:-1}
cases=${PITOT_CASES:-10000}
small=$PITOT_BUILD/tests/small_files

for format in $("$small" --list); do
    it "$cases small files of $format take at most 100 ms and 50 MB a report, seed $seed"
    run "$small" --seed="$seed" --count="$cases" --format="$format" "$PITOT_ROOT/tests/golden" "$PITOT_ROOT/fuzz/corpus"
    [ "$status" = 0 ] || fail "$(stdout)"
    echo "# $(stdout | grep cases)"
done
