#!/usr/bin/env bash
# What focus, ignore, hide and show leave, under random patterns, against Go's pprof.
. "$(dirname "$0")/../cli/lib.sh"

gen=$PITOT_BUILD/bench/gen
seed=${PITOT_SEED:-1}
export PITOT
command -v go >/dev/null || skip_all 'go is not installed'

for shape in U S; do
    it "random queries leave what pprof leaves, shape $shape, seed $seed"
    expect "$gen" --shape=$shape --seed="$seed" --samples=3000 --functions=200 --inlines=40 \
        --recursion=20 --homonyms=20 --values=1 -o p.pb.gz
    run python3 "$PITOT_ROOT/tests/torture/diff_filter.py" "$seed" 60 p.pb.gz
    [ "$status" = 0 ] || fail "$(stdout | grep -v agree)$(stderr)"
done

for file in mtg__default.pgo speedscope__simple.prof; do
    it "random queries of a real profile leave what pprof leaves: $file, seed $seed"
    if corpus "pprof/$file"; then
        run python3 "$PITOT_ROOT/tests/torture/diff_filter.py" "$seed" 40 "$corpus"
        [ "$status" = 0 ] || fail "$(stdout | grep -v agree)$(stderr)"
    fi
done
