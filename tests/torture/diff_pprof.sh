#!/usr/bin/env bash
# Random questions about random and real profiles, to pitot pprof and to Go's pprof, byte for byte.
. "$(dirname "$0")/../cli/lib.sh"

seed=${PITOT_SEED:-1}
pairs=${DIFF_PPROF_PAIRS:-10000}
export PITOT
[ -x /usr/lib/go-1.23/pkg/tool/linux_amd64/pprof ] || [ -x /usr/lib/go-1.23/bin/go ] ||
    skip_all 'golang-1.23-go is not installed'
[ "$PITOT_SANITIZED" = 0 ] || pairs=$((pairs / 10))

# The pprof of Go 1.23 with the newer layout of -tags: sums, units, order and alignment are its own.
go=/usr/lib/go-1.23/bin/go
make_newer_tags() {
    mkdir newer && cp -r "$("$go" env GOROOT)/src/cmd/vendor" newer/vendor || return 1
    sed 's/^module cmd/module newer/' "$("$go" env GOROOT)/src/cmd/go.mod" >newer/go.mod
    cat >newer/main.go <<'END'
package main

import (
	"os"

	"github.com/google/pprof/driver"
)

func main() {
	if err := driver.PProf(&driver.Options{}); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(2)
	}
}
END
    sed -i '/^func printTags/,/^}/{
        s/Total %\.1f%s\(\\n", key\), f, u)/Total %s of %s (%s)\1, rpt.formatValue(total), rpt.formatValue(rpt.total), measurement.Percentage(total, rpt.total))/
        s/%\.1f%s/%s/
        s/, f, u, /, rpt.formatValue(t.FlatValue()), /
        s/FlatValue(), total)/FlatValue(), rpt.total)/
        s/if total > 0/if rpt.total > 0/
        /f, u := /d
    }' newer/vendor/github.com/google/pprof/internal/report/report.go
    (cd newer && GOFLAGS=-mod=vendor GOTOOLCHAIN=local CGO_ENABLED=0 \
        GOCACHE=$PITOT_ROOT/build-test/go-cache "$go" build -o pprof .)
}

it "-tags of random profiles has pprof's figures: $((pairs / 5)) pairs, seed $seed"
if run make_newer_tags && [ -x newer/pprof ]; then
    export PPROF_TAGS_REFERENCE=$PWD/newer/pprof
    run python3 "$PITOT_ROOT/tests/torture/diff_pprof.py" "$seed" $((pairs / 5)) -j 2 --only tags \
        --keep "$PWD/kept"
    [ "$status" = 0 ] || fail "$(stdout | tail -60)$(stderr)"
else
    skip "Go cannot build its pprof here: $(stderr | tail -1)"
fi

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
