#!/usr/bin/env bash
# Profiles from servers, all of them on loopback: remote_server.py. tests/torture/remote_go.sh has a Go program
# with net/http/pprof.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

needs_python() { command -v python3 >/dev/null; }
needs_python || skip_all 'python3 is not installed'
"$PITOT" version --features | grep -q '^servers *libcurl [0-9]' || skip_all 'built without libcurl'

golden=$PITOT_ROOT/tests/golden
export PPROF_TMPDIR=$PWD/kept
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

# serve NAME [ARGS...]: a server of $profile; its port goes to the variable NAME.
servers=()
serve() {
    local name=$1 said=
    shift
    : >"port.$name"
    python3 "$PITOT_ROOT/tests/cli/remote_server.py" "$profile" "$PWD/log" "$@" >"port.$name" &
    servers+=($!)
    eventually [ -s "port.$name" ]
    said=$(cat "port.$name")
    printf -v "$name" '%s' "$said"
}
stop_servers() {
    for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null; done
    t_end
}
trap stop_servers EXIT

# Addresses only, so that names can come from nowhere but the server; in no mapping.
cat >addresses.txt <<'END'
heap profile: 3: 300 [3: 300] @ heapprofile
 2: 200 [2: 200] @ 0x401001 0x402003
 1: 100 [1: 100] @ 0x401001 0x402010
END
profile=$PWD/addresses.txt
serve port
base=127.0.0.1:$port

it 'asks for /debug/pprof/profile, and for /pprof/profile where that is not'
: >log
run pitot top "$base" --seconds=1
expect_status 0
expect_equal requests "$(grep -c . log)" 3
expect grep -qx 'GET /debug/pprof/profile?seconds=1' log
expect grep -qx 'GET /pprof/profile?seconds=1' log

it 'names addresses by asking the server, one byte before return addresses'
run pitot top "$base" --seconds=1 -e space
expect_stdout_line '*function_401000*'
expect_stdout_line '*function_402002*'
expect_stderr_line '*1 address without a name: the server does not know them'

it 'posts to the neighbour of the profile, without its query'
expect grep -qx 'POST /pprof/symbol application/octet-stream' log

it 'marks the mappings of the server as named, those without samples, too, as google/pprof does'
{
    head -n 2 addresses.txt
    printf '\nMAPPED_LIBRARIES:\n00400000-00403000 r-xp 00000000 00:00 0 /bin/prog\n00500000-00501000 r-xp 00000000 00:00 0 /lib/x.so\n'
} >mapped.txt
profile=$PWD/mapped.txt
serve mapped
run pitot pprof -raw -symbolize=remote "http://127.0.0.1:$mapped/pprof/heap"
expect_status 0
expect_stdout_line '1: 0x400000/0x403000/0x0 /bin/prog  \[FN\]'
expect_stdout_line '2: 0x500000/0x501000/0x0 /lib/x.so  \[FN\]'

it 'marks, as google/pprof does, also what the server was asked for and has no name of'
printf '%s\n' 'heap profile: 1: 100 [1: 100] @ heapprofile' '1: 100 [1: 100] @ 0x401010' >nameless.txt
profile=$PWD/nameless.txt
serve nameless
run pitot pprof -raw -symbolize=remote "http://127.0.0.1:$nameless/pprof/heap"
expect_status 0
expect_stdout_line '1: 0x0/0xffffffffffffffff/0x0   \[FN\]'

profile=$PWD/mapped.txt

it 'keeps what it fetched, with the names, and says where'
run pitot top "http://$base/pprof/heap"
expect_stderr_line "pitot: the fetched profile is in $PPROF_TMPDIR/pprof.objects.space.*.pb.gz"
kept=$(stderr | sed -n 's/.*the fetched profile is in //p')
expect test -s "$kept"
run pitot top "$kept"
expect_stdout_line '*function_401000*'

it 'takes a path and a query as they stand'
: >log
run pitot info "http://$base/odd/place?a=b&c=%20d"
expect_status 0
expect grep -qx 'GET /odd/place?a=b&c=+d' log

it 'follows a redirect'
run pitot info "http://$base/redirect"
expect_status 0

it 'does not follow one forever, nor into the file system'
run pitot info "http://$base/loop"
expect_status 1
expect_stderr_has 'redirect'
run pitot info "http://$base/to-file"
expect_status 1
expect_no_stdout

it 'tells what the server said'
run pitot info "http://$base/busy"
expect_status 1
expect_stderr_line "*server response: 503 Service Unavailable - no profile today come back"
run pitot info "http://$base/nothing"
expect_stderr_line '*server response: 404 Not Found*'

it 'refuses an empty answer and what is no profile'
run pitot info "http://$base/empty"
expect_status 1
expect_stderr_has 'empty'
run pitot info "http://$base/pprof/cmdline"
expect_status 1
expect_stderr_has 'not a profile'

it 'gives a server up that does not answer, or answers byte by byte'
run timeout 200 "$PITOT" info "http://$base/slow" --timeout=1
expect_status 1
expect_stderr_line '*no complete answer within 1 s (--timeout)'
run timeout 200 "$PITOT" info "http://$base/drip" --timeout=1
expect_status 1
expect_stderr_has '--timeout'

