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
expect_stderr_has '1 sample of threads that the file does not list'

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
expect_stderr_has '4 calls, or times, without a number of 63 bits counted as 0'
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

# trace EVENT...: a file of trace events; "P:NAME:TS[:DUR]" of one thread, in microseconds.
trace() { python3 - "$@" >trace.json <<'END'
import json, sys
def event(word):
    phase, name, *times = word.split(':')
    made = {'ph': phase, 'name': name, 'ts': int(times[0]), 'pid': 1, 'tid': 1}
    return {**made, 'dur': int(times[1])} if len(times) > 1 else made
json.dump({'traceEvents': [event(word) for word in sys.argv[1:]]}, sys.stdout)
END
    pitot dump --raw trace.json 2>/dev/null | python3 "$PITOT_ROOT/tests/cli/profile_sums.py" time | awk '$1 != 0 { print $1 / 1000, $3 }' | sort -k2; }

it 'trace events: a function without an end lasts no longer than its caller'
expect_equal 'self times' "$(trace X:whole:0:10 B:begun:2 X:later:20:5)" '8 begun
5 later
2 whole'

it 'trace events: an end closes what began, and not a whole function'
expect_equal 'self times' "$(trace B:begun:0 X:whole:2:10 E:begun:5 X:later:8:2)" '2 begun
2 later
3 whole'

it 'trace events: those of one moment are nested by their lengths, whatever their order'
for events in 'X:a:0:5 B:b:0 X:c:0:10 E:b:7' 'B:b:0 X:c:0:10 X:a:0:5 E:b:7' 'X:c:0:10 X:a:0:5 B:b:0 E:b:7'; do
    expect_equal "self times of $events" "$(trace $events)" '5 a
2 b
3 c'
done

it 'trace events: a function that is never closed lasts to the end of its thread'
expect_equal 'self times' "$(trace B:a:0 B:b:2 E:b:5 X:c:6:4)" '3 a
3 b
4 c'

it 'V8: names and paths have all characters'
printf '%s\n' 'v8-version,11,3,244,8,-node.38,0' 'shared-library,/opt/caf\xc3\xa9.so,0x400000,0x2601000,0' 'profiler,begin,1000' \
    'code-creation,JS,13,1,0x10000000,64,caf\xe9 /tmp/\u65e5\xe9\u672c\ud83d\ude00\x2Cx.js:3:15,0x122f6b8a718,*' \
    'code-creation,JS,13,1,0x20000000,64,a\ud83d\x00 /b\\c\nd.js:3:15,0x122f6b8a719,*' \
    'tick,0x10000010,6332,0,0x0,6' 'tick,0x20000010,6333,0,0x0,6' 'tick,0x400010,6334,0,0x0,6' >escapes.log
run bash -c '"$PITOT" top --from=v8-log --csv --rows=0 escapes.log 2>/dev/null | cut -d, -f5-6'
expect_stdout_has 'café,"/tmp/日é本😀'
expect_stdout_has '[café.so+0x10]'
expect_stdout_has 'a��,"/b\c'

it 'Instruments: names have all characters that XML has a number for'
sed 's/name="price&lt;int&gt;"/name="a\&#233;\&#x27;\&#x1F600;\&#0;\&amp;lt;\&#;\&x z"/' "$PITOT_ROOT/tests/golden/instruments/time.xml" >entities.xml
run bash -c '"$PITOT" top --csv --rows=0 entities.xml 2>/dev/null | cut -d, -f5'
expect_stdout_line "aé'😀�&lt;&#;&x z"
