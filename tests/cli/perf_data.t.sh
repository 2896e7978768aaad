#!/usr/bin/env bash
# perf.data, read as perf itself reads it: the same samples with the same threads, times, events,
# periods and addresses. perf of the machine is the judge of its own goldens and of the corpus.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden/perf.data
compare=$PITOT_ROOT/tests/cli/perf_samples.py

# same_samples FILE [flat]: flat = without call chains
same_samples() {
    perf script --no-itrace --no-inline --max-stack 1024 --ns -F tid,time,event,period,ip -i "$1" \
        >theirs.txt 2>theirs.err || { skip "this perf cannot read it: $(head -1 theirs.err)"; return; }
    pitot dump --raw --symbols=off "$1" >ours.txt 2>/dev/null
    python3 "$compare" perf theirs.txt >theirs
    python3 "$compare" pitot "${2:-chains}" ours.txt >ours
    expect [ -s theirs ]
    expect_same ours theirs
}

for file in fp.data zstd.data pipe.data pipe-zstd.data; do
    it "has the samples and chains of $file as perf script has them"
    needs perf python3 && same_samples "$golden/$file"
done

for file in two.data group.data; do
    it "has the samples of $file as perf script has them, each event's own"
    needs perf python3 && same_samples "$golden/$file" flat
done

for file in "${PITOT_CORPUS:-none}"/perf.data/*; do
    [ -e "$file" ] || continue
    case $file in *callgraph*) kind=chains ;; *) kind=flat ;; esac
    it "has the samples of $(basename "$file") of the corpus as perf script has them"
    needs perf python3 && same_samples "$file" $kind
done

it 'shows the table of a recording'
run pitot top --symbols=off "$golden/fp.data"
expect_status 0
expect_stdout_line '*fp.data: cpu-clock, 56.7ms in 152ms, 17 samples at 300 Hz'

it 'tells who recorded it, where and how'
run pitot info "$golden/fp.data"
expect_stdout_line 'tool       perf 6.1.192'
expect_stdout_line 'command    /usr/bin/perf record * /usr/local/bin/spin'
expect_stdout_line '*/usr/local/bin/spin 3e22fa499e3af256a08f9c0eb78947481c164c73*'

it 'reads a recording from a pipe'
run bash -c '"$PITOT" info --json - <"$1"' - "$golden/pipe.data"
expect_status 0
expect_stdout_has '"samples": 22'

it 'keeps what came before a crash, says where it ends, and exits with 4'
head -c 4000 "$golden/pipe.data" >cut.data
run pitot info cut.data
expect_status 4
expect_stderr_line 'pitot: cut.data: perf.data: it ends inside the record at byte *; kept * samples*'

it 'reads what a killed perf left: no size of its data'
{ head -c 48 "$golden/fp.data"; printf '\0\0\0\0\0\0\0\0'; tail -c +57 "$golden/fp.data"; } >killed.data
run pitot info killed.data
expect_status 4
expect_stdout_line '*cpu-clock (nanoseconds): 56.7ms in 17 samples*'

it 'says that what perf notes behind the samples is cut'
size=$(stat -c %s "$golden/fp.data")
for cut in 1 100 1000 2500; do
    head -c $((size - cut)) "$golden/fp.data" >cut.data
    run pitot info cut.data
    expect_status 4
    expect_stderr_line "pitot: cut.data: perf.data: the part behind the samples * is truncated at byte $((size - cut)); kept 17 samples*"
    expect_stdout_line '*cpu-clock (nanoseconds): 56.7ms in 17 samples*'
done

it 'unwinds copied stacks by programs wherever names are looked for'
if needs perf gcc; then
    cat >deep.c <<'END'
#include <stdlib.h>
volatile unsigned long sum;
__attribute__((noinline)) void spin(long n) { while (n-- > 0) sum += (unsigned long)n; }
__attribute__((noinline)) void middle(long n) { spin(n); sum++; }
int main(int argc, char **argv) { middle(argc > 1 ? atol(argv[1]) : 0); return 0; }
END
    gcc -O1 -fomit-frame-pointer -g -Wl,--build-id deep.c -o deep
    if ! perf record -q -B -e cpu-clock:u -c 1000000 --call-graph dwarf,512 -o dwarf.data \
        ./deep 200000000 2>perf.err; then
        skip "perf cannot record here: $(head -1 perf.err)"
    fi
    # Nothing may find it but the folder of programs that is named.
    mkdir programs
    mv deep programs/
    run pitot tree --symbols=off dwarf.data
    expect_stderr_line '* copies of user stacks not unwound: *'
    run pitot tree --binary-path=programs dwarf.data
    expect_no_stderr_line '* not unwound*'
    expect_stdout_line '*↓ middle'
    expect_stdout_line '*↓ spin'
    export PPROF_BINARY_PATH=$PWD/programs
    run pitot tree dwarf.data
    expect_no_stderr_line '* not unwound*'
    expect_stdout_line '*↓ middle'
    run pitot pprof -top -cum dwarf.data
    expect_no_stderr_line '* not unwound*'
    expect_stdout_line '* middle'
    unset PPROF_BINARY_PATH
