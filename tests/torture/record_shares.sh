#!/usr/bin/env bash
# Programs with a rhythm (record_truth.c), of short threads and of many, recorded by each engine, at three rates,
# as root and as nobody: shares without a bias, and all CPU time seen. record_shares.py has the bounds.
# PITOT_RUNS: runs of each row (20). PITOT_SHARES: cases instead of all.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "only root can record as root and as another user"
cp "$PITOT" ./pitot-copy # the tested one may lie in a folder that nobody may enter
cp "$(dirname "$PITOT")"/libprofiler.so.0* . 2>/dev/null
mv pitot-copy pitot
${CC:-cc} -O2 -g -pthread "$PITOT_ROOT/tests/torture/record_truth.c" -o truth || exit 1
chmod 777 .
cases=${PITOT_SHARES:-cpu:500 cpu:800 cpu:985 cpu:4000 cpu:10000 wake:1000 wake:4000 wake:10000 crowd brief read}

# compare USER ENGINE HZ CASE
compare() {
    local user=$1 engine=$2 hz=$3 case=$4
    it "$case at $hz Hz by $engine, $user"
    run python3 "$PITOT_ROOT/tests/torture/record_shares.py" "$PWD/pitot" "$PWD/truth" "${PITOT_RUNS:-20}" "$user" \
        --engine="$engine" -- "$case" "$hz"
    echo "# $t_name: $(stdout)"
    [ "$status" = 0 ] || fail "$(stdout; stderr | tail -n 1)"
}

for user in root ordinary; do
    as=()
    [ $user = root ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    for engine in perf bpf preload; do
        run "${as[@]}" ./pitot record --engine=$engine -o probe.pb.gz true
        if [ "$status" != 0 ]; then
            it "$engine, $user"
            skip "$(stderr | tail -n 1)"
            continue
        fi
        rm -f probe.pb.gz
        for hz in 100 1000 4000; do
            for case in $cases; do
                compare $user $engine $hz "$case"
            done
        done
    done
done
