#!/usr/bin/env bash
# gprof_text.t.sh: the report that gprof prints, against the gmon.out that it was made of and against
# gprof's own columns.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden/gprof-text

# rows FILE...: "calls time name" of each function, and "calls caller > callee" of each pair, summed.
cat >rows.py <<'END'
import json, re, sys

table, rows = None, {}
for line in sys.stdin:
    word = line.rstrip("\n").split("\t")
    if word[0][:1].isdigit():
        rows[table].append(word)
    elif word[0] and word[0][0] != "#":
        table = word[0].split()[0]
        rows.setdefault(table, [])
# Names as they are shown, without the types of parameters.
short = re.compile(r"\((int|long|char const\*|)\)( const)?$")
names = [short.sub("", json.loads(row[1])) for row in rows["function"]]

def name_of(location):
    lines = rows["location"][int(location)][3].split()
    return names[int(rows["line"][int(lines[-1])][1])] if lines and lines[-1] != "-" else "?"

arcs, times = {}, {}
for row in rows["arc"]:
    pair = name_of(row[1]), name_of(row[2])
    arcs[pair] = arcs.get(pair, 0) + int(row[3])
events = [json.loads(row[1]) for row in rows["event"]]
cpu = events.index("cpu")
for row in rows["sample"]:
    name = name_of(rows["stack"][int(row[1])][1].split()[0])
    times[name] = times.get(name, 0) + int(row[3].split()[cpu])
for pair, calls in sorted(arcs.items()):
    print("arc", calls, *pair, sep="\t")
for name, time in sorted(times.items()):
    if time: print("time", time // 1000000, name, sep="\t")
END
rows() { pitot dump --raw "$@" 2>/dev/null | python3 rows.py; }

it 'each golden tells the functions and calls of the run that it was made of'
if needs python3; then
    printf 'time\t400\t(anonymous namespace)::spin\ntime\t70\tmain\n' >times
    rows "$golden/brief" >brief
    grep ^time brief >got
    expect_same times got
    # 100 rounds of main, each with even(20): 11 of even, 10 of odd, and each of them calls spin.
    printf '%s\n' '100 main > even' '1000 even > odd' '1000 odd > even' \
        '9 factorial > factorial' '1 main > factorial' \
        '1100 even > (anonymous namespace)::spin' \
        '1000 odd > (anonymous namespace)::spin' \
        '100 Box<long>::operator unsigned int > (anonymous namespace)::spin' \
        '100 Box<long>::operator[] > (anonymous namespace)::spin' \
        '100 Left::half > (anonymous namespace)::spin' \
        '100 main > Box<long>::operator unsigned int' \
        '100 main > Box<long>::operator[]' \
        '100 main > Left::half' | sort >expected
    awk -F'\t' '$1 == "arc" { print $2, $3, ">", $4 }' brief | sort >got
    expect_same expected got
    rows "$golden/graph" >got
    expect_same brief got
    rows "$golden/lines" | grep ^time >got
    expect_same times got
    rows "$golden/lines" | awk -F'\t' '$1 == "arc" { print $2, $3, ">", $4 }' | sort >got
    expect_same expected got
    rows "$golden/flat" | grep ^time >got
    expect_same times got
fi

it 'is read without being told what it is, and shows no totals that no stack tells'
run pitot top "$golden/brief"
expect_status 0
expect_stdout_line '*brief: cpu, 470ms, 47 samples at 100 Hz'
expect_stdout_line ' 400ms   85.1%      -       -  (anonymous namespace)::spin(long)'
run pitot top -e calls "$golden/flat"
expect_stdout_line ' *1,100 *-  even(int)'
run pitot info "$golden/bsd"
expect_stdout_line '*bsd: gprof-text, *'

it 'tells the calls of the gmon.out that it was made of, and the time to its last digit'
if [ "$PITOT_SANITIZED" = 0 ] && needs python3 gprof g++; then
    g++ -pg -g -O1 -fno-inline -fno-optimize-sibling-calls "$golden/calls.cc" -o calls 2>compiler &&
        ./calls >/dev/null || fail "calls.cc: $(cat compiler)"
    rows ./calls gmon.out | grep ^arc >expected
    for options in '' -b '-b -q' '-b -l' -l '-q -p -z'; do
        gprof $options ./calls gmon.out >report 2>/dev/null
        rows report | grep ^arc >got
        expect_same expected got
        run pitot info report
        expect_status 0
    done
    gprof ./calls gmon.out >report 2>/dev/null
    # The rows of the flat profile, whose third column is the time in hundredths.
    awk '/^ time/ { on = 1; next } on && NF == 0 { exit }
        on && $3 > 0 { time = $3; match($0, /[a-zA-Z(][^0-9.].*$/)
            printf "time\t%d\t%s\n", time * 1000 + 0.5, substr($0, RSTART) }' report |
        sed 's/(long)$//' | sort >expected
    rows report | grep ^time | sort >got
    expect_same expected got
    pitot gprof ./calls gmon.out >ours
    rows ours >got
    rows report >expected
    expect_same expected got
fi

it 'refuses nothing that is whole and says where it is cut'
head -c 1450 "$golden/graph" >cut
run pitot top cut
expect_status 4
expect_stderr_line 'pitot: cut: gprof-text: 1 line of its tables not understood (the first is line *'
