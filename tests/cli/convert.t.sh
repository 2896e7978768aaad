#!/usr/bin/env bash
# pitot convert and pitot formats: other formats, what they lose, files that appear whole or not.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden/pprof

# What go says of a profile, without its first line (PeriodType stands first in all).
go_raw() { HOME=$PWD PPROF_TMPDIR=$PWD go tool pprof -raw -symbolize=none "$1" 2>/dev/null; }

# totals FILE: what its events add up to.
totals() {
    pitot info --json "$1" 2>/dev/null |
        python3 -c 'import json, sys; print(*(e["total"] for e in json.load(sys.stdin)["events"]))'
}

it 'turns folded stacks into a profile that go reads with the same stacks and counts'
if needs go; then
    printf 'main;run;parse 12\nmain;run;write 3\n' >a.folded
    run pitot convert a.folded -o a.pb.gz
    expect_status 0
    expect_no_stderr
    go_raw a.pb.gz >raw
    # The numbers of locations mean nothing: the names behind them, leaf first.
    expect_equal 'the samples' "$(awk '/^Mappings/ { on = 0 } on == 2 { name[$1 + 0] = $4 } /^Locations/ { on = 2 }
        on == 1 { line[++n] = $0 } /^samples\/count/ { on = 1 }
        END { for (i = 1; i <= n; i++) { k = split(line[i], w, " "); printf "%s", w[1]
            for (j = 2; j <= k; j++) printf " %s", name[w[j]]; print "" } }' raw)" \
        "$(printf '12: parse run main\n3: write run main')"
fi

it 'knows folded stacks of one frame each by the name of the file'
printf 'main 20\nrun 100\n' >flat.folded
cp flat.folded flat.txt
run pitot top flat.folded
expect_status 0
expect_stdout_line 'flat.folded: 120 samples'
run pitot top flat.txt
expect_status 1

it 'writes folded stacks and tells what is lost'
run pitot convert "$golden/cpu.pb.gz" -o b.folded
expect_status 0
expect_stderr_line 'pitot: folded leaves out * label set* of samples, * addresses, *'
total=$(awk '{s += $NF} END {print s}' b.folded)
expect_equal 'the sum of the lines is the total of info' "$total" \
    "$(pitot info --json "$golden/cpu.pb.gz" | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"][1]["total"])')"

it 'refuses a loss with --strict and writes nothing'
run pitot convert --strict "$golden/cpu.pb.gz" -o c.folded
expect_status 1
expect_stderr_line 'pitot: folded would leave out * addresses, *'
expect test ! -e c.folded

it 'takes the event that is asked for'
run pitot convert -e samples "$golden/cpu.pb.gz" -o d.folded
expect_status 0
expect_equal 'the sum' "$(awk '{s += $NF} END {print s}' d.folded)" \
    "$(pitot info --json "$golden/cpu.pb.gz" | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"][0]["total"])')"
run pitot convert -e nonsense "$golden/cpu.pb.gz" -o d.folded
expect_status 2

it 'leaves the other events out where a format holds several'
for name in d.pb.gz d.callgrind d.speedscope.json d.otlp; do
    run pitot convert -e samples "$golden/cpu.pb.gz" -o "$name"
    expect_status 0
    expect_equal "the events of $name" "$(pitot info --json "$name" | python3 -c '
import json, sys
print([(e["total"]) for e in json.load(sys.stdin)["events"] if e["type"] != "calls"])')" "$(
        pitot info --json "$golden/cpu.pb.gz" | python3 -c 'import json, sys; print([json.load(sys.stdin)["events"][0]["total"]])')"
done
pitot top -e samples -n 0 --csv "$golden/cpu.pb.gz" >expected
pitot top -n 0 --csv d.pb.gz >answered
expect_same expected answered

it 'rewrites what go wrote with the same bytes'
gzip -dc "$golden/merged.pb.gz" >expected
run pitot convert "$golden/merged.pb.gz" --raw -o rewritten.pb.gz
expect_status 0
expect_same expected rewritten.pb.gz
run pitot convert "$golden/merged.pb.gz" -o rewritten.pb
expect_same expected rewritten.pb
run pitot convert "$golden/merged.pb.gz" -o again.pb.gz
gzip -dc again.pb.gz >again
expect_same expected again

