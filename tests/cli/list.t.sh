# list.t.sh: source lines with their values, and Go pprof's bytes for the same profile.
. "$(dirname "$0")/lib.sh"

source_file() {
    printf '%s\n' 'int fib(int n)' '{' '    if (n < 2)' '        return n;' \
        '    return fib(n - 1) + fib(n - 2);' '}' '' 'int main(void)' '{' \
        '    return fib(33) == 0;' '}' >fib.c
}


it 'shows each line with its self and total'
source_file
needs gcc python3 && {
    gcc -g -O0 -o fib fib.c
    run pitot record -o fib.pb.gz -- ./fib
    run pitot list '^fib$' fib.pb.gz
    expect_status 0
    expect_stdout_line '*fib  */fib.c'
    expect_stdout_line '* 3      if (n < 2)'
    expect_stdout_line '* 5      return fib(n - 1) + fib(n - 2);'
}

it 'adds up: self of the lines is self of the function, and its line of the call has main'"'"'s total'
needs gcc python3 && {
    run pitot list . --json -n 0 fib.pb.gz
    stdout >list.json
    expect python3 - <<'P'
import json
r = json.load(open('list.json'))
assert r['schema'] == 1 and r['report'] == 'list'
f = {x['name']: x for x in r['functions']}
assert f['fib']['self'] == sum(l['self'] for l in f['fib']['lines'])
call = [l for l in f['main']['lines'] if l['calls']]
assert len(call) == 1 and call[0]['line'] == 10 and call[0]['text'] == '    return fib(33) == 0;'
assert call[0]['calls'][0] == {'name': 'fib', 'value': call[0]['total'], 'inlined': False}
P
}

it 'shows lines by number when the source is gone, and finds it elsewhere'
needs gcc && {
    mkdir -p moved/deep
    mv fib.c moved/
    run pitot list '^fib$' fib.pb.gz
    expect_status 0
    expect_stdout_line '*no source: could not find file fib.c on path *'
    expect_no_stdout_line '*return fib*'
    run pitot list '^fib$' --trim-path="$PWD" --source-path="$PWD/moved/deep" fib.pb.gz
    expect_stdout_line '*return fib*'
    mv moved/fib.c .
}

it 'says when the source was changed after the profile was taken'
needs gcc && {
    touch -d '+1 day' fib.c
    run pitot list '^fib$' fib.pb.gz
    expect_stdout_line '* the file is newer than the profile: lines may have moved'
}

# A server of one file: /buildid/ID/source/PATH.
serve() {
    python3 - "$1" >port <<'P' &
import http.server, sys, urllib.parse
path = sys.argv[1]
class One(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urllib.parse.unquote(self.path)
        found = asked.startswith('/buildid/') and asked.endswith('/source' + path)
        body = open('kept.c', 'rb').read() if found else b''
        self.send_response(200 if found else 404)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a):
        pass
server = http.server.HTTPServer(('127.0.0.1', 0), One)
print(server.server_port, flush=True)
server.serve_forever()
P
    server=$!
    eventually [ -s port ]
}

it 'asks debuginfod for a source that is nowhere here'
if needs gcc python3; then
    pitot version --features | grep -q '^servers  *libcurl [0-9]' || skip 'built without libcurl'
    mkdir -p empty && mv fib.c kept.c
    serve "$PWD/fib.c"
    DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) run pitot list '^fib$' --source-path="$PWD/empty" \
        fib.pb.gz
    kill "$server"
    expect_status 0
    expect_stdout_line '*return fib(n - 1) + fib(n - 2);'
    mv kept.c fib.c
fi

it 'has CSV with a row a line that has a value'
needs gcc && {
    run pitot list '^fib$' --csv fib.pb.gz
    expect_stdout_line 'function,file,line,self,self_share,total,total_share,text'
    expect_stdout_line 'fib,*/fib.c,5,*'
}

it 'says when nothing matches, and what is near'
needs gcc && {
    run pitot list fub fib.pb.gz
    expect_status 3
    expect_stderr_line '*matches no function or source file*near: fib*'
}

it 'asks for the pattern when it is missing'
run pitot list
expect_status 2
expect_stderr_line '*name a function*'

it 'refuses a pattern that is none'
needs gcc && {
    run pitot list '(' fib.pb.gz
    expect_status 2
}

it 'is called annotate too'
needs gcc && {
    run pitot annotate '^fib$' fib.pb.gz
    expect_status 0
}

it 'opens no FIFO and no device that a profile calls a source file or a library'
if needs python3; then
    mkfifo wait.c wait.so
    for place in "$PWD/wait.c" "$PWD/wait.so" /dev/zero; do
        python3 "$PITOT_ROOT/tests/cli/hostile_profile.py" "$place" >names.pb
        for report in 'list .' 'weblist . -o page.html' 'disasm .' top 'pprof -list=.' 'pprof -disasm=.' info; do
            # shellcheck disable=SC2086
            run timeout -s KILL 300 "$PITOT" $report names.pb
            [ "$status" -lt 5 ] || fail "$report $place: status $status"
        done
    done
fi
