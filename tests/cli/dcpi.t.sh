#!/usr/bin/env bash
# DCPI's tools: pitot dcpicat, dcpiprof, ... Counts are put at addresses that nm tells, so that what
# the tools must say is known by addition.
. "$(dirname "$0")/lib.sh"

cat >prog.c <<'C'
__attribute__((noinline)) int hot(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i * n ^ sum;
    return sum;
}
__attribute__((noinline)) int cold(int n)
{
    return n > 3 ? n * 7 : hot(n) + 1;
}
void _start(void)
{
    volatile int x = hot(1000) + cold(2);
    for (;;)
        x++;
}
C
id=0123456789abcdef0123456789abcdef01234567
built=
if command -v gcc nm >/dev/null; then
    gcc -g -O1 -fno-pie -no-pie -nostdlib -static -Wl,--build-id=0x$id prog.c -o prog && built=1
fi
address() { nm prog | awk -v name="$1" '$3 == name {print $1}'; }

# text EVENT PERIOD "OFFSET-IN-HOT:COUNT ..." "OFFSET-IN-COLD:COUNT ...": a profile of prog.
text() {
    local rows='' entry
    for entry in $3; do rows+=$(printf '0x%x %d' $((0x$(address hot) + ${entry%:*})) "${entry#*:}")$'\n'; done
    for entry in ${4:-}; do rows+=$(printf '0x%x %d' $((0x$(address cold) + ${entry%:*})) "${entry#*:}")$'\n'; done
    rows=$(printf '%s' "$rows" | sort)
    printf 'name prog\nimage %s\npath %s/prog\nepoch 9705221030\nplatform here\n' "$id" "$PWD"
    printf 'text_start 0x401000\ntext_size 0x1000\nfileoffset 0x1000\n'
    printf 'event %d %s:%d:10000\n%s\n' "$(printf '%s\n' "$rows" | awk '{s += $2} END {print s}')" "$1" "$2" "$rows"
}
if [ -n "$built" ]; then
    text cycles 62000 '0:1 2:70 4:9' '0:15 3:5' >cycles.dcpicat
    text imiss 4096 '2:1' '3:9' >imiss.dcpicat
fi

it 'dcpiprof counts images, or procedures, with the shares of one event and all of them'
if [ -z "$built" ]; then skip 'no compiler'; else
    run pitot dcpiprof cycles.dcpicat imiss.dcpicat
    expect_status 0
    expect_no_stderr
    expect_stdout_line 'cycles * 100 * 62000 *'
    expect_stdout_line 'imiss * 10 * 4096 *'
    expect_stdout_line "*100 100.00% 100.00% * 10 100.00% */prog"
    run pitot dcpiprof -procedures cycles.dcpicat imiss.dcpicat
    expect_stdout_line '* 80  80.00%  80.00% * 1  10.00% *hot *prog'
    expect_stdout_line '* 20  20.00% 100.00% * 9  90.00% *cold *prog'
fi

it 'dcpiprof sorts by the event that -s names, and stops at what -keep says'
if [ -z "$built" ]; then skip 'no compiler'; else
    run pitot dcpiprof -p -s imiss -no_header cycles.dcpicat imiss.dcpicat
    expect_equal 'the first row' "$(stdout | head -1 | tr -s ' ')" ' 9 90.00% 90.00% 20 20.00% cold '"$PWD/prog"
    run pitot dcpiprof -p -keep 75 -no_header cycles.dcpicat
    expect_stdout_lines 2
    expect_stdout_line '1 more (-n 0)'
    run pitot dcpiprof -s nonsense cycles.dcpicat
    expect_status 2
    expect_stderr_line '*--sort=nonsense: the profile has no such event; its events: cycles'
fi

it 'dcpiprof shows the procedures of an image that is named, or of a program among the arguments'
if [ -z "$built" ]; then skip 'no compiler'; else
    run pitot dcpiprof -image prog cycles.dcpicat
    expect_stdout_line '* 80 *hot *'
    run pitot dcpiprof ./prog cycles.dcpicat
    expect_stdout_line '* 80 *hot *'
    run pitot dcpiprof -image other cycles.dcpicat
    expect_status 3
    expect_stderr_line 'pitot: cycles.dcpicat: no samples in an image called other'
fi

it 'dcpiprof writes the same numbers as CSV and JSON'
if [ -z "$built" ]; then skip 'no compiler'; elif needs python3; then
    run pitot dcpiprof -p -csv cycles.dcpicat imiss.dcpicat
    expect_stdout_line 'cycles,imiss,procedure,image,id'
    expect_stdout_line "80,1,hot,$PWD/prog,$id"
    run pitot dcpiprof -p --json cycles.dcpicat imiss.dcpicat
    expect_equal 'the rows' "$(stdout | python3 -c '
