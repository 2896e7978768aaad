#!/usr/bin/env bash
# Recorders are killed at random moments, each engine, in a /dev/shm of their own: what `pitot recover`
# writes holds all samples up to the last second, the target ends as alone, nothing is left.
. "$(dirname "$0")/../cli/lib.sh"

unshare -m mount -t tmpfs none /dev/shm 2>/dev/null || skip_all 'no /dev/shm of its own can be had here'
${CC:-cc} -O2 "$PITOT_ROOT/tests/torture/record_killed.c" -o target || exit 1
rounds=${KILLED_ROUNDS:-1000}
side_by_side=4

for engine in bpf perf preload; do
    it "$rounds killed recorders lose no sample: --engine=$engine"
    run pitot record --engine=$engine -o probe.pb.gz true
    if [ "$status" != 0 ]; then
        skip "not here: $(stderr | tail -n 1)"
        continue
    fi
    for i in $(seq $side_by_side); do
        mkdir -p "$engine-$i"
        (
            cd "$engine-$i" || exit 1
            exec unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec python3 "$@"' sh \
                "$PITOT_ROOT/tests/torture/record_killed.py" "$PITOT" ../target $engine $((rounds / side_by_side)) "${PITOT_SEED:-1} $i" >said-by-test 2>&1
        ) &
    done
    wait
    for i in $(seq $side_by_side); do
        echo "# $(head -n 1 "$engine-$i/said-by-test")"
        grep -q ', 0 wrong$' "$engine-$i/said-by-test" || fail "$(head -c 4000 "$engine-$i/said-by-test")"
    done
done
