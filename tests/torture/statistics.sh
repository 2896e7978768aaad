#!/usr/bin/env bash
# Intervals and diffs of simulated recordings whose truth is known (statistics.c): a question a test. PITOT_RUNS: so
# many repetitions of each question.
. "$(dirname "$0")/../cli/lib.sh"

tool=$PITOT_BUILD/tests/statistics
seed=${PITOT_SEED:-1}
echo "# seed $seed"
"$tool" "$seed" "${PITOT_RUNS:-1000}" >answers || echo "the tool ended with status $?" >>answers
while IFS=$'\t' read -r name share least most; do
    it "$name: $share (from $least to $most)"
    expect awk -v s="$share" -v a="$least" -v b="$most" 'BEGIN { exit !(a != "" && s >= a && s <= b) }'
done <answers