fi

it 'takes the folder of a recording by several threads of perf for one recording'
if needs perf python3 gcc; then
    gcc -O1 -fno-omit-frame-pointer deep.c -o spin 2>/dev/null || fail 'deep.c does not compile'
    for way in '' -z; do
        rm -rf threads.data
        if ! perf record -q -B $way --threads -e cpu-clock:u -c 2000000 -g -o threads.data \
            sh -c './spin 30000000 & ./spin 30000000 & wait' 2>perf.err; then
            skip "perf cannot record here: $(head -1 perf.err)"
            break
        fi
        same_samples threads.data
        expect [ "$(wc -l <ours)" -gt 2 ]
    done
    if [ -d threads.data ]; then
        run pitot info threads.data/data
        expect_stderr_line '* file of a recording by several threads: * name the folder'
        # A cpu that nothing ran on has an empty file; records are multiples of 8 bytes.
        largest=$(find threads.data -name 'data.*' -printf '%s %p\n' | sort -n | tail -n 1)
        head -c 100 "${largest#* }" >cut
        mv cut "${largest#* }"
        run pitot info threads.data
        expect_status 4
        expect_stderr_lines 1
    fi
fi

it 'shows only the samples of a thread, or with a name'
run pitot top --symbols=off --tag-focus=comm=spin "$golden/fp.data"
expect_status 0
run pitot top --symbols=off --tag-focus=comm=other "$golden/fp.data"
expect_status 3

# times_of_dump: when the samples of a dump were taken, in ns, sorted
times_of_dump() {
    awk -F'\t' '/^[a-z]+ [0-9]+$/ { is_sample = /^sample/; next }
        is_sample && /^[0-9]/ { print $5 }' | sort
}

