#!/usr/bin/env bash
# Damaged files of other profilers: no part is lost in silence, and none is made up. The figures are those that
# tests/golden/jfr/odd.py and the commands below put into the files.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'
export PYTHONDONTWRITEBYTECODE=1
python3 "$PITOT_ROOT/tests/golden/jfr/odd.py" damaged .

# The rows of top as "SELF NAME".
functions() {
    stdout | awk -F, 'NR > 1 {print $1, $5}'
}

it 'JFR: a damaged chunk costs neither the chunk before nor the one after'
run pitot top --csv middle.jfr
expect_status 4
expect_equal functions "$(functions)" '10 shop.Till.pay'
expect_stderr_has 'damaged chunks: 1; one of them: an event of 0 bytes; kept 10 samples'

it 'JFR: a constant that is used as a thread is no stack of another sample'
run pitot top --csv thread.jfr
expect_status 4
expect_equal functions "$(functions)" '1 shop.Till.serve'
expect_stderr_has 'references to missing constants: 1; kept 2 samples'

it 'JFR: a constant that is used as a stack is no method'
run pitot top --csv method.jfr
expect_status 4
expect_stderr_has 'references to missing constants: 3; kept 3 samples'

it 'JFR: classes and names that are missing are counted'
run pitot top --csv missing.jfr
expect_status 4
expect_equal functions "$(functions | sort)" '1 pay
1 serve
1 shop.Till
1 shop.Till.pay'
expect_stderr_has 'references to missing constants: 3; kept 4 samples'

it 'JFR: a thread that the file does not list costs no more than the name of the thread'
run pitot top --csv threads.jfr
expect_status 0
expect_equal functions "$(functions)" '1 shop.Till.pay'
expect_stderr_has '1 samples of threads that the file does not list'

it 'JFR: a clock that was refused is not shown'
run pitot info clocks.jfr
expect_status 4
expect_stdout_line 'time       for 1.00s'

it "cProfile: an empty profile has no samples, and is none of JSON's"
python3 -c 'import marshal; open("empty.pstats", "wb").write(marshal.dumps({}))'
run pitot info empty.pstats
expect_status 0
expect_stdout_line 'samples    0, *'

it 'cProfile: numbers that a profile cannot hold are counted'
python3 - <<'PY'
import marshal
rows = {('a.py', n, 'f%d' % n): (1, calls, time, time, {}) for n, (calls, time) in
        enumerate([(2 ** 80, 1.0), (3, float('nan')), (4, float('inf')), (-1, 1.0), (5, 2.0)])}
open('numbers.pstats', 'wb').write(marshal.dumps(rows))
PY
run pitot top --csv -e calls numbers.pstats
expect_status 0
expect_stderr_has '4 calls or times that are no numbers of 63 bits counted as 0'
expect_equal functions "$(functions | sort)" '3 f1
4 f2
5 f4'

it 'cProfile: a byte that is no type of text is no cProfile'
printf '\373\251\003\200%080d' 0 >nul.pstats
run pitot info nul.pstats
expect_status 1
expect_stderr_line 'pitot: nul.pstats: not a profile in any format known here*'

it '.heapprofile: sizes that are no whole numbers from 0 on are counted'
node() {
    printf '{"callFrame":{"functionName":"%s","scriptId":"1","url":"a.js","lineNumber":3,"columnNumber":0},' "$1"
    printf '"selfSize":%s,"id":%s,"children":[%s]}' "$2" "$3" "${4-}"
}
printf '{"head":%s,"samples":[]}' "$(node '(root)' 0 1 "$(node a 100 2 "$(node b 50.5 3)"),$(node c -70 4)")" >h.heapprofile
run pitot top --csv h.heapprofile
expect_status 0
expect_stderr_has '2 sizes that are no whole numbers from 0 on dropped'
expect_equal functions "$(functions)" '100 a'

it 'Firefox 59: addresses are in the libraries of their process'
run pitot dump "$PITOT_ROOT/tests/golden/firefox/firefox59.json"
expect_status 0
expect_stdout_line '    \[libxul.so+0x234\]'
