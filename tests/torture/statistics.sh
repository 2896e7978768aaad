#!/usr/bin/env bash
# Intervals and diffs of simulated recordings whose truth is known (statistics.c): a question a test. PITOT_RUNS: so
# many repetitions of each question. A share beyond its limits fails if a truth at the limit would lead to it, or to one
# farther away, in less than 1 of 100 cases.
. "$(dirname "$0")/../cli/lib.sh"

tool=$PITOT_BUILD/tests/statistics
seed=${PITOT_SEED:-1}
echo "# seed $seed"
ask() {
    "$tool" "$seed" "${PITOT_RUNS:-10000}" "$1:" >"$1.answers" || echo "the tool ended with status $?" >>"$1.answers"
}
for kind in interval 'equal runs' growth; do ask "$kind" & done
wait
cat ./*.answers >answers
while IFS=$'\t' read -r name share least most chance; do
    it "$name: $share (from $least to $most)"
    expect awk -v c="$chance" 'BEGIN { exit !(c != "" && c >= 0.01) }'
done <answers