import json, sys
for row in json.load(sys.stdin)["rows"]: print(row["procedure"], *row["values"], row["share"])')" \
        "$(printf 'hot 80 1 0.8\ncold 20 9 0.2')"
fi

it 'a link called like the tool is the tool'
if [ -z "$built" ]; then skip 'no compiler'; else
    ln -sf "$PITOT" dcpiprof
    run ./dcpiprof -no_header cycles.dcpicat
    expect_status 0
    expect_stdout_line '*100 100.00% 100.00% *'
fi

it 'dcpicat gives a text back as it is, and binary profiles of two events side by side'
if [ -z "$built" ]; then skip 'no compiler'; else
    pitot dcpicat cycles.dcpicat >once
    run pitot dcpicat once
    expect_status 0
    expect_same once "$t_out/stdout"
    pitot convert cycles.dcpicat -o cycles.dcpi
    pitot convert imiss.dcpicat -o imiss.dcpi
    run pitot dcpicat cycles.dcpi imiss.dcpi
    expect_stdout_line 'event       100 cycles:62000:10000'
    expect_stdout_line 'event       10 imiss:4096:10000'
    expect_stdout_line "$(printf '0x%x 70 1' $((0x$(address hot) + 2)))"
    expect_equal 'the rows' "$(stdout | grep -c '^0x')" 5
fi

it 'dcpicat shows the header of version 1 and says why there is no more'
printf 'version pdb-1.01\nimage 77\nevent cycles\nperiod 5\ntstart 0\nlabel x\nsamples\n\1\0\0\0' >new.dcpi
run pitot dcpicat new.dcpi
expect_status 4
expect_stdout_line 'version pdb-1.01'
expect_stdout_line 'image       77'
expect_stdout_line 'label x'
expect_stderr_line 'pitot: new.dcpi: dcpi: version 1.01: only the header can be read; what follows it was never documented*'

# Sentence D27.
it 'unknown header lines of several images stay with their image, in place, through a merge'
# header IMAGE TSTART EPOCH PERIOD UNKNOWN: one count behind it.
header() {
    printf 'version pdb-0.06\nimage %s\nfuture %s one\nepoch %s\nplatform here\nevent cycles\nperiod %s\ntsize 4096\ntstart %s\ncpuspeed 500\ncpuamask 7\npath /bin/%s\nlast-word %s\nsamples' \
        "$1" "$5" "$3" "$4" "$2" "$1" "$5" >"$1.dcpi"
    while [ $((($(wc -c <"$1.dcpi") + 1) % 4)) != 0 ]; do printf ' ' >>"$1.dcpi"; done
    printf '\n\20\0\0\0\1\0\0\0\11\0\0\0\1\0\0\0\11\0\0\0' >>"$1.dcpi"
}
header aa01 120000000 9705221030 62000 alpha
header bb02 140000000 9805221030 4096 beta
header cc03 160000000 9705221030 62000 gamma
run pitot merge aa01.dcpi bb02.dcpi cc03.dcpi -o all.dcpi
expect_status 0
expect_no_stderr_line '*header lines*'
n=0
for image in aa01 bb02 cc03; do
    expect_same "$image.dcpi" "all.dcpi.$image-$n.cycles"
    n=$((n + 1))
done
run pitot dcpicat aa01.dcpi bb02.dcpi cc03.dcpi
expect_no_stderr
for word in alpha beta gamma; do expect_equal "$word" "$(stdout | grep -c "$word")" 2; done
stdout >all.dcpicat
run pitot convert all.dcpicat -o again.dcpi
expect_equal 'unknown lines' "$(grep -ah 'future\|last-word' again.dcpi.* | tr '\n' ' ')" \
    'future alpha one last-word alpha future beta one last-word beta future gamma one last-word gamma '
run pitot merge all.dcpi.* bb02.dcpi -o twice.dcpi
expect_equal 'of two files of an image' "$(grep -ac beta twice.dcpi.bb02-1.cycles)" 2

it 'header lines of images that cannot be told apart are told'
header 0 120000000 9705221030 62000 alpha
mv 0.dcpi one.dcpi
header 0 140000000 9705221030 62000 beta
mv 0.dcpi two.dcpi
sed -i 's/^path .*/path \/c/' two.dcpi
run pitot merge one.dcpi two.dcpi -o both.dcpi
expect_status 0
expect_stderr_line 'pitot: * header lines of the source replaced, since their image is unknown'

