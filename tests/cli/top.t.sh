#!/usr/bin/env bash
# pitot top: numbers by arithmetic, columns, filters, forms.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;read 3\nmain;parse 2\nmain;emit 1\nstart;main;emit 4\n' >a.folded

it 'shows self and total of each function with their shares, largest self first'
run pitot top a.folded
expect_status 0
expect_stdout 'a.folded: 10 samples
unnamed 0%

  self   self%  total  total%  function
     5   50.0%      5   50.0%  emit
     3   30.0%      3   30.0%  read
     2   20.0%      5   50.0%  parse
     0      0%     10  100.0%  main
     0      0%      4   40.0%  start'
expect_no_stderr

it 'sorts by total when asked'
run pitot top --sort=total --csv a.folded
expect_equal 'first row' "$(stdout | sed -n 2p)" '0,0,10,1,main,,0,false,false,,,,,0,2.775327999,7.224672001,10'

it 'shows so many rows and says how many more there are'
run pitot top -n 2 a.folded
expect_stdout_line '3 more (-n 0)'
expect_stdout_lines 7

it 'shows twenty rows in a pipe too, and all with -n 0'
for i in $(seq 80); do echo "main;f$i $i"; done >many.folded
run pitot top many.folded
expect_stdout_line '61 more (-n 0)'
expect_equal rows "$(stdout | grep -c ' f[0-9]')" 20
run pitot top -n 0 many.folded
expect_equal rows "$(stdout | grep -c ' f[0-9]')" 80
expect_no_stdout_line '*more*'

it 'counts a recursive function once a stack'
printf 'main;f;f;g;f 5\n' >r.folded
run pitot top --csv r.folded
expect_stdout_line '5,1,5,1,f,,0,false,false,,,,*'

it 'keeps percentages of the whole under focus, and of the rest with --relative'
run pitot top --focus=read a.folded
expect_status 0
expect_stdout_line '     3   30.0%      3   30.0%  read'
expect_stdout_line '--focus=read: 3 of it, 30.0% (3 samples)'
run pitot top --focus=read --relative a.folded
expect_stdout_line '     3  100.0%      3  100.0%  read'

it 'states between which values the truth lies: Wilson of samples, Poisson of waits'
# Wilson's interval of 5 of 10 at 95 % is 0.2366 to 0.7634; the score interval of 4 Poisson counts 1.5555 to 10.2859.
run pitot top --csv a.folded
expect_stdout_line '5,0.5,5,0.5,emit,*,2.36593*,7.63406*,2.36593*,7.63406*'
run pitot top --interval a.folded
expect_stdout_line '*self  +-95%   self%  total  +-95%  total%  function'
expect_stdout_line '     5      3   50.0%      5      3   50.0%  emit'
printf -- '--- contention:\ncycles/second = 1000000000\nsampling period = 1\n4000 4 @ 0x1000\n' >four.contention
run pitot top -e delay --csv four.contention
expect_stdout_line '4000,1,,,*,1555.5*,10285.9*,,'
printf 'main;f 12\nmain;f -12\nmain;h 5\n' >minus.folded
run pitot top --interval minus.folded
expect_status 0
expect_stdout_line '     5      ?*'
expect_stderr_line 'pitot: --interval: the profile does not hold the number of samples*'

it 'knows of a part what it knew of the whole: with --relative shares change, intervals do not'
run pitot top --csv --focus=emit a.folded
expect_stdout_line '5,0.5,5,0.5,emit,*,2.36593*,7.63406*,2.36593*,7.63406*'
run pitot top --csv --focus=emit --relative a.folded
expect_stdout_line '5,1,5,1,emit,*,2.36593*,7.63406*,2.36593*,7.63406*'

it 'drops samples with --ignore and frames with --hide and --show'
run pitot top --csv --ignore=read a.folded
expect_no_stdout_line '*read*'
expect_stdout_line '2,0.2,2,0.2,parse,,0,false,false,,,,*'
run pitot top --csv --hide=read a.folded
expect_stdout_line '5,0.5,5,0.5,parse,,0,false,false,,,,*'
run pitot top --csv --show='parse|read' a.folded
expect_no_stdout_line '*main*'
expect_stdout_line '3,0.3,3,0.3,read,,0,false,false,,,,*'