it 'stops reading an answer that does not end at the memory limit'
run timeout 200 "$PITOT" info "http://$base/endless" --max-memory=1M
expect_status 1
expect_stderr_line '*larger than 1048576 bytes (--max-memory)'

it 'does not take a part of an answer for the whole'
run pitot info "http://$base/cut"
expect_status 1
expect_no_stdout

it 'adds up what servers give, and goes on without those that fail'
run pitot info "http://$base/pprof/heap" "http://$base/nothing" "http://$base/pprof/heap"
expect_status 4
expect_stderr_line '*/nothing: server response: 404 Not Found*'
expect_stderr_line 'pitot: 2 of 3 profiles were fetched'
run pitot top "http://$base/pprof/heap" "http://$base/pprof/seven" -e objects
expect_stdout_has '6'

it 'asks three hundred servers at once without losing one'
names=()
for i in $(seq 300); do names+=("http://$base/pprof/heap?i=$i"); done
run timeout 500 "$PITOT" merge -o all.pb.gz "${names[@]}"
expect_status 0
run pitot top all.pb.gz -e objects
expect_stdout_has '900'

it 'adds up a file and a server'
run pitot merge "$profile" "http://$base/pprof/heap" -o both.pb.gz
expect_status 0
run pitot top both.pb.gz -e objects --symbols=off
expect_stdout_has '6'

it 'fails with each reason when all fail'
run pitot info "http://$base/nothing" "http://$base/busy"
expect_status 1
expect_stderr_has '404'

it 'is ended by Ctrl-C at once and leaves nothing'
rm -rf kept
: >log
env --default-signal=INT "$PITOT" info "http://$base/slow" >/dev/null 2>&1 &
child=$!
eventually [ -s log ]
kill -INT "$child"
status=0
wait "$child" || status=$?
expect_equal 'exit status' "$status" 130
expect [ ! -e kept ]

it 'speaks over a Unix socket'
serve sock unix "$PWD/s"
run pitot top "unix:$PWD/s:/pprof/heap"
expect_status 0
expect_stdout_line '*function_401000*'
: >log
run pitot info "unix:$PWD/s" --seconds=2
expect_status 0
expect grep -qx 'GET /pprof/profile?seconds=2' log

it 'says that nobody listens'
run pitot info "unix:$PWD/nobody:/x"
expect_status 1
run pitot info 127.0.0.1:1
expect_status 1
expect_stderr_has '127.0.0.1'

it 'fetches as google-pprof does when asked to be it'
run pitot google-pprof --text "$base/pprof/heap"
expect_status 0
expect_stderr_line "Fetching /pprof/heap profile from http://$base/pprof/heap to"
file=$(stderr | sed -n 's/^Wrote profile to //p')
expect_equal 'name of the file' "$(basename "$file" | sed 's/\.[0-9]*\.127/.TIME.127/')" \
    server.TIME.127.0.0.1.pprof.heap
expect_stdout_line '*function_401001*'
if command -v google-pprof >/dev/null && command -v curl >/dev/null; then
    google-pprof --text "$base/pprof/heap" >theirs 2>/dev/null
    cp "$t_out/stdout" ours
    expect_same ours theirs
fi

it 'asks one host after the other of google-pprof'"'"'s host@N'
run pitot google-pprof --text "nobody.invalid@2/pprof/heap"
expect_status 1
expect_stderr_has '1.nobody.invalid'

it 'fetches as go tool pprof does when asked to be it'
run pitot pprof -top -sample_index=space "http://$base/pprof/heap"
expect_status 0
expect_stderr_line "Fetching profile over HTTP from http://$base/pprof/heap"
expect_stderr_line "Saved profile in $PPROF_TMPDIR/pprof.objects.space.*.pb.gz"
expect_stdout_line '*function_401000*'
run pitot pprof -top "http://$base/pprof/heap" "http://$base/nothing"
expect_status 0
expect_stderr_line "http://$base/nothing: server response: 404 Not Found"
expect_stderr_line 'Fetched 1 source profiles out of 2'

# --- https

if command -v openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
        -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' 2>/dev/null
    serve tls tls cert.pem key.pem
    serve strict tls cert.pem key.pem cert.pem
fi

it 'trusts a certificate only with its authority, or when told to trust any'
if needs openssl; then
    run pitot info "https://127.0.0.1:$tls/pprof/heap"
    expect_status 1
    expect_stderr_has 'certificate'
    run pitot info "https://127.0.0.1:$tls/pprof/heap" --tls-ca=cert.pem
    expect_status 0
    run pitot info "https+insecure://127.0.0.1:$tls/pprof/heap"
    expect_status 0
fi

it 'shows its own certificate to a server that asks'
if needs openssl; then
    run pitot info "https://127.0.0.1:$strict/pprof/heap" --tls-ca=cert.pem
    expect_status 1
    run pitot info "https://127.0.0.1:$strict/pprof/heap" --tls-ca=cert.pem \
        --tls-cert=cert.pem --tls-key=key.pem
    expect_status 0
    run pitot info "https://127.0.0.1:$strict/pprof/heap" --tls-cert=cert.pem
    expect_stderr_has '--tls-cert needs --tls-key'
fi