it 'totals are the same in every format that holds what the profile has'
if [ -z "$built" ]; then skip 'no compiler'; else
    for format in dcpi dcpicat; do
        pitot convert --strict --to=$format -o "a.$format" cycles.dcpicat
        expect_equal "$format" "$(pitot dcpiprof -csv -p "a.$format")" "$(pitot dcpiprof -csv -p cycles.dcpicat)"
    done
    pitot convert cycles.dcpicat -o a.pb.gz 2>said
    expect_equal 'pprof' "$(pitot dcpiprof -csv -p a.pb.gz | cut -d, -f1-2)" "$(pitot dcpiprof -csv -p cycles.dcpicat | cut -d, -f1-2)"
fi

it 'profiles of other tools become one file for each image and event, and nothing is lost on the way'
golden=$PITOT_ROOT/tests/golden/pprof/cpu.pb.gz
run pitot convert "$golden" -o cpu.dcpi
expect_status 0
expect_equal 'the sum of the files' "$(cat cpu.dcpi* >/dev/null && pitot dcpiprof -csv -symbols=off cpu.dcpi* | awk -F, 'NR > 1 {s += $1} END {print s}')" \
    "$(pitot dcpiprof -csv -symbols=off -event samples "$golden" | awk -F, 'NR > 1 {s += $1} END {print s}')"

it 'dcpilist shows each instruction of a procedure with its count of each event'
if [ -z "$built" ]; then skip 'no compiler'; elif needs objdump; then
    run pitot dcpilist '^cold$' -asm -whole cycles.dcpicat imiss.dcpicat
    expect_status 0
    expect_equal 'how many' "$(stdout | grep -cE '^ +[0-9.]+ +[0-9.]+ +[0-9.e+x-]+ +[0-9.-]+ +[0-9a-f]+  ')" \
        "$(objdump -d prog | awk '/<cold>:$/ {on = 1; next} on && NF == 0 {on = 0} on' | grep -c ':')"
    at=$(printf '%x' $((0x$(address cold))))
    expect_stdout_line " *15        .  *$at  *"
    expect_equal 'the sum of cycles' "$(stdout | awk '$5 ~ /^401/ && $1 != "." {s += $1} END {print s}')" 20
    expect_equal 'the sum of imiss' "$(stdout | awk '$5 ~ /^401/ && $2 != "." {s += $2} END {print s}')" 9
fi

it 'dcpilist sums instructions up by source line'
if [ -z "$built" ]; then skip 'no compiler'; else
    run pitot dcpilist hot -source cycles.dcpicat
    expect_status 0
    expect_equal 'the sum' "$(stdout | awk '$2 ~ /^[0-9]+$/ && $1 ~ /^[0-9]+$/ && NF > 2 && seen {s += $1} /source$/ {seen = 1} END {print s}')" 80
    run pitot dcpilist nothing cycles.dcpicat
    expect_status 3
fi

it 'dcpilist takes an address for the procedure that it lies in'
if [ -z "$built" ]; then skip 'no compiler'; else
    run pitot dcpilist "0x$(printf '%x' $((0x$(address hot) + 2)))" cycles.dcpicat
    expect_status 0
    expect_stdout_line 'hot  */prog  0x*'
    expect_no_stdout_line 'cold  *'
fi

it 'dcpitopcounts lists instructions by the event that -s names'
if [ -z "$built" ]; then skip 'no compiler'; else
    run pitot dcpitopcounts -n 2 -s imiss -no_header cycles.dcpicat imiss.dcpicat
    expect_status 0
    expect_equal 'the first row' "$(stdout | head -1 | awk '{print $1, $2, $3, $4, $5, $6, $7}')" \
        "9 90.00% 90.00% 5 5.00% cold $(printf '%x' $((0x$(address cold) + 3)))"
    run pitot dcpitopcounts -csv cycles.dcpicat
    expect_stdout_line "70,hot,0x$(printf '%x' $((0x$(address hot) + 2))),*,$PWD/prog.c,*,$PWD/prog,$id"
    mv prog gone
    run pitot dcpitopcounts -n 1 cycles.dcpicat
    mv gone prog
    expect_stdout_line '* 70  70.00%  70.00%  [[]unknown] * - * prog'
fi

