#!/usr/bin/env bash
# PITOT_LISTEN: a running program gives profiles of itself, to those who may ask, and does not notice.
. "$(dirname "$0")/../cli/lib.sh"

[ -e "$PITOT_BUILD/libprofiler.so.0" ] || skip_all 'libprofiler.so.0 is not there'
for tool in "${CC:-cc}" python3 curl; do
    command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done
"$PITOT" version --features | grep -q '^servers *libcurl [0-9]' || skip_all 'pitot was built without libcurl'
unset CPUPROFILE LD_PRELOAD PITOT_LISTEN PITOT_LISTEN_FIRST http_proxy all_proxy
export PPROF_TMPDIR=$PWD/kept TMPDIR=$PWD/tmp
mkdir tmp

${CC:-cc} -O1 -g -fno-omit-frame-pointer -pthread -Wno-unused-parameter -rdynamic \
    "$PITOT_ROOT/tests/abi/listen_host.c" -o host -L "$PITOT_BUILD" -Wl,--no-as-needed \
    -l:libprofiler.so.0 -Wl,-rpath,"$PITOT_BUILD" || exit 1

hosts=()
# start WHERE CASE: a host that listens there; its pid goes to $host, its standard error to host.err.
start() {
    : >host.err # or what the host before it said is read, while the shell has yet to open the files
    : >host.out
    PITOT_LISTEN=$1 ./host "${2:-spin}" >host.out 2>host.err &
    host=$!
    hosts+=("$host")
}
# Until it listens at the Unix socket, or has said its address.
socket_is_there() { eventually [ -S "$1" ] || fail "no socket $1"; }
address_is_said() {
    eventually grep -q 'profiles: http.*/' host.err || fail 'no address was printed'
    url=$(sed -n 's/.*profiles: //p' host.err)
}
stop() { kill "$host" 2>/dev/null; wait "$host" 2>/dev/null || true; }
stop_all() {
    local ended=$?
    for pid in "${hosts[@]}"; do kill "$pid" 2>/dev/null; done
    (exit $ended)
    t_end
}
trap stop_all EXIT
# A client of ours that gets no processor for a second after it has connected is hung up on, as it should be (52: nothing
# came, 56: it was cut off), and asks again.
ask() {
    local ended
    for _ in 1 2 3 4 5; do
        ended=0
        curl -s -m 120 --unix-socket "$PWD/s" "$@" >answer || ended=$?
        [ $ended = 52 ] || [ $ended = 56 ] || break
    done
    cat answer
    return $ended
}

# code_of ASK...: the status of the answer. It asks again, too.
code_of() {
    local code=000
    for _ in 1 2 3 4 5; do
        [ "$code" != 000 ] || code=$("$@" -o /dev/null -w '%{http_code}')
    done
    echo "$code"
}

# collects FILE SECONDS: a profile is asked for in the background, and the request has gone out. The
# library takes connections in turn: whoever comes now comes later.
collects() {
    : >asked
    curl -sv --unix-socket "$PWD/s" "http://x/pprof/profile?seconds=$2" -o "$1" 2>asked &
    asker=$!
    expect eventually grep -q '^> GET' asked
}

# --- a Unix socket

start "unix:$PWD/s"
socket_is_there s

it 'is asked over a Unix socket that only its user may open'
expect_equal mode "$(stat -c %a s)" 600
run pitot top "unix:$PWD/s" --seconds=1
expect_status 0
expect_stdout_line '*work_hard*'

it 'gives the profile under both names, and one after the other'
for page in /pprof/profile /debug/pprof/profile; do
    run pitot info "unix:$PWD/s:$page" --seconds=1
    expect_status 0
    expect_stdout_has gperftools
done

