#!/usr/bin/env bash
# The figures of top on many generated profiles, large ones among them, against Go's pprof and the
# generator's own sums.
. "$(dirname "$0")/../cli/lib.sh"

gen=$PITOT_BUILD/bench/gen
export PITOT
RANDOM=$((${PITOT_SEED:-1} % 32768))

# compare MODE FILE...: the two sides agree in every figure; else says how the profile was made.
compare() {
    run python3 "$PITOT_ROOT/tests/torture/diff_top.py" "$@"
    [ "$status" = 0 ] || fail "gen $options: $(stdout)$(stderr)"
}

# some_options: a kind of profile, from the seed, into $options. RANDOM keeps its sequence only
# outside of subshells.
some_options() {
    local shapes=(U S)
    local min=$((3 + RANDOM % 30))
    options="--shape=${shapes[RANDOM % 2]} --seed=$RANDOM --samples=$((1 + RANDOM % 20000))"
    options+=" --functions=$((10 + RANDOM % 3000)) --depth=$min-$((min + RANDOM % 150))"
    options+=" --values=$((1 + RANDOM % 6)) --labels=$((RANDOM % 5)) --inlines=$((RANDOM % 100))"
    options+=" --homonyms=$((RANDOM % 60)) --recursion=$((RANDOM % 70))"
}

for i in $(seq 40); do
    some_options
    it "profile $i agrees with the generator's sums and with go tool pprof"
    # shellcheck disable=SC2086
    expect "$gen" $options -o p.pb.gz --truth=truth
    compare truth p.pb.gz truth
    ! needs go || compare pprof p.pb.gz
done

for shape in U S; do
    it "a million samples of shape $shape agree with the generator's sums"
    options="--shape=$shape --inlines=10"
    # shellcheck disable=SC2086
    expect "$gen" $options -o p.pb.gz --truth=truth
    compare truth p.pb.gz truth
done

it 'a hundred thousand samples agree with go tool pprof'
if needs go; then
    options='--samples=100000 --inlines=10 --labels=1'
    # shellcheck disable=SC2086
    expect "$gen" $options -o p.pb.gz
    compare pprof p.pb.gz
fi
