#!/usr/bin/env bash
# pitot serve, and pprof -http: the page and its reports over HTTP, on loopback.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

"$PITOT" version --features | grep -q '^pages *libmicrohttpd' || skip_all 'built without libmicrohttpd'
command -v curl >/dev/null || skip_all 'curl is not installed'
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY DISPLAY WAYLAND_DISPLAY BROWSER

cat >a.folded <<'F'
main;parse;read 300
main;parse 200
main;emit;write 400
main;emit 100
F
cat >older.folded <<'F'
main;parse;read 100
main;emit;write 400
F

mkdir tmp
export TMPDIR=$PWD/tmp # other tests have files in /tmp

# shellcheck disable=SC2254 # the third is a pattern
matches() { case $2 in $3) ;; *) fail "$1 is '$2', not like '$3'" ;; esac; }

# start NAME COMMAND...: a server; its address goes to the variable NAME, its token to $token, its pid to $pid.
servers=()
start() {
    local name=$1 said=
    shift
    : >"said.$name" # or what the server before it said is read, while the shell has yet to open the file
    "$@" 2>"said.$name" &
    pid=$!
    servers+=("$pid")
    until said=$(grep -o 'http://[^ ]*' "said.$name" | head -n 1) && [ -n "$said" ]; do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.05
    done
    if [ -z "$said" ]; then # nothing below can be asked; waiting for answers would take an hour
        it "begins to serve: $*"
        fail "$(cat "said.$name")"
        exit 1
    fi
    token=${said##*/?t=}
    printf -v "$name" '%s' "${said%%/?t=*}"
}
stalled=
stop_servers() {
    local ended=$?
    for server in "${servers[@]}" $stalled; do kill "$server" 2>/dev/null; done
    (exit $ended)
    t_end
}
trap stop_servers EXIT

# get PATH [OPTION...]: $code, $type, and the body in the file "body".
get() {
    local path=$1
    shift
    read -r code type < <(curl -s -o body -w '%{http_code} %{content_type}\n' -H "Authorization: Bearer $token" \
        "$@" "$url$path")
}

# Asks for much and takes nothing of it, until the server leaves it: looked at by the last test. The client cannot see
# that its connection was closed, since it does not read what was sent before.
start patient "$PITOT" serve --no-browser a.folded
patient_pid=$pid
# patient_sockets: how many the server has open.
patient_sockets() { find "/proc/$patient_pid/fd" -lname 'socket:*' | wc -l; }
alone=$(patient_sockets)
python3 - "${patient##*:}" "$token" <<'P' &
import signal, socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
s.connect(('127.0.0.1', int(sys.argv[1])))
s.sendall(f'GET /api/flamegraph?t={sys.argv[2]} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode() * 200)
signal.pause()
P
stalled=$!
has_client() { [ "$(patient_sockets)" -gt "$alone" ]; }
has_none() { ! has_client; }
heard=no
! eventually has_client || heard=yes

start url "$PITOT" serve --no-browser a.folded
first=$pid
first_token=$token

it 'says where it serves, on this machine alone'
matches 'the address' "$url" 'http://localhost:[0-9]*'
expect_equal 'what it says' "$(sed 's/:[0-9][0-9]*/:PORT/; s/t=[0-9a-f]\{32\} /t=TOKEN /' said.url)" \
    'pitot: serving at http://localhost:PORT/?t=TOKEN (Ctrl-C to stop)'

it 'leads from / to the page, and keeps what is asked'
get '/?f=parse%7Cread&si=0' -D headers
expect_equal code "$code" 307
expect_equal place "$(tr -d '\r' <headers | sed -n 's/^Location: //p')" '/ui/?f=parse%7Cread&si=0'
get '/ui/flamegraphold?f=a' -D headers
expect_equal place "$(tr -d '\r' <headers | sed -n 's/^Location: //p')" '/ui/flamegraph?f=a'

it 'serves one page for all views'
for view in '' flamegraph top graph tree peek source disasm traces tags info; do
    get "/ui/$view"
    expect_equal "$view" "$code $type" '200 text/html; charset=utf-8'
    expect grep -q '"title":"a.folded"' body
done

it 'answers what the command line answers, with its options or short names'
for pair in 'top?f=parse:top --focus=parse' 'top?focus=parse&rows=1:top --focus=parse -n 1' \
    'top?i=parse&sort=total:top --ignore=parse -s total' 'tree?h=emit:tree --hide=emit' \
    'tree?s=emit&rel=t:tree --show=emit --relative' 'tree?sf=parse:tree --show-from=parse' \
    'traces?rel=f:traces' 'peek?p=parse:peek parse' 'peek?f=parse:peek --focus=parse parse' \
    'info:info' 'top?json=1:top --json' 'tree?p=unused:tree'; do
    get "/api/${pair%%:*}"
    read -ra words <<<"${pair#*:}"
    expect_equal "${pair%%:*}" "$code$(cat body)" "200$("$PITOT" "${words[@]}" a.folded)"
done
get '/api/top?json=1'
expect_equal type "$type" application/json

it 'says beside an answer what the command line would'
get '/api/top?i=nothing' -D headers
expect_equal code "$code" 200
said=$(tr -d '\r' <headers | sed -n 's/^Pitot-Said: //p')
expect_equal said "$(printf '%b' "${said//%/\\x}")" \
    '--ignore=nothing matches no function, source file or mapped file'

it 'draws graphs and serves the pages of flame and weblist'
get /api/graph
expect_equal graph "$code $type" '200 image/svg+xml'
expect grep -q '<svg' body
get /api/flamegraph
expect_equal flame "$code $type" '200 text/html; charset=utf-8'
"$PITOT" flame -o - a.folded >flame.html
expect_same flame.html body
get '/api/source?p=parse'
expect_equal source "$code $type" '200 text/html; charset=utf-8'

it 'gives the profile away whole'
get /download -D headers
expect_equal code "$code $type" '200 application/octet-stream'
expect grep -q 'attachment; filename="profile.pb.gz"' headers
mv body whole.pb.gz
expect_equal 'the profile' "$("$PITOT" convert --to=folded -o - whole.pb.gz 2>/dev/null | sort)" \
    "$(sort a.folded)"

it 'shows a file that is handed to it: by itself, before or after what is shown'
cat >dropped.folded <<'F'
main;parse;read 100
main;emit;write 900
F
get '/file?name=%2Fhome%2Fme%2Fdropped.folded' --data-binary @dropped.folded
expect_equal file "$code $type $(cat body)" '200 application/json {"at": "/1/ui/"}'
get /1/api/top
expect_same <("$PITOT" top dropped.folded) body
get '/file?name=before.folded&as=before' --data-binary @dropped.folded
expect_equal before "$code $(cat body)" '200 {"at": "/2/ui/"}'
get /2/api/diff
cp dropped.folded before.folded
expect_same <("$PITOT" diff before.folded a.folded) body
get '/1/file?name=after.folded&as=after' --data-binary @a.folded
expect_equal after "$code $(cat body)" '200 {"at": "/3/ui/"}'
get /3/api/diff
cp a.folded after.folded
expect_same <("$PITOT" diff dropped.folded after.folded) body
get /3/ui/
expect grep -q '"title":"after.folded","version":"[^"]*","before":"dropped.folded"' body
get '/1/?f=a' -D headers
expect_equal place "$(tr -d '\r' <headers | sed -n 's/^Location: //p')" '/1/ui/?f=a'
get /api/top
expect_same <("$PITOT" top a.folded) body

it 'takes a compressed recording with addresses, and says what a file is that is no profile'
"$PITOT" convert --to=pprof -o dropped.pb.gz dropped.folded
get '/file?name=x' --data-binary @dropped.pb.gz
expect_equal 'profile.proto' "$code" 200
echo 'no profile' >letter.txt
get '/file?name=letter.txt' --data-binary @letter.txt
expect_equal 'a letter' "$code" 400
expect grep -q '^letter.txt: not a profile' body
get '/file?name=empty' --data-binary @/dev/null
expect_equal 'nothing' "$code" 400
get '/file?name=ls' --data-binary @"$(command -v ls)"
expect_equal 'a program' "$code $(cat body)" '400 ls is a program, not a profile'
get '/file?name=a&as=x' --data-binary @a.folded
expect_equal 'as' "$code $(cat body)" '400 as=x: it is before or after'
get /api/top --data-binary @a.folded
expect_equal 'elsewhere' "$code" 404
get /99/api/top
expect_equal 'a root' "$code" 404
get '/file?name=a' -H 'Content-Length: 1073741825' --data-binary @a.folded
expect_equal 'too large' "$code" 413
head -c 40 dropped.pb.gz >cut.pb.gz
get '/file?name=cut' --data-binary @cut.pb.gz
expect_equal 'a cut file' "$code" 400

it 'takes files from its own page and who has the token alone, and leaves none behind'
for option in '' "Authorization: Bearer ${token%?}x"; do
    expect_equal "$option" "$(curl -s -o body -w '%{http_code}' ${option:+-H "$option"} --data-binary @a.folded "$url/file?name=a")" 403
done
for option in 'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site' 'Origin: http://evil.example'; do
    get '/file?name=a' -H "$option" --data-binary @a.folded
    expect_equal "$option" "$code" 403
done
expect_equal 'files in TMPDIR' "$(ls -A tmp)" ''
start open "$PITOT" serve --no-browser --http=0.0.0.0:0 a.folded
expect_equal 'open to the network' "$(curl -s -o body -w '%{http_code}' -H "Authorization: Bearer $token" \
    --data-binary @a.folded "http://127.0.0.1:${open##*:}/file?name=a")" 405
kill "$pid"
token=$first_token

it 'keeps questions of its user under names, for each server'
export XDG_STATE_HOME=$PWD/state
mkdir state # before the server: it has the variable
start asked "$PITOT" serve --no-browser a.folded
# keep NAME AT: what the server answers.
keep() {
    get_code=$(curl -s -o body -w '%{http_code}' -G -X POST -H "Authorization: Bearer $token" \
        --data-urlencode "name=$1" --data-urlencode "at=$2" "$asked/questions")
    cat body
}
expect_equal 'none' "$(curl -s -H "Authorization: Bearer $token" "$asked/questions" | tr -d ' \n')" '{"questions":[]}'
keep 'slow <b>' 'top?f=parse' >answer
keep other 'tree?si=1' >answer
keep 'slow <b>' 'peek?p=b%2Ba' >answer
expect_equal 'two' "$(tr -d '\n' <answer | grep -o '"at": *"[^"]*"' | tr -d ' ' | tr '\n' ' ')" '"at":"peek?p=b%2Ba" "at":"tree?si=1" '
expect_equal 'file' "$(cat state/pitot/questions)" "$(printf 'slow <b>\tpeek?p=b%%2Ba\nother\ttree?si=1')"
expect_equal 'mode' "$(stat -c %a state/pitot/questions)" 600
for at in 'http://evil.example/' '/ui/top' 'top?f=a b' "top?t=$token" "$(printf 'top?f=%04096d' 0)" '"><script>'; do
    keep bad "$at" >answer
    expect_equal "$at" "$get_code" 400
done
keep "$(printf 'two\nlines')" top >answer
expect_equal 'two lines' "$get_code" 400
expect_equal 'without token' "$(curl -s -o body -w '%{http_code}' -X POST "$asked/questions?name=x&at=top")" 403
expect_equal 'of another page' "$(curl -s -o body -w '%{http_code}' -X POST -H 'Sec-Fetch-Site: cross-site' \
    -H "Authorization: Bearer $token" "$asked/questions?name=x&at=top")" 403
keep bad 'top?%74=1' >answer
expect_equal 'a name of a parameter in disguise' "$get_code" 400
keep other '' >answer
together=
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    curl -s -o /dev/null -X POST -H "Authorization: Bearer $token" "$asked/questions?name=at-once-$i&at=top" &
    together="$together $!"
done
wait $together
expect_equal 'kept at once' "$(grep -c at-once state/pitot/questions)" 12
mv state/pitot/questions linked
ln -s ../../linked state/pitot/questions
keep 'by link' top >answer
expect_equal 'through a link' "$(grep -c 'at-once\|by link\|slow' linked)" 14
rm state/pitot/questions
head -c 1100000 /dev/zero | tr '\0' x >state/pitot/questions
keep new top >answer
expect_equal 'a file that cannot be read stays' "$get_code $(wc -c <state/pitot/questions)" '400 1100000'
mv linked state/pitot/questions
kill "$pid"
echo 'no question' >>state/pitot/questions
start asked "$PITOT" serve --no-browser a.folded
curl -s -D head -H "Authorization: Bearer $token" "$asked/questions" >answer
expect_equal 'another server' "$(grep -c '"slow <b>"' answer) $(grep -c other answer) $(grep -ci '^pitot-said:.*not%20kept%20views' head)" '1 0 1'
kill "$pid"
unset XDG_STATE_HOME
token=$first_token

it 'reads a profile again that has changed, where that was asked for'
cp a.folded live.folded
start live "$PITOT" serve --no-browser --live live.folded
last_growth=
# again ADDRESS: the state, and whether the profile is the one of the time before.
again() {
    local growth
    curl -s -H "Authorization: Bearer $token" -X POST "$1/again" >body
    growth=$(grep -o '"growth":"[^"]*"' body)
    state="$(grep -o '"state":"[^"]*"' body) $([ "$growth" = "$last_growth" ] && echo same || echo new)"
    last_growth=$growth
}
again "$live"
expect_equal 'at first' "$state" '"state":"files" new'
cp dropped.folded live.new && mv live.new live.folded
for i in 1 2; do
    again "$live"
    expect_equal "time $i" "$state" "\"state\":\"files\" $([ $i = 1 ] && echo new || echo same)"
    expect_equal top "$(curl -s -H "Authorization: Bearer $token" "$live/api/top")" "$("$PITOT" top live.folded)"
done
echo 'no profile' >live.folded
again "$live"
expect_equal 'what cannot be read' "$state" '"state":"files" same'
rm live.folded
again "$live"
expect_equal 'its end' "$state" '"state":"ended" same'
expect_equal top "$(curl -s -H "Authorization: Bearer $token" "$live/api/top" | tail -n +2)" "$("$PITOT" top dropped.folded | tail -n +2)"
kill "$pid"
token=$first_token
get /again -X POST
expect_equal 'one that is not live' "$code" 404

it 'as the first process of a container, waits for those that have ended'
if ! unshare -pf --kill-child true 2>/dev/null; then
    skip 'no namespace of processes can be made here'
else
    cp a.folded live.folded
    start alone unshare -pf --kill-child "$PITOT" serve --no-browser --live live.folded
    inner=$(cat "/proc/$pid/task/$pid/children") # unshare hears no SIGTERM
    servers+=("${inner// /}")
    for i in 1 2 3 4; do
        echo "main;step_$i $i" >live.new && mv live.new live.folded
        again "$alone"
        expect_equal "change $i" "$state" '"state":"files" new'
    done
    # A process that was replaced ends after the answer: the next event finds it.
    for i in $(seq 2000); do
        curl -s -o body -H "Authorization: Bearer $token" "$alone/api/top"
        zombies=$(for child in $(cat /proc/${inner// /}/task/*/children); do grep -l '^State:.Z' "/proc/$child/status"; done 2>/dev/null | wc -l)
        [ "$zombies" -gt 0 ] || break
        sleep 0.05
    done
    expect_equal 'processes that nobody waited for' "$zombies" 0
    kill "${inner// /}"
    wait "$pid"
    expect_equal 'its status' $? 0
    token=$first_token
fi

it 'keeps the eight files that were asked for last'
for i in $(seq 9); do get '/file?name=a' --data-binary @a.folded; done
last=$(grep -o '[0-9]*' body)
get "/$last/api/top"
expect_equal 'the last' "$code" 200
get /1/api/top
expect_equal 'the first' "$code" 404
get /api/top
expect_equal 'its own' "$code" 200

it 'says what is wrong in words, and stays'
get '/api/top?focsu=a'
expect_equal 'a parameter' "$code $(cat body)" "400 'focsu' is not a parameter of any view"
get '/api/top?f=('
expect_equal 'a pattern' "$code" 400
get '/api/top?f=nothing'
expect_equal 'no match' "$code $(head -n 1 body)" \
    '404 --focus=nothing matches no function, source file or mapped file'
get /api/peek
expect_equal 'no pattern' "$code $(cat body)" '400 Name a function: p=PATTERN'
get '/api/top?f=%00parse'
expect_equal 'a byte 0' "$code" 400
get '/api/top?output=x'
expect_equal 'no files' "$code" 400
get '/api/top?p=-o'
expect_equal 'no options' "$code" 200
get '/api/peek?p=--help'
expect_equal 'no options' "$code" 404
for path in /api/record /api/dump /api/ /etc/passwd /ui/../../etc/passwd /favicon.ico; do
    get "$path" --path-as-is
    expect_equal "$path" "$code" 404
done
get /api/top -X DELETE
expect_equal 'a method' "$code" 405
get /api/top
expect_equal 'at last' "$code" 200

it 'answers nobody who calls it by a foreign name'
for host in evil.example localhost.evil.example 10.0.0.1 '[::2]' '[' ''; do
    get /api/top -H "Host: $host"
    matches "$host" "$code" '40[03]'
done
for host in localhost LOCALHOST:1 127.0.0.1:80 '[::1]:80'; do
    get /api/top -H "Host: $host"
    expect_equal "$host" "$code" 200
done

it 'answers nobody who does not know its token'
for option in '' "Authorization: Bearer ${token%?}x" "Authorization: Basic $token" "Cookie: t=$token" \
    "Cookie: pitot-${url##*:}=${token%?}" "Cookie: pitot-${url##*:}x=$token"; do
    for path in / /ui/ /ui/top /api/top /api/graph /download /favicon.ico '/api/top?t=' "/api/top?t=${token}0"; do
        read -r code type < <(curl -s -o body -w '%{http_code} %{content_type}\n' ${option:+-H "$option"} "$url$path")
        expect_equal "$path $option" "$code $type $(wc -l <body)" '403 text/plain; charset=utf-8 1'
    done
done
for option in "Cookie: pitot-${url##*:}=$token" "Cookie: a=b; pitot-${url##*:}=x;pitot-${url##*:}=$token; c=d"; do
    expect_equal "$option" "$(curl -s -o body -w '%{http_code}' -H "$option" "$url/ui/")" 200
done
expect_equal 'in the address' "$(curl -s "$url/api/top?t=$token")" "$("$PITOT" top a.folded)"

it 'gives a cookie of this port for the token, to no script and no other site, and leads to the clean address'
for pair in "/?t=$token:/ui/" "/?f=a&t=$token:/ui/?f=a" "/ui/tree?t=$token&f=a:/ui/tree?f=a"; do
    curl -s -o body -D headers "$url${pair%%:*}"
    expect_equal place "$(tr -d '\r' <headers | sed -n 's/^Location: //p')" "${pair#*:}"
    expect_equal cookie "$(tr -d '\r' <headers | sed -n 's/^Set-Cookie: //p')" \
        "pitot-${url##*:}=$token; Path=/; HttpOnly; SameSite=Strict"
done

it 'answers no other user of the machine'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 .
    code=$(setpriv --reuid=65534 --regid=65534 --clear-groups curl -s -o /dev/null -w '%{http_code}' "$url/download")
    expect_equal 'another user' "$code" 403
else
    skip 'users can be changed by root alone'
fi

it 'answers no page of another server'
for header in 'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site' 'Origin: http://evil.example' 'Origin: null' \
    'Origin: http://localhost:1' "Origin: https://${url#http://}"; do
    get /api/top -H "$header" -H "Cookie: pitot-${url##*:}=$token"
    expect_equal "$header" "$code $(wc -l <body)" '403 1'
done
for header in 'Sec-Fetch-Site: same-origin' 'Sec-Fetch-Site: none' "Origin: $url"; do
    get /api/top -H "$header"
    expect_equal "$header" "$code" 200
done

it 'opens a new page for who knows the token, wherever that stood, and leads on by itself'
code=$(curl -s -o body -D headers -w '%{http_code}' -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate' \
    -H 'Sec-Fetch-Dest: document' "$url/?f=a&t=$token")
expect_equal code "$code" 200
expect grep -qF '<meta http-equiv="refresh" content="0; url=/ui/?f=a">' body
expect grep -qi '^Set-Cookie: ' headers
for pair in cross-site:navigate:iframe cross-site:no-cors:document cross-site:cors:empty; do
    IFS=: read -r site mode to <<<"$pair"
    code=$(curl -s -o body -w '%{http_code}' -H "Sec-Fetch-Site: $site" -H "Sec-Fetch-Mode: $mode" \
        -H "Sec-Fetch-Dest: $to" "$url/?t=$token")
    expect_equal "$pair" "$code" 403
done
code=$(curl -s -o body -w '%{http_code}' -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate' \
    -H 'Sec-Fetch-Dest: document' -H "Cookie: pitot-${url##*:}=$token" "$url/ui/")
expect_equal 'by the cookie alone' "$code" 403

it 'gives the browser its address in a file that nobody else may read, and takes that away again'
mkdir -p started
cat >started/browser <<'B'
#!/bin/sh
printf '%s\n' "$@" >"$STARTED/arguments.new"
stat -c %a "$1" "$(dirname "$1")" >"$STARTED/modes"
cp "$1" "$STARTED/page.html"
mv "$STARTED/arguments.new" "$STARTED/arguments"
B
chmod +x started/browser
start_browsed() {
    local kept=$token
    STARTED=$PWD/started BROWSER=$PWD/started/browser TMPDIR=$PWD/started start opened "$PITOT" serve a.folded
    opened_token=$token opened_pid=$pid token=$kept
    eventually [ -s started/arguments ]
}
start_browsed
expect_equal 'its token among the arguments' "$(grep -c "$opened_token" started/arguments)" 0
expect_equal modes "$(tr '\n' ' ' <started/modes)" '600 700 '
expect grep -qF "content=\"0; url=$opened/?t=$opened_token\"" started/page.html
file=$(cat started/arguments)
expect [ -e "$file" ]
curl -s -o body "$opened/?t=$opened_token"
expect [ -e "$file" ]
curl -s -o body -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: document' "$opened/?t=$opened_token"
eventually [ ! -e "$(dirname "$file")" ]
expect [ ! -e "$(dirname "$file")" ]
rm started/arguments
start_browsed
kill "$opened_pid"
wait "$opened_pid"
expect [ ! -e "$(cat started/arguments)" ]

it 'lets only the script of each page run, by its hash, and keeps reports strangers to the server'
hash_of() { printf "'sha256-%s'" "$(openssl dgst -sha256 -binary | base64)"; }
if needs openssl perl; then
    for pair in '/ui/:connect-src .self.; frame-src .self.; img-src blob:; frame-ancestors .none.' \
        '/api/flamegraph:sandbox allow-scripts; frame-ancestors .self.' \
        '/api/source?p=parse:sandbox allow-scripts; frame-ancestors .self.' \
        '/api/graph:sandbox allow-scripts; frame-ancestors .self.' \
        '/api/top?json=1:sandbox allow-scripts; frame-ancestors .self.'; do
        get "${pair%%:*}" -D headers
        policy=$(tr -d '\r' <headers | sed -n 's/^Content-Security-Policy: //p')
        matches "${pair%%:*}" "$policy" \
            "default-src 'none'; base-uri 'none'; form-action 'none'; object-src 'none'*"
        expect_equal 'what it may' "${policy%%unsafe*}" "$policy"
        grep -q "; ${pair#*:}\$" <<<"$policy" || fail "${pair%%:*}: $policy"
        # Each script and style of the body stands in the policy.
        for element in script style; do
            perl -0ne "print \$1 if m{<$element>(?:<!\\[CDATA\\[)?(.*?)(?:\\]\\]>)?</$element>}s" body >part
            [ -s part ] || continue
            grep -qF "$element-src $(hash_of <part)" <<<"$policy" || fail "${pair%%:*}: another $element"
        done
    done
fi

it 'answers many at once, draws no graph of all boxes, and says so'
get '/api/graph?nodes=0' -D headers
expect_equal code "$code" 200
said=$(tr -d '\r' <headers | sed -n 's/^Pitot-Said: //p')
expect_equal said "$(printf '%b' "${said//%/\\x}")" 'a page draws at most 500 boxes'

it 'lets nothing but the page itself run, and no other page frame it'
get /ui/ -D headers
expect grep -qi "^Content-Security-Policy: default-src 'none';.*frame-ancestors 'none'" headers
expect grep -qi '^X-Content-Type-Options: nosniff' headers

it 'ends at SIGINT, and at SIGTERM, with status 0'
start other "$PITOT" serve --no-browser a.folded
kill -INT "$pid"
wait "$pid"
expect_equal SIGINT $? 0
kill -TERM "$first"
wait "$first"
expect_equal SIGTERM $? 0

# A program in place of Graphviz's that never ends; its pid goes to the file dot.pid.
mkdir never
cat >never/dot <<'D'
#!/bin/sh
echo $$ >dot.tmp && mv dot.tmp dot.pid
exec sleep 100000
D
chmod +x never/dot
is_gone() { ! grep -q ') [^Z]' "/proc/$1/stat"; }

it 'ends at a signal whatever runs, and leaves no Graphviz behind'
for signal in INT TERM KILL; do
    rm -f dot.pid
    PATH=$PWD/never:$PATH start url "$PITOT" serve --no-browser a.folded
    server=$pid
    get /api/graph &
    eventually [ -e dot.pid ]
    kill "-$signal" "$server"
    wait "$server" 2>/dev/null
    expect_equal "$signal" $? "$([ $signal = KILL ] && echo 137 || echo 0)"
    eventually is_gone "$(cat dot.pid)"
done

it 'answers others while a report runs, and ends the report when its asker goes'
rm -f dot.pid
PATH=$PWD/never:$PATH start url "$PITOT" serve --no-browser a.folded
curl -s -o /dev/null "$url/api/graph?t=$token" &
asker=$!
eventually [ -e dot.pid ]
get /api/top
expect_equal code "$code" 200
kill "$asker"
eventually is_gone "$(cat dot.pid)"
get /api/top
expect_equal code "$code" 200

it 'answers one more than can wait with 503, and draws by itself what Graphviz has not drawn in 30 s'
askers=()
# More askers at each look: those before them may have been refused or answered.
is_full() {
    for _ in $(seq 25); do
        curl -s -o /dev/null "$url/api/graph?t=$token" &
        askers+=($!)
    done
    [ "$(curl -m 2 -s -o body -w '%{http_code}' "$url/api/top?t=$token")" = 503 ]
}
rm -f dot.pid
curl -s -o first.svg "$url/api/graph?t=$token" &
first_asker=$!
eventually [ -e dot.pid ]
eventually is_full || fail 'it takes any number'
expect_equal 'a line' "$(wc -l <body)" 1
kill "${askers[@]}" 2>/dev/null
get /api/top
expect_equal 'when they have gone' "$code" 200
wait "$first_asker"
expect_equal 'its end' "$(tail -n 1 first.svg)" '</svg>'

it 'answers the 65th while 64 say nothing, and closes who says nothing for 5 s'
start url "$PITOT" serve --no-browser a.folded
run python3 - "${url##*:}" "$token" <<'P'
import socket, sys
silent = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(64)]
silent[40].sendall(b'GET /api/top HTTP/1.1\r\nHost: localhost\r\n')
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.sendall(f'GET /api/top?t={sys.argv[2]} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'.encode())
print(s.makefile('rb').readline().decode().strip())
silent[0].settimeout(300)
print(silent[0].recv(100), silent[40].recv(100), silent[63].recv(100))
P
expect_stdout "HTTP/1.1 200 OK
b'' b'' b''"

# source_profile FILE: a profile.proto in which the function "leaf" is on line 1 of that file.
source_profile() {
    python3 - "$1" <<'P'
import sys
def varint(n):
    out = b''
    while n >= 0x80:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])
def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value
strings = ['', 'samples', 'count', 'leaf', sys.argv[1]]
p = field(1, field(1, 1) + field(2, 2)) + field(2, field(1, b'\1') + field(2, b'\7'))
p += field(4, field(1, 1) + field(3, 16) + field(4, field(1, 1) + field(2, 1))) + field(5, field(1, 1) + field(2, 3) + field(4, 4))
sys.stdout.buffer.write(p + b''.join(field(6, s.encode()) for s in strings))
P
}

it 'shows no source that the profile alone names, unless the user gives its folder'
outside=$t_out/outside
mkdir -p "$outside/.git" .hidden
echo 'int secret = 1;' | tee "$outside/s.c" "$outside/.git/s.c" here.c >.hidden/s.c
ln -s "$outside/s.c" link.c
shown() { get '/api/source?p=leaf&whole=1'; expect_equal "$1 $code" "$(grep -c 'int secret' body)" "$2"; }
for file in "$outside/s.c" "$PWD/link.c" "$PWD/.hidden/s.c" "$PWD/../${outside#/tmp/}/s.c" "/proc/self/root$outside/s.c" link.c \
    ../../../../../../../..$outside/s.c .hidden/s.c; do
    source_profile "$file" >source.pb
    start url "$PITOT" serve --no-browser source.pb
    shown "$file" 0
    grep -q 'no source: .*--source-path=FOLDER shows' body || fail "$file: it does not say what shows it"
    kill "$pid"
done
expect_equal 'on a terminal' "$(source_profile "$outside/s.c" >source.pb && pitot list leaf source.pb 2>/dev/null | grep -c secret)" 1
start url "$PITOT" serve --no-browser --source-path="$outside" source.pb
shown 'with its folder' 1
start url "$PITOT" pprof -http=localhost: -no_browser source.pb
shown 'pprof' 0
start url "$PITOT" pprof -http=localhost: -no_browser -source_path="$outside" source.pb
shown 'pprof with its folder' 1
for file in here.c "$PWD/here.c"; do
    source_profile "$file" >source.pb
    start url "$PITOT" serve --no-browser source.pb
    shown "$file" 1
done

it 'shows the source that the debug information of a program names'
if needs gcc nm; then
    printf 'int leaf(int n)\n{\n    return n * 3; /* int secret */\n}\nint main(int c, char **v)\n{\n    return leaf(c);\n}\n' >"$outside/prog.c"
    gcc -g -O0 -no-pie -fno-pie -o prog "$outside/prog.c"
    python3 - "$PWD/prog" "$(nm prog | awk '$3 == "leaf" { print $1 }')" <<'P' >named.pb
import sys
def varint(n):
    out = b''
    while n >= 0x80:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])
def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value
strings = ['', 'samples', 'count', sys.argv[1]]
at = int(sys.argv[2], 16) + 8
p = field(1, field(1, 1) + field(2, 2)) + field(2, field(1, b'\1') + field(2, b'\7'))
p += field(3, field(1, 1) + field(2, 0x401000) + field(3, 0x402000) + field(4, 0x1000) + field(5, 3))
p += field(4, field(1, 1) + field(2, 1) + field(3, at))
sys.stdout.buffer.write(p + b''.join(field(6, s.encode()) for s in strings))
P
    start url "$PITOT" serve --no-browser named.pb
    shown 'a source' 1
fi

it 'begins with what the command line asks for'
start url "$PITOT" serve --no-browser --focus='parse|read' --no-inlines --recursion=all --base=older.folded a.folded
get / -D headers
expect_equal place "$(tr -d '\r' <headers | sed -n 's/^Location: //p')" \
    '/ui/?f=parse%7Cread&recursion=all&noinlines=t'
get '/api/top?json=1&f=read'
expect_equal 'a difference' "$(tr -d ' \n' <body | grep -o '"name":"read"[^}]*"self":[0-9]*' |
    grep -o '[0-9]*$')" 200
get '/api/diff?json=1&f=read&noinlines=t'
"$PITOT" diff --json --focus=read --no-inlines older.folded a.folded >diff.json
expect cmp diff.json body
get '/api/flame?f=read'
"$PITOT" flame --focus=read --base=older.folded a.folded -o flame.json >/dev/null
expect grep -q '"total_base":' body
expect_equal boxes "$(sed 's/.*"nodes"/nodes/' body)" "$(sed 's/.*"nodes"/nodes/' flame.json)"

it 'takes the address it is told, and says when it cannot'
port=${url##*:}
run "$PITOT" serve --no-browser --http="localhost:$port" a.folded
expect_status 1
expect_stderr_line "pitot: listen on localhost:$port: Address already in use"
run "$PITOT" serve --no-browser --http=:70000 a.folded
expect_status 2
run "$PITOT" serve --no-browser --http=::1:80 a.folded
expect_status 2
expect_stderr_line '*an IPv6 address needs brackets'

it 'is on loopback where nobody knows the name localhost'
if ! unshare -m mount --bind /dev/null /etc/hosts 2>/dev/null; then
    skip 'another /etc/hosts cannot be mounted here'
else
    start url unshare -m sh -c 'for file in hosts nsswitch.conf resolv.conf; do mount --bind /dev/null /etc/$file; done 2>/dev/null
        exec "$@"' unnamed "$PITOT" serve --no-browser a.folded
    url=http://127.0.0.1:${url##*:}
    get /api/top
    expect_equal 'the answer' "$code" 200
fi

it 'opens a browser at the address, and lives on'
cat >browser <<'B'
#!/bin/sh
echo "$1" >opened.tmp && mv opened.tmp opened
B
chmod +x browser
BROWSER=$PWD/browser start url "$PITOT" serve a.folded
eventually [ -e opened ]
expect grep -qF "$url/?t=$token" "$(cat opened)"
get /api/top
expect_equal code "$code" 200

it 'is the page of pprof -http, with its options'
start url "$PITOT" pprof -http=localhost: -no_browser -focus=parse -lines -nodecount=5 a.folded
expect_equal 'what it says' "$(sed 's/:[0-9][0-9]*/:PORT/; s/t=[0-9a-f]\{32\}$/t=TOKEN/' said.url | tail -n 1)" \
    'Serving web UI on http://localhost:PORT/?t=TOKEN'
get / -D headers
expect_equal place "$(tr -d '\r' <headers | sed -n 's/^Location: //p')" '/ui/?f=parse'
get '/api/top?f=read'
expect grep -q '  read' body
get /ui/download
expect_equal download "$code" 200
kill -INT "$pid"
wait "$pid"
expect_equal SIGINT $? 0

it 'refuses options of pprof that a page cannot keep'
run "$PITOT" pprof -http=localhost: -no_browser -mean a.folded
expect_status 2
expect_stderr_line '-http: its pages do not take -mean; *'
run "$PITOT" pprof -http=localhost: -top a.folded
expect_status 2
expect_stderr_line '-http is not compatible with an output format on the command line'

it 'leaves who takes nothing of an answer for 30 s'
expect_equal 'that client was heard' "$heard" yes
expect eventually has_none
kill "$stalled"
wait "$stalled" 2>/dev/null || :
stalled=