it 'names functions of files that nobody else can see'
run ask http://x/pprof/symbol
expect_stdout 'num_symbols: 1'
address=$(python3 - "$host" <<'PY'
import subprocess, sys
for line in open('/proc/%s/maps' % sys.argv[1]):
    if line.rstrip().endswith('/host'):
        base = int(line.split('-')[0], 16)
        break
symbols = subprocess.run(['nm', 'host'], capture_output=True, text=True).stdout.split('\n')
print(hex(base + int([s for s in symbols if s.endswith(' work_hard')][0].split()[0], 16) + 3))
PY
)
run ask -d "$address+0x10" http://x/pprof/symbol
expect_stdout_line "$address	work_hard"
expect_stdout_lines 2
mv host hidden
run pitot top "unix:$PWD/s" --seconds=1
mv hidden host
expect_stdout_line '*work_hard*'

it 'tells its command line as the kernel does'
ask http://x/pprof/cmdline | tr '\0' '\n' >cmdline
expect_equal 'command line' "$(tr '\n' ' ' <cmdline)" './host spin'

it 'answers what it does not know, and does not understand'
expect_equal status "$(code_of ask http://x/pprof/heap)" 404
expect_equal status "$(code_of ask -X DELETE http://x/pprof/symbol)" 400
expect_equal status "$(code_of ask 'http://x/pprof/profile?seconds=0')" 400
expect_equal status "$(code_of ask 'http://x/pprof/profile?seconds=99999')" 400
head -c 2000000 /dev/zero | tr '\0' a >large
expect_equal status "$(code_of ask --data-binary @large -H Expect: http://x/pprof/symbol)" 413

it 'collects one profile at a time and goes on answering'
# Until the others have been answered before the first one is through: on a machine that is full that
# may take it more than two seconds, or give the program no time in two seconds.
for seconds in 2 8 32 120; do
    rm -f first
    collects first $seconds
    code=$(code_of ask 'http://x/pprof/profile?seconds=1')
    run ask http://x/pprof/symbol
    was_first=1
    [ ! -e first ] || was_first=0
    wait "$asker"
    ended=$?
    [ $was_first = 0 ] || ! pitot top first 2>/dev/null | grep -q work_hard || break
done
expect_equal status "$code" 503
expect_stdout 'num_symbols: 1'
expect_equal 'exit status' $ended 0
run pitot top first
expect_stdout_line '*work_hard*'

it 'stops collecting when the one who asked has gone'
collects gone 300
expect_equal status "$(code_of ask 'http://x/pprof/profile?seconds=1')" 503
kill "$asker"
expect eventually pitot info "unix:$PWD/s" --seconds=1

it 'is not held up by clients that say nothing, little, or too much'
python3 - "$PWD/s" <<'PY'
import socket, sys
for words in (b'', b'GET /pprof', b'G' * 100000, b'GET / HTTP/1.1\r\n' + b'x: y\r\n' * 20000, bytes(range(256)) + b'\r\n\r\n',
              b'POST /pprof/symbol HTTP/1.1\r\nContent-Length: 500\r\n\r\n0x1'):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    s.connect(sys.argv[1])
    try:
        s.sendall(words)
        if not words:
            s.close()
            continue
        while s.recv(4096):
            pass
    except OSError:
        pass
PY
run ask http://x/pprof/symbol
expect_stdout 'num_symbols: 1'

it 'leaves the program its descriptors'
expect_equal sockets "$(find "/proc/$host/fd" -lname 'socket:*' | wc -l)" 0

it 'leaves no file behind'
expect_equal "files in TMPDIR" "$(ls tmp)" ""

it 'refuses other users even when the socket is open to them'
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip 'needs root and setpriv'
else
    chmod 755 .
    chmod 666 s
    run setpriv --reuid=65534 --clear-groups curl -s -m 120 --unix-socket "$PWD/s" http://x/pprof/cmdline
    chmod 600 s
    expect_no_stdout
fi

it 'takes its process id where another one listens already'
start "unix:$PWD/s"
socket_is_there "s.$host"
run pitot info "unix:$PWD/s.$host" --seconds=1
expect_status 0
stop
host=${hosts[0]}