it 'ends with status 3 and near names when a pattern matches nothing'
run pitot top --focus=prase a.folded
expect_status 3
expect_stderr 'pitot: --focus=prase matches no function, source file or mapped file; near: parse'
expect_no_stdout

it 'ends with status 3 when the patterns together leave nothing'
run pitot top --focus=read --ignore=parse a.folded
expect_status 3
expect_stderr_line 'pitot: --focus=read --ignore=parse drops all 4 samples*'

it 'answers when a pattern that only takes away matches nothing, and says so'
run pitot top --ignore=nothing a.folded
expect_status 0
expect_stderr_line 'pitot: --ignore=nothing matches no function*'

it 'shows a pattern that is wrong, with its option'
run pitot top --hide='a(' a.folded
expect_status 2
expect_stderr_line 'pitot: --hide=a(: *'

it 'lists the events when one is asked for that is not there'
run pitot top --event=cycles a.folded
expect_status 2
expect_stderr 'pitot: --event=cycles: the profile has no such event; its events: samples'

it 'says which events have values where the one shown by default has none'
printf 'events: Dr Ir\nfn=main\n1 0 5\n' >callgrind.out.1
run pitot top --csv callgrind.out.1
expect_stderr_line '*callgrind.out.1: all values of Dr are 0; --event=EVENT shows another event: Ir'
run pitot top -e Ir --csv callgrind.out.1
expect_no_stderr

it 'names the own function that calls most of what is not the own'
printf '%s\n' 'main;app::run;std::sort 29' 'main;app::run;std::sort;std::swap 20' 'main;other;std::sort 11' \
    'main 40' 'std::lonely 5' 'main;app::run;own 7' >own.folded
run pitot top own.folded
expect_stdout_line '*    40  *  std::sort  <- app::run 72%'
expect_stdout_line '*    20  *  std::swap  <- app::run'
expect_stdout_line '*     5  *  std::lonely'
expect_stdout_line '*     7  *  own'
expect_stdout_line '*    40  *  main'
# own FUNCTION FILE MAPPING: whether that, calling a function of the C library, is named as its caller.
own() {
    printf '%s\n' "prog 1 1.000001: 1 cycles:" "	7f0000001000 memcpy+0x1 (/usr/lib/x86_64-linux-gnu/libc.so.6)" \
        "	1000 $1+0x1 ($3)" "  $2:7" '' >called.txt
    pitot top called.txt 2>/dev/null | grep -q '  memcpy  <- ' && echo yes
}
expect_equal 'a program in a folder of its own' "$(own run run.c /usr/lib/postgresql/16/bin/postgres)" yes
expect_equal 'a library' "$(own run run.c /usr/lib/libz.so.1)" ''
expect_equal 'a library of the program' "$(own run run.c /home/me/libown.so)" yes
expect_equal 'a module of an interpreter' "$(own run run.c /opt/py/lib/python3.11/lib-dynload/_run.so)" ''
expect_equal 'the kernel' "$(own run run.c '[kernel.kallsyms]')" ''
expect_equal 'a type before a name' "$(own 'void std::sort<int*>(int*, int*)' run.c /home/me/prog)" ''
expect_equal 'arguments of that name' "$(own 'run(std::vector<int>)' run.c /home/me/prog)" yes
expect_equal 'a namespace that others have' "$(own core::Engine::run run.cc /home/me/prog)" yes
expect_equal "Rust's" "$(own core::slice::sort /rustc/abc/library/core/src/slice.rs /home/me/prog)" ''
expect_equal "Go's" "$(own fmt.Println /usr/local/go/src/fmt/print.go /home/me/prog)" ''
expect_equal 'below GOPATH' "$(own a.b/c.run /home/me/go/src/a.b/c/run.go /home/me/prog)" yes
expect_equal "an image's folder" "$(own main.run /go/src/app/run.go /home/me/prog)" yes
printf '%s\n' '#include <string.h>' '#include <stdlib.h>' 'static char from[1 << 16], to[1 << 16];' \
    '__attribute__((noinline)) static void copies_here(int n)' '{' '    while (n-- > 0)' \
    '        memcpy(to, from, sizeof to - (size_t)(n & 1));' '}' \
    'int main(int argc, char **argv) { copies_here(argc > 1 ? atoi(argv[1]) : 200000); return to[9]; }' >copy.c