it 'chooses the samples that perf script chooses by --comm, --pid and --tid'
if needs perf; then
    for file in "$golden/fp.data" "${PITOT_CORPUS:-none}"/perf.data/*systemwide.0-3.8; do
        [ -e "$file" ] || continue
        perf script --no-itrace --no-inline -F comm,pid,tid -i "$file" 2>/dev/null | grep . |
            sort | uniq -c | sort -rn | sed -n '1p;3p' |
            sed 's|^ *[0-9]* *\(.*[^ ]\)  *\([0-9]*\)/\([0-9]*\) *$|comm ^\1$ \1\npid \2 \2\ntid \3 \3|' >ways
        expect [ -s ways ]
        while read -r way pattern name; do
            perf script --no-itrace --no-inline --ns -F tid,time -i "$file" "--$way=$name" \
                2>/dev/null | awk 'NF { sub(/:$/, "", $2); sub(/\./, "", $2); sub(/^0+/, "", $2); print $2 }' |
                sort >theirs
            pitot dump --raw --symbols=off --tag-focus="$way=$pattern" "$file" 2>/dev/null |
                times_of_dump >ours
            expect [ -s ours ]
            expect_same ours theirs
        done <ways
    done
fi

# same_times FILE RANGE: as many samples of that time as perf script has. Its own events of one
# sample (groups that are read together) are one here, so times are counted.
same_times() {
    perf script --no-itrace --no-inline --ns -F tid,time -i "$1" --time "$2" 2>theirs.err |
        awk 'NF { print $2 }' | sort -u | wc -l >theirs
    pitot dump --raw --symbols=off --time="$2" "$1" 2>/dev/null |
        times_of_dump | uniq | wc -l >ours
    expect_equal "samples of $2" "$(cat ours)" "$(cat theirs)"
}

# ranges FILE: ranges that begin and end at samples, between them, and nowhere
ranges() {
    perf script --no-itrace --no-inline --ns -F tid,time -i "$1" 2>/dev/null |
        awk 'NF { print $2 }' | tr -d : | sort -n | awk '
            { t[NR] = $1 }
            END {
                print t[1] "," t[NR]; print t[int(NR / 3) + 1] "," t[int(NR / 2) + 1]
                print "," t[int(NR / 2) + 1]; print t[int(NR / 4) + 1] ","
                print t[1] "," t[1] " " t[NR] "," }'
}

for file in fp.data two.data group.data; do
    it "--time leaves of $file what perf script --time does"
    if needs perf; then
        while read -r range; do same_times "$golden/$file" "$range"; done < <(ranges "$golden/$file")
        # perf needs the times of the first and the last sample in the header for percentages.
        for range in 10%-20% 10%/3 50% 0%-5%,95%-100% 20%/1,20%/4; do
            same_times "$golden/$file" "$range"
        done
    fi
done

for file in "${PITOT_CORPUS:-none}"/perf.data/*{raw-3.4,systemwide.0-3.8}; do
    [ -e "$file" ] || continue
    it "--time leaves of $(basename "$file") of the corpus what perf script --time does"
    if needs perf; then
        while read -r range; do same_times "$file" "$range"; done < <(ranges "$file")
    fi
done

it 'says when samples were taken, and which time leaves none'
run pitot info "$golden/fp.data"
expect_stdout_line 'time *; samples span 152ms: 3310.573040717,3310.725217201'
run pitot top --symbols=off --time=1,2 "$golden/fp.data"
expect_status 3
expect_stderr_line 'pitot: --time=1,2: there are no samples in this range; the profile has 3310.573040717,3310.725217201'
run pitot top --time=10 "$golden/fp.data"
expect_status 2
expect_stderr_line 'pitot: --time=10 is not a range such as *'
printf 'a;b 1\n' >none.folded
run pitot top --time=10%-20% none.folded
expect_status 3
expect_stderr_line 'pitot: --time=10%-20%: the samples of this profile have no times'

it 'takes a time of what perf script prints, too'
printf 'hot 1 [000] 2.5:  1001 cpu-clock:\n\t1146 leaf (/tmp/hot)\n\nhot 1 [000] 3.5:  1 cpu-clock:\n\t1146 leaf (/tmp/hot)\n\n' >two.txt
run pitot top --symbols=off --time=3,4 two.txt
expect_stdout_line '--time=3,4: 1.00ns of it, 0.10% (1 sample)'

for file in fp.data pipe-zstd.data two.data; do
    it "writes $file again so that perf script shows the same samples"
    if needs perf python3; then
        run pitot convert --symbols=off "$golden/$file" -o again.data
        expect_status 0
        [ $file = two.data ] || same_samples again.data
        perf script --ns -F tid,time,event,period,ip -i "$golden/$file" >theirs.txt 2>/dev/null
        python3 "$compare" perf totals theirs.txt >theirs
        perf script --ns -F tid,time,event,period,ip -i again.data >again.txt 2>/dev/null
        python3 "$compare" perf totals again.txt >again
        expect_same again theirs
    fi
done

it 'says of no frequency where nobody told it'
printf 'hot 1 [000] 2.5:  1001 cpu-clock:\n\t1146 leaf (/tmp/hot)\n\n' >script.txt
run pitot convert --symbols=off script.txt -o untold.data
expect_status 0
run pitot top --symbols=off untold.data
expect_stdout_line 'untold.data: cpu-clock, 1.00us, 1 sample'

it 'writes a profile.proto with addresses as perf.data that perf report shows'
if needs perf; then
    run pitot convert --symbols=off "$PITOT_ROOT/tests/golden/pprof/cpu.pb.gz" --to perf.data -o cpu.data
    expect_status 0
    run bash -c 'perf report --stdio -i cpu.data 2>/dev/null | grep -c "^# Samples"'
    expect_stdout 1
    pitot info --json "$PITOT_ROOT/tests/golden/pprof/cpu.pb.gz" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["events"][0]["total"])' >expected
    perf script -i cpu.data -F period 2>/dev/null | grep -c '[0-9]' >got
    expect_same expected got
fi

it 'writes one sample where all that a profile counts would be too many'
python3 - <<'END'
import struct
words = [0, 3, 0, 10000, 0, 1 << 30, 1, 0x401000, 0, 1, 0]
with open('many.prof', 'wb') as file:
    file.write(struct.pack('<%dQ' % len(words), *words) +
               b'00400000-00402000 r-xp 00000000 00:00 0 /bin/prog\n')
END
run pitot convert --symbols=off many.prof -o many.data
expect_status 0
expect_stderr_line 'pitot: 1,073,741,823 samples without a record of their own, which would make the file too large: perf counts fewer samples'
expect test "$(stat -c %s many.data)" -lt 4096
run pitot top --symbols=off many.data
expect_stdout_line 'many.data: cpu, 2,983h, 1 sample at 100 Hz'

it 'says what is wrong in one line: zeros, nothing, a folder, cut headers, bombs'
truncate -s 2G zeros
: >empty
mkdir folder
head -c 90 "$golden/fp.data" >header
printf 'PERFILE2\150\0\0\0\0\0\0\0' >start
for file in zeros empty folder header start; do
    run pitot top --max-memory=4G $file
    [ "$status" = 1 ] || [ "$status" = 4 ] || fail "exit status $status for $file"
    expect_stderr_lines 1
done
