#!/usr/bin/env bash
# The line of progress: what it says, that it leaves no trace, and that only terminals get it. Nothing
# here waits: without silence to wait for the line comes at once, with a day of it never.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip_all 'python3 is not installed'
export TERM=xterm NO_COLOR=1
golden=$PITOT_ROOT/tests/golden/perf.data
awk 'BEGIN { for (i = 0; i < 20000; i++) print "main;work_" i % 7 ";leaf_" i, i }' >many.folded
cp "$golden/fp.data" "$golden/two.data" .

# on_terminal COLUMNS MS ARGUMENT...: what a terminal gets from pitot, in the file `got`.
cat >on_terminal.py <<'P'
import fcntl, os, pty, struct, sys, termios
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 40, int(sys.argv[1]), 0, 0))
    os.environ['PITOT_PROGRESS_MS'] = sys.argv[2]
    os.execv(sys.argv[3], sys.argv[3:])
got = b''
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    got += piece
os.waitpid(child, 0)
sys.stdout.buffer.write(got)
P
on_terminal() { python3 on_terminal.py "$1" "$2" "$PITOT" "${@:3}" >got; }

# leaves_no_trace ARGUMENT...: a terminal that shows the line ends with what it has without.
cat >erased.py <<'P'
import re, sys
got, plain = (open(name, 'rb').read() for name in ('got', 'plain'))
rest = re.sub(rb'(\r\x1b\[K[^\r\n]*)*\r\x1b\[K', b'', got)
sys.exit(0 if got != plain and rest == plain else '%r\nis not\n%r' % (rest[:2000], plain[:2000]))
P
leaves_no_trace() {
    on_terminal 100 86400000 "$@"
    mv got plain
    on_terminal 100 0 "$@"
    python3 erased.py 2>wrong || fail "$*: $(cat wrong)"
}

it 'says how much of a file is read and how many addresses have names, and leaves no trace'
leaves_no_trace top many.folded
grep -Eaq 'reading many.folded: 0\.[1-9] of 0\.[0-9] MB \([1-9][0-9] %\)' got || fail "$(cat -v got)"
grep -Eaq 'computing: 0 s' got || fail "$(cat -v got)"
leaves_no_trace top fp.data
grep -Eaq 'finding names and lines: 0 of [1-9][0-9]* addresses' got || fail "$(cat -v got)"
leaves_no_trace diff fp.data two.data

it 'says which of several files is read, and goes before a message'
leaves_no_trace merge -j1 -o merged.pb.gz fp.data two.data fp.data
grep -aq 'reading file 3 of 3: ' got || fail "$(cat -v got)"
grep -aq 'merging 3 profiles: 0 s' got || fail "$(cat -v got)"
grep -aq 'writing merged.pb.gz: 0 s' got || fail "$(cat -v got)"
leaves_no_trace top missing.pb
grep -aq 'pitot: .*missing.pb' got || fail "$(cat -v got)"

it 'says how long Graphviz takes'
mkdir bin
printf '#!/bin/sh\ncat >/dev/null\necho picture\n' >bin/dot
chmod +x bin/dot
PATH=$PWD/bin:$PATH leaves_no_trace graph --format=png -o graph.png fp.data
grep -aq "Graphviz's dot draws the graph: 0 s" got || fail "$(cat -v got)"

it 'is cut to the terminal, and shows the control characters of a name'
evil=$(printf 'a\033]0;owned\007b%050d.folded' 0)
cp many.folded "$evil"
on_terminal 40 0 top "$evil"
python3 - <<'P' 2>wrong || fail "$(cat wrong)"
import re, sys
lines = re.findall(rb'\r\x1b\[K([^\r\n]*)', open('got', 'rb').read())
shown = [line for line in lines if line.startswith(b'reading a^[]0')]
if not shown or any(len(line) > 39 or re.search(rb'[\x00-\x1f]', line) for line in shown):
    sys.exit('%r' % lines)
P

it 'comes on no other terminal, file or pipe'
PITOT_PROGRESS_MS=0 run pitot top many.folded
expect_status 0
expect_no_stderr
TERM=dumb on_terminal 80 0 top many.folded
grep -aq "$(printf '\033')" got && fail "$(cat -v got)"

it 'goes when Ctrl-C ends the command'
PITOT_PROGRESS_MS=0 run python3 "$PITOT_ROOT/tests/cli/terminal.py" "$PITOT" top - <<'T'
expect reading standard input
send \x03
end
show
T
[ "$status" = 254 ] || fail "status $status is not that of SIGINT"
[ "$(tail -c 4 "$t_out/stdout" | od -An -c | tr -d ' ')" = '\r033[K' ] || fail "$(cat -v "$t_out/stdout")"
