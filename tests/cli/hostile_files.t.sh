#!/usr/bin/env bash
# What the files of a stranger do not get: time without end, a file outside of the folder that is meant for it, a command
# of theirs run. Other promises of docs/security.md have tests of their own; its table names them.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'

cat >maker.py <<'END'
"""profile(...): a profile.proto with one sample. Frames are (function, file), the leaf first."""
def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))
def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value
def profile(frames, events=('cpu',), mapping='', build_id='', address=0x1000):
    texts = ['', 'nanoseconds', mapping, build_id, *events, *(text for frame in frames for text in frame)]
    count, first = len(frames), 4 + len(events)
    out = b''.join(field(1, field(1, 4 + i) + field(2, 1)) for i in range(len(events)))
    out += field(2, field(1, b''.join(varint(1 + i) for i in range(max(count, 1)))) +
                 field(2, bytes([7] * len(events))))
    out += field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x900000) + field(5, 2) + field(6, 3))
    for i in range(count):
        out += field(4, field(1, 1 + i) + field(2, 1) + field(3, address + i) + field(4, field(1, 1 + i)))
        out += field(5, field(1, 1 + i) + field(2, first + 2 * i) + field(4, first + 2 * i + 1))
    if count == 0:
        out += field(4, field(1, 1) + field(2, 1) + field(3, address))
    return out + b''.join(field(6, text.encode()) for text in texts)
END

# bounded COMMAND...: pitot with that, within two seconds of CPU time.
bounded() { run bash -c 'ulimit -t $((2 + 30 * PITOT_SANITIZED)); exec "$PITOT" "$@"' bounded "$@"; }

it 'a name of a hundred thousand brackets that nothing closes takes no longer than another'
python3 -c "
from maker import *
open('brackets.pb', 'wb').write(profile([('a' + '<' * 100000, 'a.c'), ('a<' * 100000, 'b.c'), ('main', 'main.c')]))"
for report in top tree peek traces 'graph --engine=own -o brackets.svg' 'flame -o brackets.html'; do
    case $report in
    peek) bounded peek main brackets.pb ;;
    *) bounded $report brackets.pb ;;
    esac
    expect_status 0
done

it 'nor does a stack of 150,000 functions'
{ echo 'main 1'; seq -f 'f%.0f' 150000 | paste -sd ';' | sed 's/$/ 7/'; } >deep.folded
for report in top 'graph --format=dot -o deep.dot' 'convert --to=pprof -o deep.pb.gz'; do
    bounded $report deep.folded
    expect_status 0
done

it 'a build id of a profile is no path'
mkdir -p debug/.build-id/aa
touch debug/secret.debug debug/.build-id/aa/bbbbbbbbbb.debug
# Prints the names of files of the two folders that the command opened, by inotify(7).
cat >opened.py <<'END'
import ctypes, os, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
for folder in 'debug', 'debug/.build-id/aa':
    if fd < 0 or libc.inotify_add_watch(fd, folder.encode(), 0x20) < 0: # IN_OPEN
        sys.exit('inotify')
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    data = os.read(fd, 1 << 16)
except BlockingIOError:
    data = b''
at, names = 0, set()
while at < len(data):
    _, _, _, size = struct.unpack_from('iIII', data, at)
    names.add(data[at + 16:at + 16 + size].rstrip(b'\0').decode())
    at += 16 + size
print(' '.join(sorted(names - {''})))
END
for id in ..secret ../../secret aa/../../../secret "$PWD/debug/secret" aabbbbbbbbbb; do
    python3 - "$id" <<'END'
import sys
from maker import *
id = sys.argv[1]
open('id.pb', 'wb').write(profile([], mapping='/nowhere/prog', build_id=id, address=0x2000))
END
    run python3 opened.py "$PITOT" top --debug-path=debug id.pb
    case $id in
    aabbbbbbbbbb) expect_stdout bbbbbbbbbb.debug ;; # the others could be seen as well
    *) expect_no_stdout ;;
    esac
done

