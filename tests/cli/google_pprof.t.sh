#!/usr/bin/env bash
# pitot google-pprof: the Perl pprof of gperftools. Known answers are those of its user guide and,
# where it is installed, its own.
. "$(dirname "$0")/lib.sh"

# The guide's program: 200 samples below test_main_thread, 37 of them in calls to snprintf.
# A profile that brings its symbols: the addresses and the binary part that the guide describes.
word() { printf "$(printf '\\x%02x\\x%02x\\0\\0\\0\\0\\0\\0' $(($1 & 255)) $(($1 >> 8)))"; }
words() { for w; do word "$w"; done; }
{
    cat <<'T'
--- symbol
binary=/tmp/profiler2_unittest
0x0000000000000100 main
0x0000000000000200 test_main_thread
0x0000000000000300 snprintf
0x0000000000000400 vsnprintf
0x0000000000000500 std::_Rb_tree<int>::find(int const&) const
---
--- profile
T
    words 0 3 0 10000 0
    words 155 2 0x200 0x100
    words 1 3 0x300 0x200 0x100
    words 36 4 0x400 0x300 0x200 0x100
    words 8 3 0x400 0x200 0x100
    words 2 2 0x500 0x100
    words 0 1 0
} >guide.prof

it 'prints one line a procedure in the columns of the guide'
run pitot google-pprof --text guide.prof
expect_status 0
expect_stdout 'Total: 202 samples
     155  76.7%  76.7%      200  99.0% test_main_thread
      44  21.8%  98.5%       44  21.8% vsnprintf
       2   1.0%  99.5%        2   1.0% std::_Rb_tree::find
       1   0.5% 100.0%       37  18.3% snprintf
       0   0.0% 100.0%      202 100.0% main'

it 'draws nodes with "of" only where it differs, edges with their samples, and the legend'
run pitot google-pprof --dot guide.prof
expect_status 0
expect_stdout_line 'digraph "/tmp/profiler2_unittest; 202 samples" {'
expect_stdout_line 'Legend *label="/tmp/profiler2_unittest\\lTotal samples: 202\\lFocusing on: 202\\lDropped nodes with <= 1 abs(samples)\\lDropped edges with <= 0 samples\\l"];'
expect_stdout_line 'N2 [[]label="test_main_thread\\n155 (76.7%)\\rof 200 (99.0%)\\r",shape=box,fontsize=51.8];'
expect_stdout_line 'N3 [[]label="vsnprintf\\n44 (21.8%)\\r",shape=box,fontsize=31.3];'
expect_stdout_line 'N5 [[]label="std\\n_Rb_tree\\nfind\\n2 (1.0%)\\r",*'
expect_stdout_line 'N2 -> N4 [[]label=37,*'
expect_stdout_line 'N2 -> N3 [[]label=8,*'
expect_stderr_line 'Dropping nodes with <= 1 samples; edges with <= 0 abs(samples)'

it 'counts shares of what is focused on, and says how much that is'
run pitot google-pprof --dot --focus=vsnprintf guide.prof
expect_stdout_line '*Total samples: 202\\lFocusing on: 44\\l*'
expect_stdout_line '*vsnprintf\\n44 (100.0%)\\r*'
run pitot google-pprof --text --focus=snprintf --ignore='^snprintf$' guide.prof
expect_stdout_line '       8 100.0% 100.0%        8 100.0% vsnprintf'

it 'ignores what matches'
run pitot google-pprof --text --ignore=snprintf guide.prof
expect_stdout 'Total: 202 samples
     155  98.7%  98.7%      155  98.7% test_main_thread
       2   1.3% 100.0%        2   1.3% std::_Rb_tree::find
       0   0.0% 100.0%      157 100.0% main'

it 'folds stacks, and gives callgrind each call with its cost'
run pitot google-pprof --collapsed guide.prof
expect_stdout_line 'main;test_main_thread;snprintf;vsnprintf 36'
expect_stdout_line 'main;std::_Rb_tree<int>::find(int const&) const 2'
run pitot google-pprof --callgrind guide.prof
expect_stdout_line 'events: Hits'
expect_stdout_line 'calls=36 0'

