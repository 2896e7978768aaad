#!/usr/bin/env bash
# Files that other tools made, against the figures of those tools' own reports: a line a function, "EVENT SELF TOTAL
# NAME", in NAME.expected beside the file. The folder's README.md says how they were made.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden
compared=0
for expected in "$golden"/*/*.expected; do
    files=("${expected%.expected}".*)
    for file in "${files[@]}"; do
        [[ $file =~ \.(expected|py|js|java|jfc|hs|html)$ ]] && continue
        it "${file#"$golden"/} has the figures of the tool's own report"
        for event in $(cut -d' ' -f1 "$expected" | sort -u); do
            run pitot top -n 0 -e "$event" --csv "$file"
            expect_status 0
            stdout >answer
            expect python3 - "$event" "$expected" answer <<'PY'
import collections
import csv
import sys

event, expected, answer = sys.argv[1:]
wanted = collections.defaultdict(lambda: [0, 0])  # a name may be that of several functions
for line in open(expected):
    words = line.rstrip('\n').split(' ', 3)
    if words[0] == event:
        wanted[words[3]][0] += int(words[1])
        wanted[words[3]][1] = None if words[2] == '-' else wanted[words[3]][1] + int(words[2])
got = {row['name']: row for row in csv.DictReader(open(answer))}
wrong = [(name, w, got.get(name)) for name, w in wanted.items()
         if w != [0, None] and (name not in got or int(got[name]['self']) != w[0]
                                or (w[1] is not None and int(got[name]['total']) != w[1]))]
print(wrong[:5])
sys.exit(bool(wrong) or not wanted)
PY
        done
        compared=$((compared + 1))
    done
done

it 'compares files of each tool'
expect [ "$compared" -ge 4 ]

it 'reads a JFR recording of several chunks'
cat "$golden/jfr/shop.jfr" "$golden/jfr/shop.jfr" >two.jfr
run pitot top --csv -n 1 "$golden/jfr/shop.jfr"
once=$(stdout | sed -n 2p | cut -d, -f1)
run pitot top --csv -n 1 two.jfr
expect_status 0
expect_equal 'self of the first function' "$(stdout | sed -n 2p | cut -d, -f1)" $((2 * once))

it 'reads JFR in the forms that OpenJDK does not write: tests/golden/jfr/make.py'
if needs python3; then
    python3 "$golden/jfr/make.py" small.jfr
    expect_same "$golden/jfr/small.jfr" small.jfr
fi
run pitot dump "$golden/jfr/small.jfr"
expect_stdout_line 'sample 4  samples=0 count  contentions=1 count  delay=500000 nanoseconds  tid 812  comm café  at 1795638137.000050000'
expect_equal 'cut stacks' "$(stdout | grep -c 'end truncated')" 2
run pitot top --csv --by=line "$golden/jfr/small.jfr"
expect_stdout_line '4,0.5,4,0.5,shop.Till.pay :12,*'

it 'keeps the chunks before the place where a JFR recording was cut'
head -c -100 two.jfr >cut.jfr
run pitot top --csv -n 1 cut.jfr
expect_status 4
expect_equal 'self of the first function' "$(stdout | sed -n 2p | cut -d, -f1)" "$once"

it 'names files of other profilers, with the tool that reads or converts them'
printf 'adcg*12B' >app.gcda
printf 'Nettrace\24\0\0\0' >app.nettrace
printf 'memray\0\14' >app.bin
printf 'desc: (none)\ncmd: ./app\ntime_unit: i\n#-----------\nsnapshot=0\n' >massif.out
head -c 4096 /dev/zero >boot.etl
for words in 'app.gcda:gcov' 'app.nettrace:dotnet-trace convert' 'app.bin:memray flamegraph' 'massif.out:ms_print' 'boot.etl:PerfView'; do
    run pitot top "${words%%:*}"
    expect_status 1
    expect_stderr_line "pitot: ${words%%:*}: not a profile in any format known here (*${words#*:}*"
done
mkdir App.trace
run pitot top App.trace
expect_status 1
expect_stderr_line 'pitot: App.trace: is a folder of *xctrace export --input App.trace *'
