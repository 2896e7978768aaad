#!/usr/bin/env bash
# pitot serve, and pprof -http: the page and its reports over HTTP, on loopback.
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

# shellcheck disable=SC2254 # the third is a pattern
matches() { case $2 in $3) ;; *) fail "$1 is '$2', not like '$3'" ;; esac; }

# start NAME COMMAND...: a server; its address goes to the variable NAME, its pid to $pid.
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
    printf -v "$name" '%s' "$said"
}
stop_servers() {
    local ended=$?
    for server in "${servers[@]}"; do kill "$server" 2>/dev/null; done
    (exit $ended)
    t_end
}
trap stop_servers EXIT

# get PATH [OPTION...]: $code, $type, and the body in the file "body".
get() {
    local path=$1
    shift
    read -r code type < <(curl -s -o body -w '%{http_code} %{content_type}\n' "$@" "$url$path")
}

start url "$PITOT" serve --no-browser a.folded
first=$pid

it 'says where it serves, on this machine alone'
matches 'the address' "$url" 'http://localhost:[0-9]*'
expect_equal 'what it says' "$(sed 's/:[0-9][0-9]* /:PORT /' said.url)" \
    'pitot: http://localhost:PORT shows it; Ctrl-C ends'

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

it 'says what is wrong in words, and stays'
get '/api/top?focsu=a'
expect_equal 'a parameter' "$code $(cat body)" "400 'focsu' is no parameter of any view"
get '/api/top?f=('
expect_equal 'a pattern' "$code" 400
get '/api/top?f=nothing'
expect_equal 'no match' "$code $(head -n 1 body)" \
    '404 --focus=nothing matches no function, source file or mapped file'
get /api/peek
expect_equal 'no pattern' "$code $(cat body)" '400 Which functions? Name them: p=PATTERN'
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
get /api/top -X POST
expect_equal 'a POST' "$code" 405
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

it 'begins with what the command line asks for'
start url "$PITOT" serve --no-browser --focus='parse|read' --no-inlines --base=older.folded a.folded
get / -D headers
expect_equal place "$(tr -d '\r' <headers | sed -n 's/^Location: //p')" \
    '/ui/?f=parse%7Cread&noinlines=t'
get '/api/top?json=1&f=read'
expect_equal 'a difference' "$(tr -d ' \n' <body | grep -o '"name":"read"[^}]*"self":[0-9]*' |
    grep -o '[0-9]*$')" 200

it 'takes the address it is told, and says when it cannot'
port=${url##*:}
run "$PITOT" serve --no-browser --http="localhost:$port" a.folded
expect_status 1
expect_stderr_line "pitot: listen on localhost:$port: Address already in use"
run "$PITOT" serve --no-browser --http=:70000 a.folded
expect_status 2
run "$PITOT" serve --no-browser --http=::1:80 a.folded
expect_status 2
expect_stderr_line '*an IPv6 address stands in brackets'

it 'opens a browser at the address, and lives on'
cat >browser <<'B'
#!/bin/sh
echo "$1" >opened.tmp && mv opened.tmp opened
B
chmod +x browser
BROWSER=$PWD/browser start url "$PITOT" serve a.folded
eventually [ -e opened ]
expect_equal 'opened' "$(cat opened)" "$url"
get /api/top
expect_equal code "$code" 200

it 'is the page of pprof -http, with its options'
start url "$PITOT" pprof -http=localhost: -no_browser -focus=parse -lines -nodecount=5 a.folded
expect_equal 'what it says' "$(sed 's/:[0-9]*$/:PORT/' said.url | tail -n 1)" \
    'Serving web UI on http://localhost:PORT'
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