it 'gives callgrind calls of functions without a name: of a cut file, names are missing'
gzip -dc "$PITOT_ROOT/tests/golden/pprof/cpu.pb.gz" >whole.pb
for bytes in 400 500 600; do
    head -c $bytes whole.pb >cut.pb
    run pitot google-pprof --callgrind "$PITOT" cut.pb
    expect_status 0
    expect_stdout_line 'fl='
    expect_stdout_line 'fn='
done

it 'writes profiles with symbols that it reads again'
run pitot google-pprof --raw guide.prof
expect_status 0
stdout >again.prof
run pitot google-pprof --text again.prof
expect_stdout_line '      44  21.8%  98.5%       44  21.8% vsnprintf'

it 'is pprof --compat=perl, and a link called google-pprof'
run pitot pprof --compat=perl --text guide.prof
expect_stdout_line 'Total: 202 samples'
ln -s "$PITOT" google-pprof
run ./google-pprof --text guide.prof
expect_stdout_line 'Total: 202 samples'

it 'subtracts a base stack by stack'
run pitot google-pprof --text --base=guide.prof guide.prof
expect_status 0
expect_no_stdout

it 'says what is wrong and ends with 1'
run pitot google-pprof --text --dot guide.prof
expect_status 1
expect_stderr_line 'choose one kind of output'
run pitot google-pprof --text "$PITOT" "$PITOT"
expect_status 1
expect_stderr_line 'pitot: * is a program, not a profile'
pitot pprof -proto -symbolize=none -output=whole.pb.gz guide.prof >whole.txt
head -c 200 whole.pb.gz >part.pb.gz
run pitot google-pprof --text "$PITOT" part.pb.gz
expect_stderr_line 'pitot: part.pb.gz: *gzip data ends too early*'
run pitot google-pprof --text ./no-such-program x
expect_status 1
run pitot google-pprof --text '--focus=(' guide.prof
expect_status 1
run pitot google-pprof --lines --text guide.prof
expect_status 1

it 'shows heap profiles in MB, objects, bytes'
cat >heap.prof <<'T'
heap profile:      3:  4194304 [     5:  6291456] @ heapprofile
     2:  3145728 [     4:  5242880] @ 0x200 0x301
     1:  1048576 [     1:  1048576] @ 0x300 0x301
MAPPED_LIBRARIES:
T
prog=/bin/true
run pitot google-pprof --text --addresses "$prog" heap.prof
expect_stdout_line 'Total: 4.0 MB'
expect_stdout_line '     3.0  75.0%  75.0%      3.0  75.0% 0000000000000200*'
run pitot google-pprof --text --addresses --alloc_objects "$prog" heap.prof
expect_stdout_line 'Total: 5 objects'
run pitot google-pprof --text --addresses --show_bytes "$prog" heap.prof
expect_stdout_line 'Total: 4194304 B'

it 'shows contention in seconds, counts, means'
cat >lock.prof <<'T'
--- contention
cycles/second = 1000000000
sampling period = 2
  3000000000 10 @ 0x200 0x301
T
run pitot google-pprof --text --addresses "$prog" lock.prof
expect_stdout_line 'Total: 6.000 seconds'
run pitot google-pprof --text --addresses --contentions "$prog" lock.prof
expect_stdout_line 'Total: 20 samples'

it 'reads every other format, too'
printf 'main;parse 3\nmain 1\n' >a.folded
run pitot google-pprof --text "$prog" a.folded
expect_stdout 'Total: 4 samples
       3  75.0%  75.0%        3  75.0% parse
       1  25.0% 100.0%        4 100.0% main'

it 'prints what google-pprof prints, to the byte'
if needs google-pprof cc && [ -e /usr/lib/x86_64-linux-gnu/libprofiler.so ]; then
    cat >app.c <<'C'
