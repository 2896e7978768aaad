#!/usr/bin/env bash
# Every report on some small files of each format, out of a generator: nothing that is quadratic in
# what a kilobyte inflates to gets through. tests/torture/small_files.sh runs more of them, with
# tighter bounds.
. "$(dirname "$0")/lib.sh"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'what the sanitizers add is not measured'

it 'no report on a file of a kilobyte takes more than a second of CPU time, or 100 MB'
run "$PITOT_BUILD/tests/small_files" --count="${PITOT_CASES:-2}" --cpu-ms=1000 --peak-mb=100 \
    "$PITOT_ROOT/tests/golden" "$PITOT_ROOT/fuzz/corpus"
[ "$status" = 0 ] || fail "$(stdout)"