it 'takes the place of a socket that nobody listens to any more'
kill -9 "$host"
wait "$host" 2>/dev/null || true
expect [ -S s ]
start "unix:$PWD/s"
eventually ask http://x/pprof/symbol
run pitot info "unix:$PWD/s" --seconds=1
expect_status 0
stop

# --- TCP

it 'is asked over TCP only with the token that it prints'
start 127.0.0.1:0
address_is_said
run pitot top "$url/pprof/profile" --seconds=1
expect_status 0
expect_stdout_line '*work_hard*'
port=${url#http://127.0.0.1:}
port=${port%%/*}
for path in pprof/symbol debug/pprof/cmdline "${url##*/}x/pprof/symbol" "${url##*/}" x/../"${url##*/}"/pprof/symbol; do
    expect_equal "status of $path" "$(code_of curl -s -m 120 --path-as-is "http://127.0.0.1:$port/$path")" 404
done
expect_equal status "$(code_of curl -s -m 120 "$url/pprof/symbol")" 200

it 'is read by go tool pprof and google-pprof as well'
go=go
[ -x /usr/lib/go-1.23/bin/go ] && go=/usr/lib/go-1.23/bin/go
if needs "$go"; then
    "$go" tool pprof -top -seconds 1 "$url/debug/pprof/profile" >top 2>&1
    expect grep -q 'work_hard' top
fi
if command -v google-pprof >/dev/null; then
    google-pprof --text --seconds=1 "$url/pprof/profile" >text 2>/dev/null
    expect grep -q 'work_hard' text
fi
stop

# beside_silent WHERE N ASK...: asks while N clients without a token hold connections, and expects the answer before
# the server has closed all of them: it gives a request five seconds. A machine that is full may take that long to run the
# client, and is tried again; a server that waits for each of them never answers before.
beside_silent() {
    local open=0
    for _ in 1 2 3 4 5; do
        run python3 "$PITOT_ROOT/tests/abi/silent.py" "$@"
        open=$(cat "$t_out/stdout")
        [ "$status" != 0 ] || [ "${open:-0}" = 0 ] || break
    done
    expect_status 0
    [ "${open:-0}" -gt 0 ] && [ "$open" -le 16 ] || fail "$open of $2 silent clients were left when the answer came"
}

it 'answers who has the token while others say nothing, or a byte now and then'
start 127.0.0.1:0
address_is_said
port=${url#http://127.0.0.1:}
port=${port%%/*}
for clients in 15 20 200; do
    beside_silent "$port" $clients curl -sf -m 300 "$url/pprof/cmdline" -o line
    expect_equal 'command line' "$(tr '\0' ' ' <line)" './host spin'
    beside_silent "$port" $clients curl -sf -m 300 "$url/pprof/profile?seconds=1" -o got
    run pitot top got
    expect_stdout_line '*work_hard*'
done

it 'and while it collects a profile'
# The last profile of the case before may still be collected for an asker that has left: then this one is refused.
refuses_a_second() {
    : >asked
    curl -sv "$url/pprof/profile?seconds=300" -o cut 2>asked &
    asker=$!
    eventually grep -q '^> GET' asked
    code=$(code_of curl -s -m 120 "$url/pprof/profile?seconds=1")
    [ "$code" = 503 ] && kill -0 "$asker" 2>/dev/null && return
    kill "$asker" 2>/dev/null
    wait "$asker"
    return 1
}
expect eventually refuses_a_second
beside_silent "$port" 20 curl -sf -m 300 "$url/pprof/cmdline" -o line
expect_equal 'command line' "$(tr '\0' ' ' <line)" './host spin'
kill "$asker"
stop

it 'takes a token that was chosen, if it is long enough'
start 127.0.0.1:0/a-token-of-my-own-choice
address_is_said
expect_equal token "${url##*/}" a-token-of-my-own-choice
stop
start 127.0.0.1:0/short
expect eventually grep -q 'a token has 16 to 64' host.err
stop

it 'listens nowhere else'
for where in 0.0.0.0:0 8080 [::]:0 192.168.0.1:8080 localhost:8080 unix:relative 127.0.0.1:x 127.0.0.1:99999; do
    start "$where"
    expect eventually grep -qF "PITOT_LISTEN=$where: " host.err
    expect_equal lines "$(wc -l <host.err)" 1
    stop
done

# --- what the host does

it 'goes on when the program closes all descriptors'
start "unix:$PWD/s" closes
socket_is_there s
expect eventually sh -c "[ \$(ls /proc/$host/fd | wc -l) -le 3 ]"
run pitot top "unix:$PWD/s" --seconds=1
expect_status 0
expect_stdout_line '*work_hard*'
stop
rm -f s

it 'leaves children of fork nothing to hold the socket by'
start "unix:$PWD/s" forks
socket_is_there s
eventually [ -s host.out ]
child=$(cat host.out)
hosts+=("$child")
stop
run ask http://x/pprof/symbol
expect [ "$status" = 7 ]
kill "$child"
rm -f s

it 'leaves neither socket nor profile when the program ends while it collects'
before=$(ls tmp) # a host of an earlier case may have been killed while it wrote a profile
start "unix:$PWD/s" ends
socket_is_there s
collects cut 300
expect_equal status "$(code_of ask 'http://x/pprof/profile?seconds=1')" 503
touch end
wait "$host"
expect_equal 'exit status' $? 0
wait "$asker" || true
expect [ ! -e s ]
expect_equal "files in TMPDIR" "$(ls tmp)" "$before"

it 'does not end a program that gives up its rights and is refused others, and goes on listening'
if [ "$(id -u)" != 0 ]; then
    skip 'only root has rights to give up'
else
    for collects in '' while; do # a profile that is being collected ends
        rm -f give s
        start "unix:$PWD/s" gives_up
        socket_is_there s
        waiter=
        if [ -n "$collects" ]; then
            curl -sv --unix-socket "$PWD/s" 'http://x/pprof/profile?seconds=20' -o cut 2>asked &
            waiter=$!
            expect eventually grep -q '^> GET' asked
        fi
        touch give
        expect eventually grep -q refused host.out
        [ -z "$waiter" ] || wait $waiter || true
        expect eventually ask -f -o /dev/null http://x/pprof/symbol
        expect_equal mode "$(stat -c %a s)" 600
        run pitot top "unix:$PWD/s" --seconds=1
        expect_status 0
        expect_stdout_line '*work_hard*'
        stop
        rm -f s
    done
fi

it 'is not in the way of threads that change the group at the same time'
CPUPROFILE=signalled CPUPROFILESIGNAL=12 PITOT_LISTEN=unix:$PWD/s run ./host changes
expect_status 0
expect_stdout_line 'threads 3' # it, and two of the library's

it 'leaves descriptors alone where it cannot have its own, and does not wait for a thread that was ended'
for how in errno kill; do
    run bash -c "echo hello | ./host filtered $how env PITOT_LISTEN=unix:$PWD/s ./host reads"
    [ "$status" != 99 ] || skip 'this kernel has no seccomp filters'
    expect_status 0
    expect_stdout_line hello
    case $how in
        errno) expect_stderr_line '*PITOT_LISTEN=*: needs Linux 5.9 (close_range)' ;;
        kill) expect_stderr_line '*PITOT_LISTEN=*: the library'\''s thread was ended, perhaps by a seccomp filter: *' ;;
    esac
done

it 'does not take a profile away from CPUPROFILE'
: >host.err
rm -f end
CPUPROFILE=$PWD/prof PITOT_LISTEN=unix:$PWD/s ./host ends &
host=$!
hosts+=("$host")
socket_is_there s
expect_equal status "$(code_of ask 'http://x/pprof/profile?seconds=1')" 503
touch end
wait "$host"
expect [ -s prof ]
expect [ ! -e prof.journal ]
