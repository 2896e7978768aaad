#!/usr/bin/env bash
# gperftools CPU profiles: what google-pprof, go tool pprof and pitot say of the same file, written
# by Debian's libprofiler, by ours, by pitot convert, or slot by slot after the specification.
. "$(dirname "$0")/lib.sh"

cat >prog.c <<'C'
__attribute__((noinline)) unsigned mix(unsigned n)
{
    unsigned h = 1;
    for (unsigned i = 0; i < n; i++)
        h = (h ^ i) * 2654435761u;
    return h;
}
__attribute__((noinline)) double shape(int n)
{
    double s = 0;
    for (int i = 1; i < n; i++)
        s += 1.0 / (i * (double)i + 3);
    return s;
}
__attribute__((noinline)) unsigned both(int k)
{
    return mix(600000) + (unsigned)shape(300000 + k) + 1;
}
int main(void)
{
    volatile unsigned u = 0;
    for (int k = 0; k < 400; k++)
        u += both(k) + 1;
    return 0;
}
C
built=
if command -v gcc >/dev/null && gcc -g -O1 -fno-pie -no-pie prog.c -o prog; then built=1; fi
ready() {
    if [ -z "$built" ]; then skip 'no compiler'; return 1; fi
    needs google-pprof python3
}

# SELF-SAMPLES FUNCTION lines, sorted, of the program's own functions.
ours() { grep -E ' (mix|shape|both|main)$' | sort; }
of_perl() { google-pprof --text "$@" 2>/dev/null | awk '$1 > 0 {print $1, $NF}' | ours; }
# go's tool names no C functions: what counts is every sample, address and mapping as it reads them.
of_go() {
    HOME=$PWD PPROF_TMPDIR=$PWD go tool pprof -raw -symbolize=none "$1" 2>/dev/null | sed '/^Comment: pitot/d; s/ [0-9a-f]\{40\} $/  /'
}
of_pitot() { pitot top --csv -n 0 -e samples "$@" 2>/dev/null | awk -F, '$1 > 0 {print $1, $5}' | ours; }
total_of_perl() { google-pprof --text "$@" 2>/dev/null | awk '/^Total:/ {print $2}'; }
total_of_pitot() { pitot info --json "$@" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"][0]["total"])'; }

all_agree() { # PROGRAM PROFILE
    local pitot
    pitot=$(of_pitot "$@")
    expect test -n "$pitot"
    expect_equal "what google-pprof says of $2" "$(of_perl "$@")" "$pitot"
    expect_equal "google-pprof's total of $2" "$(total_of_perl "$@")" "$(total_of_pitot "$2")"
    command -v go >/dev/null || return 0
    pitot convert "$2" -o as-read.pb.gz 2>/dev/null
    expect test -n "$(of_go "$2")"
    expect_equal "what go tool pprof says of $2" "$(of_go "$2")" "$(of_go as-read.pb.gz)"
}

it 'a file of Debian'"'"'s libprofiler is read alike by google-pprof, go tool pprof and pitot'
debian=/usr/lib/x86_64-linux-gnu/libprofiler.so.0
if ready; then
    if [ ! -e $debian ] || [ "$PITOT_SANITIZED" = 1 ]; then skip 'libprofiler is not installed, or sanitizers'; else
        LD_PRELOAD=$debian CPUPROFILE=$PWD/debian.prof CPUPROFILE_FREQUENCY=250 ./prog >/dev/null 2>&1
        all_agree prog debian.prof
    fi
fi

it 'a file of our library is read alike'
if ready; then
    if [ ! -e "$PITOT_BUILD/libprofiler.so.0" ] || [ "$PITOT_SANITIZED" = 1 ]; then skip 'no library, or sanitizers'; else
        LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 CPUPROFILE=$PWD/own.prof CPUPROFILE_FREQUENCY=250 ./prog >/dev/null 2>&1
        all_agree prog own.prof
    fi
fi

# A profile of prog slot by slot: WORD-BYTES ORDER FILE, with a fourth argument a header of two slots
# more. Order is "<" or ">". Its addresses are below 2^32.
write_slots() {
    python3 - "$@" <<'PY'
import os, struct, subprocess, sys
bytes_, order, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
at = {l.split()[2]: int(l.split()[0], 16) for l in
      subprocess.run(['nm', 'prog'], capture_output=True, text=True).stdout.splitlines() if len(l.split()) == 3}
main, both, mix, shape = at['main'], at['both'], at['mix'], at['shape']
records = [(70, [mix + 4, both + 10, main + 12]), (20, [shape + 8, both + 20, main + 12]),
           (5, [both + 1, main + 12]), (3, [main + 2]), (2, [mix + 4, both + 10, main + 12]),
           (1, [shape + 4, main + 12])]
slots = [0, 3, 0, 4000, 0]
if len(sys.argv) > 4:
    slots = [0, 5, 0, 4000, 0, 7, 8]
for count, pcs in records:
    slots += [count, len(pcs)] + pcs
slots += [0, 1, 0]
path = os.path.abspath('prog')
text = 'build=%s\nsome line nobody knows\n00400000-00402000 r-xp 00000000 03:01 1 $build\n' % path
with open(name, 'wb') as out:
    out.write(struct.pack(order + ('Q' if bytes_ == 8 else 'I') * len(slots), *slots) + text.encode())
PY
}

it 'words of 32 and 64 bits in both orders give the same numbers, in all three tools'
if ready; then
    write_slots 8 '<' 64le.prof
    expect_equal 'by addition' "$(of_pitot prog 64le.prof)" "$(printf '21 shape\n3 main\n5 both\n72 mix')"
    for variant in '4 < 32le' '4 > 32be' '8 > 64be'; do
        set -- $variant
        write_slots "$1" "$2" "$3.prof"
        for command in 'top --csv -n 0' 'tree --csv' traces 'dump'; do
            pitot $command "$3.prof" 2>/dev/null | grep -v "$3.prof" >one
            pitot $command 64le.prof 2>/dev/null | grep -v 64le.prof >two
            expect test -s one
            expect_same one two
        done
    done
    for variant in 64le 32le 32be 64be; do all_agree prog $variant.prof; done
fi

it 'a header of more slots than three changes nothing, for google-pprof either'
if ready; then
    for variant in '4 < 32le' '4 > 32be' '8 < 64le' '8 > 64be'; do
        set -- $variant
        write_slots "$1" "$2" "$3.prof"
        write_slots "$1" "$2" long.prof longer
        expect_equal "$3" "$(of_pitot prog long.prof)" "$(of_pitot prog "$3.prof")"
    done
    expect_equal 'google-pprof' "$(of_perl prog long.prof)" "$(of_pitot prog long.prof)"
fi

it 'what pitot writes is read alike, in the words and the order that the profile came with'
if ready; then
    for variant in 64le 32le 32be 64be; do
        [ -e $variant.prof ] || continue
        pitot convert $variant.prof -o again.prof
        all_agree prog again.prof
        expect_equal "words of $variant" "$(pitot info --json again.prof | grep -E 'word|endian')" \
            "$(pitot info --json $variant.prof | grep -E 'word|endian')"
    done
    pitot convert 64le.prof -o way.pb.gz && pitot convert way.pb.gz -o back.prof 2>/dev/null
    all_agree prog back.prof
fi

it 'the Perl pprof'"'"'s raw file says the same where the program is gone'
if ready; then
    write_slots 8 '<' 64le.prof
    google-pprof --raw prog 64le.prof >perl.raw 2>/dev/null
    pitot symbolize prog </dev/null >/dev/null 2>&1
    pitot convert 64le.prof -o own.raw --to=raw 2>/dev/null
    expected=$(of_pitot prog 64le.prof)
    mv prog gone
    expect_equal 'pitot of perl' "$(of_pitot perl.raw)" "$expected"
    expect_equal 'perl of perl' "$(of_perl perl.raw)" "$expected"
    mv gone prog
    pitot convert --symbols=full 64le.prof -o own.raw 2>/dev/null
    mv prog gone
    expect_equal 'pitot of pitot' "$(of_pitot own.raw)" "$expected"
    expect_equal 'perl of pitot' "$(of_perl own.raw)" "$expected"
    mv gone prog
fi

it 'a program that is newer than the profile, or of another size, is doubted'
if ready; then
    write_slots 8 '<' old.prof
    touch -d '2020-01-01' old.prof
    run pitot top old.prof
    expect_stderr_line 'pitot: * addresses named from */prog, which is newer than the profile: names may be wrong'
    touch -d '2019-01-01' prog
    run pitot top old.prof
    expect_no_stderr_line '*newer than the profile*'
    sed -i 's/00400000-00402000/00400000-00440000/' old.prof
    run pitot top old.prof
    expect_status 0
    expect_stderr_line 'pitot: * addresses named from */prog, which differs in size from the file that was profiled: names may be wrong'
    touch prog
fi
