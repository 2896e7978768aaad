#!/usr/bin/env bash
# What our transforms write, under random options of pprof, against `go tool pprof -proto`: the same
# bytes before compression. The reference is Go 1.23's (golang-1.23-go of bookworm-backports): 1.19's
# merges even a single profile.
. "$(dirname "$0")/../cli/lib.sh"

tool=$PITOT_BUILD/tests/transform_tool
seed=${PITOT_SEED:-1}
rounds=${PITOT_ROUNDS:-3000}
goes=("$(command -v go)" /usr/lib/go-1.23/bin/go)
for go in "${goes[@]}"; do
    case $("$go" version 2>/dev/null) in *go1.2[3-9]*) export PPROF="$go tool pprof" ;; esac
done
[ -n "${PPROF:-}" ] || skip_all 'Go 1.23 is not installed'

it "random options write what pprof writes of $rounds random profiles, seed $seed"
run python3 "$PITOT_ROOT/tests/torture/diff_transform.py" "$tool" "$seed" "$rounds"
[ "$status" = 0 ] || fail "$(stdout)$(stderr)"

for file in gperftools-cpu/pprof__cppbench.cpu gperftools-cpu/pprof__gobench.cpu \
    pprof-goldens/fixtures/heap_tags.pb.gz pprof-goldens/fixtures/cpu.pb.gz \
    pprof/mtg__default.pgo; do
    it "random options write what pprof writes of a real profile: $file, seed $seed"
    if corpus "$file"; then
        run python3 "$PITOT_ROOT/tests/torture/diff_transform.py" "$tool" "$seed" 100 "$corpus"
        [ "$status" = 0 ] || fail "$(stdout)$(stderr)"
    fi
done
