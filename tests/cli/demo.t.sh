#!/usr/bin/env bash
# The demonstration: a real program recorded, and the answer held against its own measurement.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'a sanitized program is not what is demonstrated'
command -v "${CXX:-g++}" >/dev/null || skip_all "${CXX:-g++} is not installed"

planted=nearest_by_edit_distance
source=$PITOT_ROOT/demo/wordstat.cc

# demonstrate: runs it, shorter than `make demo` does, into ./out; its words are kept in ./said.
demonstrate() {
    run "$PITOT_ROOT/demo/run" --scale=30 --into=out
    stdout >said
}

# field N FILE: the N-th field of a line of CSV whose fields are not quoted.
field() { cut -d, -f"$1" "$2"; }

it 'records, shows the table, writes the flame graph and says what to try next'
demonstrate
# Chance puts one of the two comparisons outside of 3 sigma once in 185 runs, and three times in a row once in
# six million. A fault would do so each time.
for _ in 1 2; do
    ! grep -q OUTSIDE said || demonstrate
done
expect_status 0
expect_stdout_line 'the flame graph is */demo.html'
expect_stdout_line 'Try next'

it 'proposes commands that answer'
grep '^  pitot t' said >proposed
expect test "$(wc -l <proposed)" = 2
while read -r command; do
    run eval "$command"
    expect_status 0
done <proposed

it 'finds the share that the program measured itself, with frame pointers and without'
expect_equal 'number of shares within 3 sigma' "$(grep -c 'within 3 sigma' said)" 2

it 'has the planted function in row 1 by its own name, with file and line'
run pitot top --csv -n 1 out/demo.pb.gz
expect_status 0
stdout | sed -n 2p >first
expect_equal 'name of row 1' "$(field 5 first)" "$planted"
expect_equal 'file of row 1' "$(basename "$(field 6 first)")" wordstat.cc
from=$(grep -n "Match $planted" "$source" | cut -d: -f1)
to=$(awk -v from="$from" 'NR > from && /^}/ { print NR; exit }' "$source")
line=$(field 7 first)
expect test "$line" -ge "$from" -a "$line" -le "$to"

it 'recorded a profile on which go tool pprof agrees with top in every figure'
if needs go && needs python3; then
    run env PITOT="$PITOT" python3 "$PITOT_ROOT/tests/torture/diff_top.py" pprof out/demo.pb.gz
    [ "$status" = 0 ] || fail "$(stdout)$(stderr)"
fi

it 'marks the helper that the compiler put into it as inlined'
# A row with a caller may be a helper that was inlined into the planted function.
rows_without_caller() { pitot top -n 0 out/demo.pb.gz | grep -v ' <- '; }
run rows_without_caller
expect_status 0
expect_stdout_line '*substitution_cost*wordstat.cc:* [(]inlined[)]'
expect_stdout_line "* $planted *"
expect_no_stdout_line "* $planted * [(]inlined[)]"

it 'says that stacks are complete, with frame pointers and without'
complete() { sed -n 's/.*[^0-9.]\([0-9.]*\) % of the stacks complete.*/\1/p' said; }
expect_equal 'number of complete shares' "$(complete | wc -l)" 2
expect awk -v with="$(complete | sed -n 1p)" -v without="$(complete | sed -n 2p)" \
    'BEGIN { exit !(with >= 99.5 && without >= 99.5) }'

it 'draws the planted function in the flame graph'
expect grep -q "$planted" out/demo.html

it 'shows it in a browser, in the table and to the search'
if needs chromium; then
    total=$(pitot top --csv -n 1 out/demo.pb.gz | sed -n 2p | cut -d, -f4)
    run timeout 500 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/chromium" \
        --virtual-time-budget=5000 --dump-dom "file://$PWD/out/demo.html#find=$planted"
    expect_stdout_has 'data-ready="1"'
    stdout | grep -o '<tbody id="rows">.*' | head -c 2000 >rows
    expect grep -q "$planted" rows
    stdout | sed -n 's/.*<output id="matches"[^>]*>[^0-9]*\([0-9.]*\).*/\1/p' >matched
    expect awk -v shown="$(cat matched)" -v total="$total" \
        'BEGIN { off = shown - 100 * total; exit !(off > -0.6 && off < 0.6) }'
fi
