#!/bin/bash
# pitot symbolize against addr2line and llvm-symbolizer, on programs that are built here.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

cat >part.cc <<'END'
#include <cstdio>
#include <cstdlib>
volatile int sink;
extern "C" {
static inline __attribute__((always_inline)) int inner(int x)
{
    for (int i = 0; i < x; i++)
        sink += i;
    return sink * x;
}
static inline __attribute__((always_inline)) int middle(int x)
{
    return inner(x) + inner(x + 1);
}
}
int table[16] = {1};
__attribute__((noinline)) int outer(int x)
{
    return middle(x) + table[x & 15];
}
__attribute__((noinline)) int outer(long x, char *text)
{
    return text[x] + inner(static_cast<int>(x));
}
int main(int argc, char **argv)
{
    return outer(argc) + outer(1L, argv[0]) > 1000;
}
END

build() { command -v g++ >/dev/null && g++ -g -O1 part.cc -o prog; }

# Every address of our own functions, one a line.
addresses() {
    nm -S prog | awk '/outer| main$/ {print $1, $2}' | while read -r start size; do
        for ((k = 0; k < 16#$size; k++)); do printf '0x%x\n' $((16#$start + k)); done
    done
}

# same_as_addr2line OPTION...: the same bytes.
same_as_addr2line() {
    needs addr2line nm || return 0
    addr2line -e prog "$@" <addresses >theirs
    run pitot symbolize --output-style=addr2line -e prog "$@" <addresses
    expect_status 0
    stdout >ours
    expect_same ours theirs
}

llvm=$(command -v llvm-symbolizer-14 || command -v llvm-symbolizer || true)
same_as_llvm() {
    [ -n "$llvm" ] || { skip 'llvm-symbolizer is not installed'; return 0; }
    "$llvm" -e prog "$@" <addresses >theirs
    run pitot symbolize -e prog "$@" <addresses
    expect_status 0
    stdout >ours
    expect_same ours theirs
}

build || skip_all 'g++ is not installed'
addresses >addresses

it 'prints lines as addr2line does'
same_as_addr2line
it 'prints lines without folders as addr2line -s does'
same_as_addr2line -s
it 'prints addresses as addr2line -a does'
same_as_addr2line -a

it 'takes letters together, as addr2line does'
if needs addr2line; then
    run pitot symbolize --output-style=addr2line -Cfipe prog "$(head -1 addresses)"
    stdout >together
    run pitot symbolize --output-style=addr2line -C -f -i -p -e prog "$(head -1 addresses)"
    stdout >apart
    expect_same together apart
    expect_stdout_has 'outer(int)'
fi

it 'prints functions and lines of inlined calls as addr2line -f -i does, but for the innermost name'
# addr2line 2.40 gives the innermost function the name of one around it at the first address of its
# range; lines and the number of frames are equal.
if needs addr2line nm; then
    addr2line -e prog -i -p <addresses >theirs
    run pitot symbolize --output-style=addr2line -e prog -i -p <addresses
    stdout >ours
    expect_same ours theirs
fi

it 'names the functions that have code as addr2line -f -C -i does'
if needs addr2line nm; then
    addr2line -e prog -f -C -i -p <addresses | grep -c 'outer(int)' >theirs
    run pitot symbolize --output-style=addr2line -e prog -f -C -i -p <addresses
    expect_stdout_has 'inner at '
    expect_stdout_has ' (inlined by) middle at '
    expect_stdout_has ' (inlined by) outer(int) at '
    expect_stdout_has ' (inlined by) outer(long, char*) at '
fi

it 'says ?? and :0 where nothing is known, as addr2line does'
printf '5\nzzz\n' >addresses.odd
if needs addr2line; then
    addr2line -e prog -f -a -p <addresses.odd >theirs
    run pitot symbolize --output-style=addr2line -e prog -f -a -p <addresses.odd
    stdout >ours
    expect_same ours theirs
fi

it 'goes by the nearest function symbol where no line is known, with the file of its FILE symbol, as addr2line does'
cat >nod.c <<'END'
static int (*volatile pick)(int);
static __attribute__((noinline)) int nod(int x) { return x * 3; }
static __attribute__((noinline, aligned(64))) int shake(int x) { return x - 7; }
int both(int x) { pick = nod; int y = pick(x); pick = shake; return y + pick(x); }
END
cat >begin.c <<'END'
int both(int x);
static __attribute__((noinline, aligned(64))) int twice(int x) { return both(x) + both(x + 1); }
int main(int n, char **words) { (void)words; return twice(n); }
END
if needs gcc addr2line readelf && expect gcc -O1 nod.c begin.c -o plain; then
    # All of .text, which has padding and the code of libc's start files, and what lies before.
    read -r start size < <(readelf -SW plain | sed -n 's/.* \.text  *PROGBITS  *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\).*/\1 \2/p')
    for ((k = -40; k < 16#$size + 8; k++)); do printf '0x%x\n' $((16#$start + k)); done >places
    addr2line -e plain -f -C -a <places >theirs
    run pitot symbolize --output-style=addr2line -e plain -f -C -a <places
    stdout >ours
    expect_same ours theirs
    expect grep -qx 'nod.c:?' ours
fi

for options in '' '-p' '-a' '-s' '-p -a -s' '--no-inlines' '--functions=none' '-f=short' \
    '--no-demangle' '-f=none -C -i' '--output-style=GNU' '--output-style=GNU -p'; do
    it "prints what llvm-symbolizer $options prints"
    same_as_llvm $options
done

it 'names clones of functions by their symbols, as llvm-symbolizer does'
cp prog part.prog
cp addresses part.addresses
cat >clone.cc <<'END'
#include <cstdlib>
struct pair { int first, second; };
__attribute__((noinline)) static int sum(pair *p, int scale)
{
    if (p->first < 0) abort();
    return p->first * scale;
}
int main(int n, char **)
{
    pair p = {n, n};
    return sum(&p, 3) + sum(&p, 3);
}
END
expect g++ -g -O2 clone.cc -o prog
nm -S prog | awk '/_ZL3sum/ {print $1, $2}' | while read -r start size; do
    for ((k = 0; k < 16#$size; k++)); do printf '0x%x\n' $((16#$start + k)); done
done >addresses
expect test -s addresses
for options in '' '--no-demangle' '--functions=short' '--no-inlines'; do same_as_llvm $options; done
mv part.prog prog
mv part.addresses addresses

# Left out: discriminators, which are not read; where inlined code begins, of which only that of the
# function around it is told; and the file it is declared in, which LLVM 14 loses for gcc's DWARF 5.
without() {
    sed -e 's/"Discriminator":[0-9]*/"Discriminator":0/g' -e 's/"StartAddress":"[^"]*",//g' \
        -e 's/"StartFileName":"[^"]*",//g'
}

it 'prints the JSON that llvm-symbolizer prints'
if [ -n "$llvm" ]; then
    "$llvm" -e prog --output-style=JSON <addresses | without >theirs
    run pitot symbolize -e prog --output-style=JSON <addresses
    stdout | without >ours
    expect_same ours theirs
    "$llvm" -e prog --output-style=JSON 0x5 0x6 | without >theirs
    run pitot symbolize -e prog --output-style=JSON 0x5 0x6
    stdout | without >ours
    expect_same ours theirs
else
    skip 'llvm-symbolizer is not installed'
fi

it 'reads the lines that llvm-symbolizer reads and echoes those that are none'
at=$(head -1 addresses)
cp prog 'a prog'
data=0x$(nm prog | awk '$3 == "table" {print $1}')
printf '%s\n' "CODE prog $at" "DATA prog $data" "prog $at" '' 'foo bar baz' "\"a prog\" $at" \
    "CODE 'a prog' 0x10" "  prog   $at  " "prog $at and more" 'prog 4096' 'prog -1' \
    'prog 0x7fffffffffffffffff' >lines
if [ -n "$llvm" ]; then
    "$llvm" <lines >theirs
    run pitot symbolize <lines
    stdout >ours
    expect_status 0
    expect_same ours theirs
else
    skip 'llvm-symbolizer is not installed'
fi

it 'takes the file from the arguments, by content'
run pitot symbolize prog "$at"
expect_stdout_line '*part.cc:*'

it 'says once that a file is not there, and answers ??'
printf 'nofile 0x10\nnofile 0x20\n' >lines
run pitot symbolize <lines
expect_stderr 'pitot: nofile: there is no such program or library here'
expect_stdout_lines 6

it 'answers an address before the next one is asked'
mkfifo asked
pitot symbolize -e prog -p <asked >answered &
exec 9>asked
echo "$at" >&9
eventually [ -s answered ]
grep -q ' at .*part.cc:' answered || fail "the answer was: $(cat answered)"
exec 9>&-
wait $!

it 'adds the address of a section'
text=$(readelf -SW prog | sed 's/\[ *//' | awk '$2 == ".text" {print $4}')
run pitot symbolize -e prog "$at"
stdout >whole
run pitot symbolize -e prog -j .text "$(printf '0x%x' $((at - 16#$text)))"
stdout >part
expect_same part whole

it 'answers from what an earlier run kept, when the debug information is gone'
# The program stays as it is; what has its names goes.
part_in_two() {
    rm -rf "$HOME/.cache/pitot/names"
    g++ -g -O1 -Wl,--build-id part.cc -o kept
    at=0x$(nm kept | awk '/outeri/ {print $1}')
    objcopy --only-keep-debug kept kept.debug
    objcopy --strip-all --add-gnu-debuglink=kept.debug kept
}
# Names of a file that was changed just now are not kept: looks until they are.
is_kept() {
    pitot symbolize -e kept -p "$at" >/dev/null
    ls "$HOME"/.cache/pitot/names/*.names
}
part_in_two
expect eventually is_kept
run pitot symbolize -e kept -p "$at"
stdout >with
rm kept.debug
run pitot symbolize -e kept -p "$at"
stdout >without_debug
expect_same without_debug with
expect_stdout_has part.cc
run pitot symbolize --no-cache -e kept -p "$at"
expect_stdout_line '*?? at ??:0:0'

it 'tells how much is kept, and removes it'
run pitot symbolize --cache-info
expect_stdout_line "$HOME/.cache/pitot/names: * bytes"
run pitot symbolize --cache-clear
expect_stdout_line "$HOME/.cache/pitot/names: * bytes removed"
run pitot symbolize --cache-info
expect_stdout_line "$HOME/.cache/pitot/names: 0 files, 0 bytes"

it 'replaces a damaged file of the cache'
part_in_two
expect eventually is_kept
run pitot symbolize -e kept -p "$at"
stdout >with
for file in "$HOME"/.cache/pitot/names/*.names; do echo damage >"$file"; done
run pitot symbolize -e kept -p "$at"
expect_status 0
expect_no_stderr
stdout >again
expect_same again with
rm kept.debug
run pitot symbolize -e kept -p "$at"
stdout >again
expect_same again with

it 'keeps nothing in a folder that others may write to'
chmod go+w "$HOME/.cache/pitot/names"
g++ -g -O1 -Wl,--build-id=0x1234567890abcdef part.cc -o kept
run pitot symbolize -e kept -p "$at"
expect_status 0
expect_equal 'kept files' "$(find "$HOME/.cache/pitot/names" -name '1234567890abcdef*')" ''
chmod go-w "$HOME/.cache/pitot/names"

it 'answers the same when eight of it look up and keep at once'
g++ -g -O1 -Wl,--build-id=0xabcdefabcdefabcdef part.cc -o kept
rm -f "$HOME"/.cache/pitot/names/*
expect eventually is_kept
pitot symbolize --no-cache -e kept -p <addresses >whole
for round in 1 2 3; do
    rm -f "$HOME"/.cache/pitot/names/abcdef*
    split -n r/8 addresses some.
    for some in some.a?; do
        pitot symbolize -e kept -p <"$some" >"$some.out" 2>"$some.err" &
    done
    wait
    for some in some.a?; do
        pitot symbolize --no-cache -e kept -p <"$some" >expected
        expect_same "$some.out" expected
        expect test ! -s "$some.err"
    done
done
run pitot symbolize -e kept -p <addresses
stdout >again
expect_same again whole
run pitot symbolize --cache-info
expect_stdout_line "$HOME/.cache/pitot/names: 1 file, * bytes"
expect test -z "$(find "$HOME/.cache/pitot" -name '*.tmp')"

it 'is not harmed by others that are killed while they keep'
names=$HOME/.cache/pitot/names
rm -rf "$names"
expect eventually is_kept
rm "$names"/*
# A limit on the size of files ends the writing in the middle.
(
    ulimit -f 1
    "$PITOT" symbolize -e kept -p <addresses 2>killed.err
) 2>/dev/null | cat >killed.out
expect_same killed.out whole
expect_equal 'files that are in the way' "$(find "$names" -name '*.names' | wc -l)" 0
expect_equal 'files that were begun' "$(find "$names" -name '.*.tmp' | wc -l)" 0
for i in $(seq 20); do
    split -n "r/$((i % 8 + 1))/8" addresses >some
    "$PITOT" symbolize -e kept -p <some >/dev/null 2>&1 &
    sleep "0.0$((i * 7 % 40 + 10))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    run pitot symbolize -e kept -p <addresses
    stdout >again
    expect_same again whole
    expect_no_stderr
done
rm -f "$names"/*.names
run pitot symbolize -e kept -p "$at"
expect_equal 'files that were begun' "$(find "$names" -name '.*.tmp' | wc -l)" 0

it 'says once that split units are missing, and where the first was looked for'
printf 'int one(int x) { return x * 3; }\n' >one.c
printf 'int one(int); int main(int n, char **v) { (void)v; return one(n); }\n' >two.c
expect gcc -g -O1 -gsplit-dwarf one.c two.c -o split
split_at=$(nm split | awk '/ T (one|main)/ {print "0x" $1}')
run pitot symbolize --no-cache -e split $split_at
expect_no_stderr
rm ./*one.dwo ./*two.dwo
run pitot symbolize --no-cache -e split $split_at
expect_stdout_has one
expect_stderr_lines 1
expect_stderr_line "pitot: 2 debug files not found: split units, which have the functions: $PWD/*.dwo and others"

it 'says that the file is missing that dwz shared'
if needs dwz; then
    expect gcc -g -O1 one.c two.c -o dwz-a
    cp dwz-a dwz-b
    expect dwz -m dwz-common dwz-a dwz-b
    rm dwz-common
    run pitot symbolize --no-cache -e dwz-a "0x$(nm dwz-a | awk '/ T one/ {print $1}')"
    expect_stdout_has one
    expect_stderr_lines 1
    expect_stderr_line 'pitot: 1 debug file not found: the dwz supplement of dwz-a: dwz-common, build id *'
fi

it 'finds programs and debug files of a process in a container'
if [ "$(id -u)" = 0 ] && needs chroot objcopy; then
    mkdir -p container/app container/usr/lib/debug/.build-id/13
    cat >wait.c <<'END'
#include <stdio.h>
#include <unistd.h>
int answer(void) { return 42; }
int main(void) { printf("%p\n", (void *)answer); fflush(stdout); return (int)sleep(600); }
END
    gcc -g -static -Wl,--build-id=0x1357913579135791357913579135791357913579 wait.c \
        -o container/app/wait
    objcopy --only-keep-debug container/app/wait \
        container/usr/lib/debug/.build-id/13/57913579135791357913579135791357913579.debug
    strip container/app/wait
    chroot container /app/wait >started &
    waiter=$!
    eventually [ -s started ]
    run pitot symbolize --pid $waiter -p "$(cat started)"
    expect_stdout_line 'answer at *wait.c:3:*'
    kill $waiter
    wait $waiter 2>/dev/null
else
    skip 'only root may change its root'
fi

# sleeps PID: the child has become the program and is through with its start; before that it is a shell
# of ours, and then one without libraries.
sleeps() { [[ $(readlink "/proc/$1/exe") == */sleep && $(awk '{ print $3 }' "/proc/$1/stat") == S ]]; }

it 'names addresses of a running process'
sleep 600 &
sleeper=$!
expect eventually sleeps $sleeper
libc=$(awk '/libc[.-].*so/ && /r-xp/ {split($1, a, "-"); print a[1], $3, $6; exit}' /proc/$sleeper/maps)
read -r start offset path <<<"$libc"
expect [ -n "$path" ]
if needs nm; then
    open=$(nm -D "$path" | awk '$3 ~ /^getpid@/ {print $1; exit}')
    run pitot symbolize --pid $sleeper -p "$(printf '0x%x' $((16#$start - 16#$offset + 16#$open)))"
    expect_status 0
    expect_stdout_has 'getpid'
fi
kill $sleeper
wait $sleeper 2>/dev/null

it 'names addresses of the kernel and of compiled code in a running process'
sleep 600 &
sleeper=$!
expect eventually sleeps $sleeper
kernel=$(awk '$3 == "do_syscall_64" && $1 !~ /^0*$/ {print $1; exit}' /proc/kallsyms)
if [ -n "$kernel" ]; then
    run pitot symbolize --pid $sleeper -p "0x$kernel"
    expect_stdout_line 'do_syscall_64 at ??:0:0'
else
    skip '/proc/kallsyms hides its addresses, or is not there'
fi
heap=$(awk '$6 == "[heap]" {split($1, a, "-"); print a[1]; exit}' /proc/$sleeper/maps)
if [ -n "$heap" ]; then
    echo "$heap 40 Stub:compiled" >/tmp/perf-$sleeper.map
    run pitot symbolize --pid $sleeper -p "0x$heap"
    rm /tmp/perf-$sleeper.map
    expect_stdout_line 'Stub:compiled at ??:0:0'
fi
kill $sleeper
wait $sleeper 2>/dev/null

it 'says that there is no build id to check only of a file that has one'
printf 'int main(void) { return 0; }\n' >plain.c
if needs cc nm; then
    for id in none sha1; do
        cc -g -no-pie -Wl,--build-id=$id plain.c -o plain.$id
        printf 'goroutine profile: total 1\n1 @ 0x%x\n\n--- Memory map: ---\n400000-402000: %s\n' \
            $((0x$(nm plain.$id | sed -n 's/ T main$//p') + 1)) "$PWD/plain.$id" >plain.txt
        touch -d 2000-01-01 plain.$id
        run pitot top plain.txt
        expect_status 0
        expect_stdout_line '*main  plain.c:1*'
        if [ $id = none ]; then
            expect_no_stderr
        else
            expect_stderr_line '*the profile has no build id to check'
        fi
    done
fi

it 'says that there is no such process'
run pitot symbolize --pid 2147483646 0x10
expect_status 1
expect_stderr 'pitot: there is no process 2147483646'

it 'knows neither -e nor a file: usage'
run pitot symbolize -e prog --pid 1 0x10
expect_status 2