it 'dcpistats tells range, sum, mean, deviation, smallest and largest of each procedure'
if [ -z "$built" ]; then skip 'no compiler'; else
    text cycles 62000 '0:60' '0:40' >run1.dcpicat
    text cycles 62000 '0:62' '0:20' >run2.dcpicat
    text cycles 62000 '0:61' >run3.dcpicat
    run pitot dcpistats -csv run1.dcpicat run2.dcpicat run3.dcpicat
    expect_status 0
    # By hand: cold 40 20 0: range 40/60, deviation 20; hot 60 62 61: range 2/183, deviation 1.
    expect_stdout "$(printf '%s\n' 'range,sum,share,sets,mean,deviation,min,max,procedure,image' \
        "0.666667,60,0.246914,2,20,20,0,40,cold,$PWD/prog" "0.010929,183,0.753086,3,61,1,60,62,hot,$PWD/prog")"
    run pitot dcpistats -range 5 run1.dcpicat run2.dcpicat run3.dcpicat
    expect_stdout_line '*66.67% *60   24.69%    2 *20.0 *20.00 *0 *40  cold *'
    expect_stdout_line '1 more (-n 0)'
    run pitot dcpistats -csv -i -set run1.dcpicat,run2.dcpicat -set run3.dcpicat
    expect_stdout_line "0.497942,243,1,2,121.5,85.5599,61,182,,$PWD/prog"
    run pitot dcpistats -csv -normalize -i run1.dcpicat run3.dcpicat
    expect_stdout_line "0,161,1,2,80.5,0,80.5,80.5,,$PWD/prog"
    run pitot dcpistats run1.dcpicat
    expect_status 2
fi

# A graph that is known: A (2 instructions) goes to B (5) or C (2), both go to D (4), which returns.
# A and D run equally often.
graph=
if [ -n "$built" ] && [ "$(uname -m)" = x86_64 ]; then
    printf '%s\n' '.globl _start, f' '.type f, @function' 'f:' 'cmp $1, %edi' 'jle 2f' nop nop nop nop \
        'jmp 3f' '2: nop' nop '3: nop' nop nop ret '.size f, .-f' '.type _start, @function' \
        '_start: call f' '1: jmp 1b' '.size _start, .-_start' >graph.s
    gcc -nostdlib -static -no-pie -Wl,--build-id=0x${id%7}9 graph.s -o graph && graph=1
fi
# graph_text FILE OF-A OF-B OF-D: samples at the first instruction of each block.
graph_text() {
    local at=$((0x$(nm graph | awk '$3 == "f" {print $1}')))
    printf 'name graph\nimage %s\npath %s/graph\nepoch 9705221030\nplatform here\n' "${id%7}9" "$PWD"
    printf 'text_start 0x401000\ntext_size 0x1000\nfileoffset 0x1000\nevent %d cycles:62000:10000\n' $(($1 + $2 + $3))
    printf '0x%x %d\n0x%x %d\n0x%x %d\n' $at "$1" $((at + 5)) "$2" $((at + 13)) "$3"
}

it 'dcpicalc finds blocks, which of them run equally often, and how often by the least stalled'
if [ -z "$graph" ]; then skip 'no compiler for x86-64'; elif needs python3; then
    graph_text 100 30 400 >graph.dcpicat
    run pitot dcpicalc '^f$' --json graph.dcpicat
    expect_status 0
    # Four instructions a cycle: A takes half a cycle at best and has 100 samples, D takes one and has
    # 400. So it ran 100 / 0.5 * 62000 times, A at 0.25 cycles an instruction, D at 400 / 200 / 4.
    expect_equal 'blocks' "$(stdout | python3 -c '
import json, sys
b = json.load(sys.stdin)["procedures"][0]["blocks"]
print([x["instructions"] for x in b], [x["next"] for x in b])
print(b[0]["class"] == b[3]["class"], len({x["class"] for x in b}))
print(b[0]["executions"], b[0]["cpi"], b[3]["cpi"], b[0]["confidence"], b[2]["executions"], b[2]["confidence"])')" \
        "$(printf '%s\n' '[2, 5, 2, 4] [[1, 2], [3], [3], []]' 'True 3' '12400000 0.25 0.5 M None -')"
    run pitot dcpilist '^f$' -asm graph.dcpicat
    expect_stdout_line '     100  1.24e+07   0.50  *cmpl *'
    expect_stdout_line '     400  1.24e+07   2.00  *nop'
    run pitot dcpicalc '^f$' graph.dcpicat
    expect_stdout_line '  block 3 at *, class *: 4 instructions, runs 1.24e+07 times (M), 0.50 CPI, leaves'
    expect_stdout_line '  best case 0.25 CPI, actual *'
    expect_stdout_line '  No event but time was counted: of a stall its place is known, not its cause (caches,'
fi