it 'gives go the same raw dump for every golden'
if needs go; then
    for file in "$golden"/*.pb.gz; do
        pitot convert "$file" -o e.pb.gz
        go_raw "$file" >expected
        go_raw e.pb.gz >got
        expect_same expected got
        expect test -s got
    done
fi

it 'gives go the same raw dump for real profiles'
if needs go && corpus pprof; then
    for file in "$corpus"/* "$corpus"/../pprof-goldens/fixtures/*; do
        pitot convert "$file" -o e.pb.gz
        go_raw "$file" >expected
        go_raw e.pb.gz >got
        expect_same expected got
    done
fi

it 'gives the same file for shuffled profiles under --canonical'
printf 'a;b 1\na;c 2\na;b 4\nd 1\n' >one.folded
printf 'd 1\na;b 5\na;c 2\n' >two.folded
pitot convert --canonical one.folded -o one.pb.gz
pitot convert --canonical two.folded -o two.pb.gz
expect_same one.pb.gz two.pb.gz
pitot convert one.folded -o one.pb.gz
pitot convert two.folded -o two.pb.gz
expect test "$(cmp -s one.pb.gz two.pb.gz && echo same)" = ''

it 'reads and writes standard streams'
run bash -c 'printf "a;b 3\n" | "$PITOT" convert - --to=pprof --raw | "$PITOT" convert - --to=folded'
expect_status 0
expect_stdout 'a;b 3'

it 'reads a pipe that has a name'
mkfifo pipe
gzip -dc "$golden/cpu.pb.gz" >pipe &
run pitot convert pipe --to=pprof --raw
wait
expect_status 0
gzip -dc "$golden/cpu.pb.gz" >plain.pb
pitot convert plain.pb --to=pprof --raw >expected
expect_same expected "$t_out/stdout"

it 'asks for a format that the name does not tell'
printf 'a;b 3\n' >a.folded
run pitot convert a.folded -o out.txt
expect_status 2
expect_stderr_line 'pitot: out.txt: the name has no known ending; choose a format with --to=FORMAT'
run pitot convert a.folded
expect_status 2
run pitot convert a.folded --to=fodled
expect_status 2
expect_stderr_line '*did you mean folded?*'

it 'answers from a damaged file with status 4, and refuses it with --strict'
gzip -dc "$golden/heap.pb.gz" | head -c 700 >cut.pb
run pitot convert cut.pb -o kept.pb.gz
expect_status 4
expect_stderr_line 'pitot: cut.pb: pprof: *kept * samples* (--strict refuses)*'
expect test -s kept.pb.gz
rm kept.pb.gz
run pitot convert --strict cut.pb -o kept.pb.gz
expect_status 1
expect test ! -e kept.pb.gz

it 'names the file that cannot be written and leaves the old one'
run pitot convert a.folded -o no/such/folder.folded
expect_status 1
expect_stderr_line 'pitot: *no/such*'
run pitot convert "$golden/cpu.pb.gz" -o a.folded --event=7
expect_status 2
expect_equal 'the old file' "$(cat a.folded)" 'a;b 3'

it 'refuses two profiles in one file and says how to join them'
gzip -dc "$golden/cpu.pb.gz" "$golden/heap.pb.gz" >two.pb
run pitot convert two.pb -o out.pb.gz
expect_status 1
expect_stderr_line '*pitot merge*'

it 'lists formats as text and JSON'
run pitot formats
expect_status 0
expect_stdout_line 'pprof (read, write): *'
expect_stdout_line 'folded         x . . *'
expect_stdout_line '    a  stacks     whole call stacks'
run bash -c '"$PITOT" formats --json | python3 -c "
import json, sys
formats = json.load(sys.stdin)[\"formats\"]
print(*(f[\"name\"] for f in formats if \"stacks\" in f[\"holds\"] and f[\"writes\"]))"'
expect_stdout_line 'pprof folded*'

it 'names addresses for a format that has no place for them, and leaves them alone otherwise'
if [ "$PITOT_SANITIZED" = 1 ]; then
    skip 'a sanitized library records nothing'
elif needs cc; then
    printf 'int main(void) { volatile unsigned long n = 0; while (n < 300000000) n++; return 0; }' >spin.c
    cc -O1 -g -fno-omit-frame-pointer spin.c -o spin
    pitot record -o spin.pb.gz ./spin 2>/dev/null
    run pitot convert spin.pb.gz -o spin.folded
    expect_status 0
    expect grep -q ';main [0-9]' spin.folded
    run pitot convert spin.pb.gz -o plain.pb
    expect_status 0
    expect_equal 'functions in the copy' "$(pitot info --json plain.pb | tr -d ' \n' | grep -c '"functions":0')" 1
    run pitot convert --symbols=full spin.pb.gz -o named.pb
    expect_status 0
    expect grep -q main named.pb
fi

it 'writes a file for each image when the format holds one, and says which'
printf '%s\n' 'version pdb-0.07' 'image 77' 'event cycles' 'period 4' 'tsize 4096' 'tstart 1000' 'samples' >a.dcpi
printf '\0\0\0\0\1\0\0\0\5\0\0\0\1\0\0\0\5\0\0\0' >>a.dcpi
sed 's/image 77/image 78/; s/tstart 1000/tstart 9000/' a.dcpi >b.dcpi
run pitot merge a.dcpi b.dcpi -o both.pb.gz
expect_status 0
run pitot convert both.pb.gz -o both.dcpi
expect_status 0
expect_equal 'number of files' "$(find . -name 'both.dcpi*' | wc -l)" 2
expect_stderr_line 'pitot: wrote *both.dcpi*'
run pitot convert both.pb.gz --to dcpi
expect_status 2
expect_stderr_line '*several files*-o FILE*'
expect_equal 'what one of them holds' "$(pitot info --json "$(find . -name 'both.dcpi*' | head -n 1)" | grep -c '"total": 5')" 1

it 'writes what is lost as JSON, written or refused'
run pitot convert "$golden/cpu.pb.gz" -o f.folded --losses=losses.json
expect_status 0
run python3 -c '
import json
r = json.load(open("losses.json"))
print(r["report"], r["format"], r["written"], [l["count"] for l in r["losses"] if "label" in l["what"]])'
expect_stdout 'losses folded True [6]'
run pitot convert --strict "$golden/cpu.pb.gz" -o g.folded --losses=-
expect_status 1
expect_stdout_has '"written": false'
expect test ! -e g.folded
run pitot convert a.folded -o same.folded --losses=-
expect_stdout_has '"losses": []'
run pitot convert a.folded --to=folded --losses=-
expect_status 2

it 'adds up profiles of different formats where they mean the same, and says what does not fit'
printf 'a;b 3\n' >one.folded
printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"}]},
"profiles":[{"type":"sampled","unit":"none","samples":[[0,1],[0]],"weights":[4,5]}]}' >two.speedscope.json
run pitot merge one.folded two.speedscope.json --to=folded
expect_status 0
expect_stdout 'a;b 7
a 5'
cp "$PITOT_ROOT/tests/golden/cpuprofile/old.cpuprofile" "$PITOT_ROOT/tests/golden/callgrind/jumps" .
run pitot merge one.folded old.cpuprofile -o sum.pb.gz
expect_status 0
expect_stderr_line 'pitot: 1 value (time) left out, since not every profile has it'
run pitot merge one.folded jumps -o sum.pb.gz
expect_status 2
expect_stderr_line 'pitot: *jumps: *nothing in common to add up'

# sum_of FILE EVENT: the total of an event.
sum_of() {
    pitot info --json "$1" 2>/dev/null | python3 -c '
import json, sys
print(*(e["total"] for e in json.load(sys.stdin)["events"] if e["type"] == sys.argv[1]))' "$2"
}

it 'adds up what profiles of other formats have in common, and says in one line what they have not'
others=$PITOT_ROOT/tests/golden
printf 'a;b 3\nc 2\n' >five.folded
# 25 samples and 30 more; only one of them knows its CPU time.
run pitot merge five.folded "$golden/cpu.pb.gz" -o sum.pb.gz
expect_status 0
expect_stderr_line 'pitot: 1 value (cpu) left out, since not every profile has it'
expect_equal 'samples' "$(sum_of sum.pb.gz samples)" "$((5 + $(sum_of "$golden/cpu.pb.gz" samples)))"
# Both have both.
run pitot merge "$others/otlp/events.otlp" "$golden/cpu.pb.gz" -o sum.pb.gz
expect_status 0
for event in samples cpu; do
    expect_equal $event "$(sum_of sum.pb.gz $event)" \
        "$(($(sum_of "$others/otlp/events.otlp" $event) + $(sum_of "$golden/cpu.pb.gz" $event)))"
done
# A .cpuprofile and Firefox have samples and time, of each the one that both have.
run pitot merge "$others/cpuprofile/node.cpuprofile" "$others/firefox/v70.json" -o sum.pb.gz
expect_status 0
for event in samples time; do
    expect_equal $event "$(sum_of sum.pb.gz $event)" \
        "$(($(sum_of "$others/cpuprofile/node.cpuprofile" $event) + $(sum_of "$others/firefox/v70.json" $event)))"
done
# Seconds of a clock and of a CPU are not the same.
run pitot merge "$golden/cpu.pb.gz" "$others/speedscope/sampled.speedscope.json" -o sum.pb.gz
expect_status 2
expect_stderr_lines 1
expect_stderr_line '*nothing in common to add up'

it 'conserves the total of each event where nothing is lost'
for file in speedscope/evented.speedscope.json speedscope/sampled.speedscope.json \
    cpuprofile/node.cpuprofile otlp/events.otlp callgrind/plain firefox/v48.json; do
    for format in pprof folded speedscope cpuprofile firefox callgrind otlp; do
        pitot convert --strict "$PITOT_ROOT/tests/golden/$file" --to=$format -o out.$format \
            --losses=l.json 2>/dev/null || continue
        grep -q '"changes": \[\]' l.json || continue
        echo "$file" >>lossless
        # A .cpuprofile counts its samples besides.
        totals out.$format | tr ' ' '\n' | sort >got
        totals "$PITOT_ROOT/tests/golden/$file" | tr ' ' '\n' | sort >expected
        expect_equal "$file as $format" "$(comm -13 got expected)" ''
    done
done
expect test "$(wc -l <lossless)" -ge 6
