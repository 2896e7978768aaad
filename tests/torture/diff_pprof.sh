#!/usr/bin/env bash
# Random questions about random and real profiles, to pitot pprof and to Go's pprof, byte for byte.
. "$(dirname "$0")/../cli/lib.sh"

seed=${PITOT_SEED:-1}
pairs=${DIFF_PPROF_PAIRS:-10000}
export PITOT
[ -x /usr/lib/go-1.23/pkg/tool/linux_amd64/pprof ] || [ -x /usr/lib/go-1.23/bin/go ] ||
    skip_all 'golang-1.23-go is not installed'
[ "$PITOT_SANITIZED" = 0 ] || pairs=$((pairs / 10))

it "random questions about random profiles have pprof's answers: $pairs pairs, seed $seed"
run python3 "$PITOT_ROOT/tests/torture/diff_pprof.py" "$seed" "$pairs" -j 2 --keep "$PWD/kept"
[ "$status" = 0 ] || fail "$(stdout | tail -60)$(stderr)"

it "random questions about real profiles have pprof's answers, seed $seed"
if corpus pprof-goldens/fixtures; then
    mapfile -t profiles < <(find "$corpus" "$PITOT_CORPUS/pprof" "$PITOT_CORPUS/gperftools-cpu" \
        "$PITOT_CORPUS/gperftools-heap" "$PITOT_CORPUS/gperftools-contention" \
        "$PITOT_CORPUS/gperftools-thread" -type f -size -2M | sort)
    run python3 "$PITOT_ROOT/tests/torture/diff_pprof.py" "$seed" $((pairs / 10)) -j 2 \
        "${profiles[@]}"
    [ "$status" = 0 ] || fail "$(stdout | tail -60)$(stderr)"
fi