it 'dcpitopstalls lists what is beyond the best case, dcpiwhatcg the shares of the whole'
if [ -z "$graph" ]; then skip 'no compiler for x86-64'; else
    run pitot dcpitopstalls -csv -n 1 graph.dcpicat
    # D's first instruction: 400 samples less the 200 / 4 that it takes at best, 1.75 cycles of 0.25.
    expect_stdout_line '350,400,M,1.75,[?],0x*,f,*'
    run pitot dcpiwhatcg graph.dcpicat
    expect_status 0
    # At best A takes 100 samples, D 200, and B its own 30: 330 of 530.
    expect_stdout_line '  execution at 4 a cycle   62.3%'
    expect_stdout_line '    unexplained stall         37.7% to  37.7%'
    expect_stdout_line '  5.7% of the samples lie in blocks without another block to compare with: *'
    sed 's/cycles:62000/dmiss:4096/' graph.dcpicat >dmiss.dcpicat
    run pitot dcpiwhatcg -s cycles graph.dcpicat dmiss.dcpicat
    expect_stdout_line '    D-cache miss               0.0% to  37.7%'
    if needs python3; then # 200 of 530 are stalls; D-cache misses may be all of them
        pitot dcpiwhatcg --json -s cycles graph.dcpicat dmiss.dcpicat | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["report"], r["samples"], round(r["execution_share"] * 530), round(r["stall_share"] * 530),
      [(c["letter"], round(c["share_at_most"] * 530)) for c in r["causes"]])' >got
        expect_equal 'dcpiwhatcg' "$(cat got)" "dcpiwhatcg 530 330 200 [('d', 200)]"
        pitot dcpitopstalls --json -n 1 graph.dcpicat | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["report"], r["total"], r["more"],
      *(r["rows"][0][key] for key in ("stalled", "count", "confidence", "average_cycles", "why", "procedure")))' >got
        expect_equal 'dcpitopstalls' "$(cat got)" "dcpitopstalls 530 $(pitot dcpitopstalls -csv -n 0 graph.dcpicat |
            awk 'END { print NR - 2 }') 350 400 M 1.75 ? f"
    fi
fi

it 'dcpidiff compares a procedure by block, or by line where its code differs'
if [ -z "$graph" ]; then skip 'no compiler for x86-64'; else
    graph_text 100 90 400 >other.dcpicat
    run pitot dcpidiff -csv '^f$' graph.dcpicat other.dcpicat
    expect_status 0
    expect_stdout_line '0.5,30,90,f,0x*,*'
    expect_stdout_line '0,400,400,f,0x*,*'
    run pitot dcpidiff '^f$' -compare cpi graph.dcpicat other.dcpicat
    expect_stdout_line '   0.00%          0.5          0.5     1.000 *'
    sed 's/return n > 3/if (n == 77) return 5; return n > 3/' prog.c >changed.c
    gcc -g -O1 -fno-pie -no-pie -nostdlib -static -Wl,--build-id=0x${id%7}8 changed.c -o changed
    at=$(nm changed | awk '$3 == "cold" {print $1}')
    printf '%s\n' 'name changed' "image ${id%7}8" "path $PWD/changed" 'epoch 9705221030' 'platform h' \
        'text_start 0x401000' 'text_size 0x1000' 'fileoffset 0x1000' 'event 7 cycles:62000:10000' \
        "0x$at 7" >changed.dcpicat
    run pitot dcpidiff '^cold$' cycles.dcpicat changed.dcpicat
    expect_status 0
    expect_stdout_line 'cold  *samples by source line, since the code differs'
    run pitot dcpidiff '^cold$' -compare cpi cycles.dcpicat changed.dcpicat
    expect_status 1
    run pitot dcpidiff '^nothing$' cycles.dcpicat imiss.dcpicat
    expect_status 3
fi

it 'options of DCPI whose meaning no published text tells are refused by name, not ignored'
for option in 'dcpicalc -cutoff 3' 'dcpicalc -conf_low 3' 'dcpicalc -conf_med 3' 'dcpicalc -conf_high 3' \
    'dcpicalc -cross_procedure optimistic' 'dcpicalc -tab x' 'dcpicalc -xct x' 'dcpiwhatcg -stall d'; do
    read -r command name value <<<"$option"
    run pitot "$command" "$name" "$value" '^f$' cycles.dcpicat
    expect_status 2
    expect_no_stdout
    expect_stderr "pitot: $command: unknown option -$name
pitot: \`pitot help $command\` shows how it is used"
done

it 'writes more files than may be open at once'
for i in $(seq 60); do
    printf 'prog 1 %d.000000:          1 cycles: \n\t          401000 f+0x0 (/usr/bin/img%d)\n\n' "$i" "$i"
done >many.script
run bash -c 'ulimit -Sn 40; exec "$PITOT" convert many.script --to=dcpi -o many'
expect_status 0
expect_equal files "$(find . -name 'many.img*' | wc -l)" 120