${CC:-cc} -O1 -g -fno-builtin -o copy copy.c
if [ "$PITOT_SANITIZED" = 0 ]; then
    run pitot record -o copy.pb.gz ./copy
    run pitot top -n 1 copy.pb.gz
    expect_stdout_line '* __mem*  <- copies_here  copy.c:7*'
fi

it 'adds up several profiles'
run pitot top --csv a.folded a.folded
expect_status 0
expect_stdout_line '10,0.5,10,0.5,emit,,0,false,false,,,,*'

it 'reads standard input'
status=0
"$PITOT" top --csv - <a.folded >"$t_out/stdout" 2>"$t_out/stderr" || status=$?
expect_status 0
expect_stdout_line '5,0.5,5,0.5,emit,,0,false,false,,,,*'

it 'writes JSON with a schema number that other tools read'
run pitot top --json a.folded
expect_status 0
if needs python3; then
    stdout >a.json
    expect_equal 'schema, rows, first row' "$(python3 -c '
import json; d = json.load(open("a.json"))
r = d["rows"][0]
print(d["schema"], d["report"], len(d["rows"]), r["name"], r["self"], r["total"], r["self_share"])
')" '1 top 5 emit 5 5 0.5'
fi

it 'quotes CSV as RFC 4180 has it'
printf 'main;a"b,c 1\n' >q.folded
run pitot top --csv q.folded
expect_stdout_line '1,1,1,1,"a""b,c",,0,false,false,,,,*'

it 'lines up names of any script'
printf '主;関数 3\nmain;é 2\n' >u.folded
run pitot top u.folded
expect_status 0
expect_stdout_line '     3   60.0%      3   60.0%  関数'

it 'never cuts a name in a pipe'
name=$(printf 'x%.0s' $(seq 3000))
echo "main;$name 1" >long.folded
run pitot top long.folded
expect_stdout_has "$name"

it 'says when there is no sample at all'
printf '' >none.folded
run pitot top --from=folded none.folded
expect [ "$status" != 0 ]

it 'shows file and line of functions in a real profile, and unit and duration in the head'
if corpus pprof/mtg__default.pgo; then
    run pitot top "$corpus"
    expect_status 0
    expect_stdout_line '*: cpu, 29.3s in 10.0min, 2,929 samples at 100 Hz'
    expect_stdout_line '*49.1%*internal/runtime/syscall/linux.Syscall6  <- github.com/*.go:*'
    expect_stdout_line '*github.com/9seconds/mtg/v2/mtglib.connIdleTimeout.Read  conns.go:134'
    expect_stdout_line '*runtime.nanotime*[(]inlined)'
fi

it 'leaves out the frames that the profile itself drops, as pprof does, unless all are asked for'
if corpus pprof-goldens/fixtures/heap.pb.gz; then
    run pitot top --csv "$corpus"
    expect_no_stdout_line '*operator new*'
    run pitot top --csv --all-frames "$corpus"
    expect_stdout_line '*operator new*'
fi

it 'subtracts a base, and shows shares of it with --diff-base'
printf 'main;a 5\nmain;b 2\n' >after.folded
printf 'main;a 1\nmain;c 4\n' >before.folded
run pitot top --csv --base=before.folded after.folded
expect_status 0
expect_equal rows "$(stdout | sed 1d | cut -d, -f1,3,5 | sort | tr '\n' ' ')" \
    '-4,-4,c 0,2,main 2,2,b 4,4,a '
