#!/usr/bin/env bash
# callgrind.t.sh: callgrind's files, against what callgrind_annotate and speedscope make of them.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden/callgrind

# annotate FILE [OPTION]: cost, file:function by callgrind_annotate, a missing cost as 0, without images (which it tells
# of some functions only).
annotate() {
    callgrind_annotate --auto=no --threshold=100 ${2:-} "$1" 2>/dev/null |
        sed -n 's/^ *\([0-9,]*\) (.*%)  *\([^ ].*\)$/\1 \2/p' |
        sed 's/ \[[^]]*\]$//; s/^ *//; :a; s/ \. / 0 /; ta; s/  */ /g' | tr -d , |
        grep -v -e ' => ' -e ' events annotated' -e 'PROGRAM TOTALS' | sort
}

# pitot_self FILE: the same by pitot.
pitot_self() {
    pitot dump --raw "$1" 2>/dev/null | python3 -c '
import json, sys
table, sums = None, {}
rows = {}
for line in sys.stdin:
    word = line.rstrip("\n").split("\t")
    if not word[0][:1].isdigit():
        if word[0] and word[0][0] != "#":
            table = word[0].split()[0]
            rows.setdefault(table, [])
        continue
    rows[table].append(word)
text = lambda word: json.loads(word)
for sample in rows["sample"]:
    leaf = rows["stack"][int(sample[1])][1].split()[0]
    line = rows["location"][int(leaf)][3].split()[0]
    function = rows["function"][int(rows["line"][int(line)][1])]
    key = (text(function[3]) or "???") + ":" + text(function[1])
    sums[key] = sums.get(key, 0) + int(sample[3].split()[0])
for key in sums:
    print(sums[key], key)' | grep -v '^0 ' | sort
}

it 'has the sums of callgrind_annotate for each function of each golden'
if needs callgrind_annotate python3; then
    for file in instr jumps plain recursion; do
        annotate "$golden/$file" >expected
        pitot_self "$golden/$file" >got
        expect test -s got
        # With several events a line of callgrind_annotate has all of them.
        [ $file = recursion ] || expect_same expected got
    done
fi

it 'has the totals that callgrind itself says'
for file in instr jumps plain recursion; do
    expect_equal "$file" "$(pitot info --json "$golden/$file" 2>/dev/null |
        python3 -c 'import json, sys; print(*(e["total"] for e in json.load(sys.stdin)["events"]))')" \
        "$(sed -n 's/^totals: //p' "$golden/$file" | awk '{for (i = NF; i < n; i++) $0 = $0 " 0"} {print}' \
            n="$(sed -n 's/^events: //p' "$golden/$file" | wc -w)")"
done
expect_equal 'the sum of two parts' "$(pitot info --json "$golden/parts" 2>/dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["events"][0]["total"])')" \
    "$(awk '/^totals:/ {s += $2} END {print s}' "$golden/parts")"

it 'reads compressed and plain files of one run alike'
pitot convert "$golden/plain" --to=callgrind 2>/dev/null | grep -v '^desc:' >plain
pitot convert "$golden/instr" --to=callgrind 2>/dev/null | grep -v '^desc:' >instr
expect_same plain instr

it 'writes what callgrind_annotate reads with the same costs, by themselves and inclusive'
if needs callgrind_annotate; then
    for file in instr jumps plain recursion; do
        pitot convert "$golden/$file" -o "$file.callgrind" 2>/dev/null
        for how in --inclusive=no --inclusive=yes; do
            annotate "$golden/$file" $how >expected
            annotate "$file.callgrind" $how >got
            expect_same expected got
            expect test -s got
        done
    done
fi

# Without recursion, which speedscope counts several times.
it 'writes what speedscope reads with the totals of each event'
if npm_package speedscope && needs node python3; then
    for file in pprof/cpu.pb.gz pprof/heap.pb.gz; do
        pitot convert "$PITOT_ROOT/tests/golden/$file" -o out.callgrind 2>/dev/null
        node "$PITOT_ROOT/tests/cli/speedscope_import.js" "$package" out.callgrind |
            awk -F '\t' '/^profile / && $3 != 0 { print $3 }' >got
        pitot info --json "$PITOT_ROOT/tests/golden/$file" 2>/dev/null |
            python3 -c 'import json, sys; print(*(t for t in (e["total"] for e in json.load(sys.stdin)["events"]) if t), sep="\n")' >expected
        expect_same expected got
    done
fi

it 'tells inclusive costs of stacks that recurse as they are'
if needs callgrind_annotate; then
    printf 'main;f;f;g;f 10\nmain;f 3\nmain;g 4\n' >r.folded
    run pitot convert r.folded -o r.callgrind
    expect_status 0
    expect_stderr_line 'pitot: callgrind leaves out *3 whole stacks, of which calls from function to function are kept*'
    annotate r.callgrind --inclusive=yes | sed -n 's/^\([0-9]*\) .*:\(.*\)$/\1 \2/p' | sort >got
    printf '%s\n' "10 f'2" "10 f'3" '13 f' '14 g' '17 main' | sort >expected
    expect_same expected got
fi

it 'records by valgrind: any program, any option, the same sums'
if [ "$PITOT_SANITIZED" = 1 ]; then
    skip 'done without sanitizers'
elif needs valgrind callgrind_annotate cc; then
    cp "$golden/calls.c" "$golden/sums.h" .
    cc -g -O1 -ffile-prefix-map="$PWD=/src" calls.c -o calls
    for options in '' '--dump-instr=yes --collect-jumps=yes' '--compress-pos=no --dump-line=no' \
        '--separate-recs=4 --separate-callers=2'; do
        # shellcheck disable=SC2086
        valgrind -q --tool=callgrind $options --callgrind-out-file=run.out ./calls 2>/dev/null
        pitot_self run.out >got
        annotate run.out >expected
        expect_same expected got
        expect test -s got
    done
fi

it 'reads the files of the corpus with the totals of callgrind_annotate'
if corpus callgrind && needs callgrind_annotate; then
    for file in "$corpus"/*; do
        # Costs relative to the line before are an extension that callgrind_annotate does not have:
        # the three files say the same.
        pitot_self "$file" >got
        annotate "$corpus/speedscope__callgrind.example.log" >expected
        expect_same expected got
    done
fi