it 'a debug link is a name in a few folders, not a path'
if needs "${CC:-cc}" objcopy; then
    echo 'int named_by_a_link(void) { return 1; } int main(void) { return named_by_a_link(); }' >secret.c
    mkdir -p link/program
    "${CC:-cc}" -g -O0 -Wl,--build-id=none -o link/program/prog secret.c
    (cd link/program && objcopy --only-keep-debug prog the_debug_data && objcopy -S --add-gnu-debuglink=the_debug_data prog)
    at=0x$(nm link/program/the_debug_data | sed -n 's/ T named_by_a_link$//p')
    run pitot symbolize -e link/program/prog "$at"
    expect_stdout_has named_by_a_link
    mv link/program/the_debug_data link/_debug_data
    sed 's#the_debug_data#../_debug_data#' link/program/prog >link/program/up
    cmp -s link/program/prog link/program/up && fail 'the link was not changed'
    run pitot symbolize -e link/program/up "$at"
    expect [ "$(grep -c named_by_a_link "$t_out/stdout")" = 0 ]
fi

it 'names of a profile lead out of no folder that is written'
mkdir -p written/inside
for events in "('../../../slip', '/../../slip')" "('../slip',)"; do
    python3 -c "
from maker import *
open('slip.pb', 'wb').write(profile([('f', 'f.c'), ('main', 'm.c')], events=$events, mapping='/opt/../../..$PWD/slip'))"
    (cd written/inside && pitot convert ../../slip.pb --to=dcpi -o out) >/dev/null 2>&1
done
expect_equal 'files elsewhere' "$(find . ! -path './written/inside/*' -name '*slip*' ! -name slip.pb)" ''

it 'a path of a program is no command line'
cp "$PITOT_BUILD/tests/small_program" 'q;touch taken$(touch also)`touch third`' 2>/dev/null || cp /bin/true 'q;touch taken$(touch also)`touch third`'
python3 -c "
from maker import *
import glob, os
open('shell.pb', 'wb').write(profile([], mapping=os.path.abspath(glob.glob('q*')[0]), address=0x2000))"
for report in 'top' 'disasm .' 'list .' 'pprof -top' 'pprof -disasm=.' 'google-pprof --text' 'google-pprof --disasm=.' \
    'google-pprof --list=.'; do
    run pitot $report q* shell.pb
done
expect [ ! -e taken ]
expect [ ! -e also ]
expect [ ! -e third ]

it 'a program whose file becomes a FIFO while it is recorded holds up neither the recording nor a report'
cat >fifo.c <<'C'
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char **name)
{
    if (unlink(name[count - 1]) != 0 || mkfifo(name[count - 1], 0600) != 0) return 1;
    puts("it is one");
    fflush(stdout);
    for (;;) {
    }
}
C
if needs cc && cc -O1 -o fifo fifo.c; then
    coproc { exec ./fifo; }
    fifo_pid=$COPROC_PID
    read -r _ <&"${COPROC[0]}"
    expect test -p fifo
    # Longer if the program got no processor in that time.
    for seconds in 0.2 2 8; do
        run timeout -s KILL 120 "$PITOT" record --engine=perf -p "$fifo_pid" --duration=$seconds -o fifo.pb.gz
        stderr | grep -q ': 0 samples' || break
    done
    if [ "$status" = 1 ] && [ ! -e fifo.pb.gz ]; then
        skip 'the kernel gives no perf events here'
    else
        expect_status 0
        run timeout -s KILL 120 "$PITOT" top fifo.pb.gz
        expect_status 0
        expect_stdout_has '[fifo+0x'
    fi
    kill "$fifo_pid"
    wait "$fifo_pid" 2>/dev/null
fi

it 'four thousand blocks in one another take no stack of the reader'
python3 -c "
blocks = 4000
print('int sum; int deep(int x) {' + ''.join(f'{{ int v{i} = x; sum += v{i};' for i in range(blocks)) + '}' * blocks + 'return sum; }')
print('int main(void) { return deep(1); }')" >deep.c
if needs cc && cc -O0 -g -o deep deep.c && command -v nm >/dev/null; then
    # A frame of 64 bytes for each would be the whole of such a stack.
    run bash -c 'ulimit -s $((256 + 7936 * PITOT_SANITIZED)); exec "$PITOT" symbolize -e deep "$1"' deep "0x$(nm deep | sed -n 's/ T deep$//p')"
    expect_status 0
    expect_stdout_line 'deep'
fi