run pitot top --csv --diff-base=before.folded after.folded
expect_equal 'share of a' "$(stdout | grep ',a,' | cut -d, -f1,2)" '4,0.8'
run pitot top --base=after.folded after.folded
expect_status 3
expect_stderr 'pitot: after.folded: no sample differs from the base'

it 'subtracts only one kind of base'
run pitot top --base=before.folded --diff-base=before.folded after.folded
expect_status 2
run pitot top --normalize after.folded
expect_status 2
expect_stderr_line '*needs --base, --diff-base or --base-time*'

it 'cuts stacks above and below a frame'
run pitot top --csv --show-from=parse --prune-from=parse a.folded
expect_equal rows "$(stdout | sed 1d | cut -d, -f1,3,5)" '5,5,parse'

it 'says which labels there are when none matches'
run pitot top --tag-focus=thread a.folded
expect_status 3
expect_stderr 'pitot: --tag-focus=thread matches no label; the samples have no labels'

it 'makes rows of lines, files or functions, and leaves inlined functions out when asked'
if corpus pprof-goldens/fixtures/cpu.pb.gz; then
    run pitot top --csv --by=file "$corpus"
    expect_equal files "$(stdout | sed 1d | cut -d, -f1,3,5)" '1100,1100,testdata/file1000.src
10,1120,testdata/file3000.src
10,1010,testdata/file2000.src'
    run pitot top --csv --no-inlines "$corpus"
    expect_equal functions "$(stdout | sed 1d | cut -d, -f1,3,5)" '1100,1100,line1000
10,1120,line3000
10,1010,line2000'
fi

it 'subtracts the same with any number of threads'
for i in $(seq 300); do echo "main;f$((i % 37));g$((i % 11)) $i"; done >x.folded
for i in $(seq 300); do echo "main;f$((i % 41));g$((i % 7)) $i"; done >y.folded
pitot top -n 0 --json -j1 --base=y.folded x.folded >one.json
pitot top -n 0 --json -j8 --base=y.folded x.folded >eight.json
expect cmp one.json eight.json

it 'one line says that the addresses of many files have no name; dump says why of each'
# A gperftools profile of a sample in each of so many files that are not there (the format:
# a header 0 3 0 10000 0, records "count 1 pc", the trailer 0 1 0, then /proc/PID/maps).
nowhere() {
    python3 - "$1" <<'PY'
import struct, sys
count = int(sys.argv[1])
words, maps = [0, 3, 0, 10000, 0], ''
for i in range(count):
    start = 0x10000 * (i + 1)
    for sample in range(i + 1):
        words += [1, 1, start + 16 * (sample + 1)]
    maps += f'{start:08x}-{start + 0x1000:08x} r-xp 00000000 00:00 0 /nowhere/lib{i}.so\n'
words += [0, 1, 0]
open(f'{count}.prof', 'wb').write(struct.pack(f'<{len(words)}Q', *words) + maps.encode())
PY
}
nowhere 3
nowhere 4
run pitot top 3.prof
expect_status 0
expect_stderr_lines 3
expect_stderr_line 'pitot: 2 addresses without a name: /nowhere/lib1.so: there is no such program or library here'
run pitot top 4.prof
expect_status 0
expect_stderr 'pitot: 10 addresses without a name; 4 of them: /nowhere/lib3.so: there is no such program or library here; `pitot dump -n 1 4.prof` lists 3 more reasons'
run pitot dump -n 1 4.prof
expect_stderr_lines 4

it "counts no address of an interpreter's own code, whose frames the report leaves out"
printf 'php 7 1.5: 1 cpu-clock:\n\t10010 [unknown] (/nowhere/php8.2)\n\t20010 work ([php])\n\n' >php.script
run pitot top php.script
expect_no_stderr_line '*php8.2*'
run pitot top --native php.script
expect_stderr_line 'pitot: 1 address without a name: /nowhere/php8.2: there is no such program or library here'
run pitot why php.script
expect_no_stderr_line '*php8.2*'