#include <stdlib.h>
static inline int mix(int x) { for (int i = 0; i < 40; i++) x = x * 1103515245 + 12345; return x; }
__attribute__((noinline)) int rec(int n) { return n < 2 ? mix(n) : rec(n - 1) + rec(n - 2); }
int main(void) { volatile int s = 0; for (int i = 0; i < 12; i++) s += rec(24); return s == 42; }
C
    expect cc -O2 -g app.c -o app -Wl,--no-as-needed -lprofiler
    CPUPROFILE=app.prof CPUPROFILE_FREQUENCY=500 ./app >/dev/null 2>&1
    for options in --text '--text --lines' '--text --addresses --cum' --list=rec --dot \
        '--text --focus=rec --no_strip_temp' '--callgrind --focus=main' --disasm=main; do
        # shellcheck disable=SC2086
        google-pprof $options ./app app.prof >theirs 2>/dev/null
        # shellcheck disable=SC2086
        run pitot google-pprof $options ./app app.prof
        stdout >ours
        expect_equal "$options" "$(sort ours)" "$(sort theirs)"
    done
else
    skip 'google-pprof or libprofiler is not installed'
fi


it 'costs no more than what is there: a header of four thousand million words, in 64 bytes'
{
    words 0
    printf '\0\0\0\377\0\0\0\0'
    words 0 10000 0 1 1
    printf 'tail-end'
} >long-header.prof
run bash -c 'ulimit -t 1; exec "$PITOT" google-pprof --text /bin/true long-header.prof'
expect_status 0

it 'opens an image once, however often and under however many names it is mapped'
libc=$(ldd /bin/true | sed -n 's/.*=> \(.*libc\.so[^ ]*\) .*/\1/p')
if [ -n "$libc" ]; then
    python3 - "$libc" >mapped.prof <<'P'
import struct, sys
at = lambda i: 0x10000000 * (i + 1)
records = b''.join(struct.pack('<3Q', 1, 1, at(i) + 0x30000) for i in range(3000))
folder, name = sys.argv[1].rsplit('/', 1)
maps = ''.join('%x-%x: %s/%s%s\n' % (at(i), at(i) + 0xfffffff, folder, './' * (i % 9), name) for i in range(3000))
sys.stdout.buffer.write(struct.pack('<5Q', 0, 3, 0, 10000, 0) + records + struct.pack('<3Q', 0, 1, 0) + maps.encode())
P
    run bash -c 'ulimit -t $((2 + 30 * PITOT_SANITIZED)); exec "$PITOT" google-pprof --text /bin/true mapped.prof'
    expect_status 0
    expect_stdout_line 'Total: 3000 samples'
    expect_stdout_lines 2
else
    skip 'libc is not found'
fi

it 'opens no FIFO that a profile calls a library, or debug information a source file'
mkfifo wait.so
{
    words 0 3 0 10000 0 1 1 0x1000 0 1 0
    echo "00001000-00002000 r-xp 00000000 08:01 12 $PWD/wait.so"
} >fifo.prof
for report in --text --list=. --raw; do
    run pitot google-pprof "$report" /bin/true fifo.prof
    expect_status 0
done
if needs cc; then
    printf 'int main(void) { return 0; }\n' >waited.c
    expect cc -g waited.c -o waited
    rm waited.c
    mkfifo waited.c
    python3 -c 'import struct, sys
sys.stdout.buffer.write(struct.pack("<11Q", 0, 3, 0, 10000, 0, 1, 1, int(sys.argv[1], 16) + 4, 0, 1, 0))' \
        "$(nm waited | sed -n 's/ T main$//p')" >waited.prof
    run pitot google-pprof --list=main ./waited waited.prof
    expect_status 0
    expect_stderr_line '*waited.c: is not a regular file'
fi

it 'asks for commands: top, list, ignored stacks, quit'
printf 'top1\ntop --cum -snprintf\nfoo\n\nquit\ntop\n' >commands
run sh -c '"$PITOT" google-pprof --interactive guide.prof <commands'
expect_status 0
expect_stdout "Total: 202 samples
     155  76.7%  76.7%      200  99.0% test_main_thread
Total: 202 samples
After ignoring 'snprintf': 157 samples of 202 (77.7%)
       0   0.0%   0.0%      157 100.0% main
     155  98.7%  98.7%      155  98.7% test_main_thread
       2   1.3% 100.0%        2   1.3% std::_Rb_tree::find"
expect_stderr_line "*Unknown command: try 'help'."

