#!/usr/bin/env bash
# Servers and interpreters as their packages ship them, recorded from outside under bounded load on
# loopback: nearly all stacks are whole, and what has symbols is named.
. "$(dirname "$0")/../cli/lib.sh"

run pitot record --engine=perf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no perf events here: $(stderr | tail -n 1)"
needs python3 || skip_all 'python3 is not installed'
port=$((20000 + RANDOM % 20000))
started=()
stop_all() {
    [ ${#started[@]} = 0 ] || kill "${started[@]}" 2>/dev/null
    wait "${started[@]}" 2>/dev/null
    started=()
}
start() {
    "$@" >server-said 2>&1 &
    started+=($!)
}
# until something listens there
listening() {
    for _ in $(seq 300); do
        python3 -c "import socket; socket.create_connection(('127.0.0.1', $1), 1)" 2>/dev/null && return
        sleep 0.1
    done
    fail "nothing listens: $(tail -n 3 server-said)"
}

# A client of HTTP: N requests on each of 4 connections that stay.
cat >load.py <<'PY'
import socket, sys, threading
port, count = int(sys.argv[1]), int(sys.argv[2])
def client():
    s = socket.create_connection(('127.0.0.1', port))
    for _ in range(count):
        s.sendall(b'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
        got = b''
        while b'\r\n\r\n' not in got:
            more = s.recv(65536)
            if not more: return
            got += more
        head, body = got.split(b'\r\n\r\n', 1)
        for line in head.split(b'\r\n'):
            if line.lower().startswith(b'content-length:'):
                left = int(line.split(b':')[1]) - len(body)
        while left > 0:
            left -= len(s.recv(65536))
threads = [threading.Thread(target=client) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
PY

# whole PROFILE: what the recorder said, and what the judge finds. A stack by unchecked frame pointers
# reaches where its thread began, too: it is whole, and how many there are is printed.
whole() {
    expect_status 0
    local said samples
    said=$(stderr | sed -n 's/.* seen, \([0-9.]* % of the stacks complete.*\); next: .*/\1/p')
    samples=$(stderr | sed -n 's/.*: \([0-9,]*\) samples, .*/\1/p' | tr -d ,)
    [ "${samples:-0}" -ge 200 ] || fail "only $samples samples: too little load to judge by"
    run pitot top --json -n 1 "$1"
    python3 - "$t_out/stdout" <<'PY' || fail "$said"
import json, sys
head = json.load(open(sys.argv[1]))['profile']
sys.exit(head['complete_share'] + head['unchecked_share'] < 0.995)
PY
    local facts
    facts=$(python3 "$PITOT_ROOT/tests/torture/record_names.py" "$PITOT" "$1") || fail "$facts"
    echo "# $t_name: $samples samples, $said, $facts"
}

it 'redis-server'
if needs redis-server redis-benchmark; then
    start redis-server --port $port --save '' --dir "$PWD"
    listening $port
    start redis-benchmark -p $port -q -n 2000000 -t get,set,lrange_100,incr
    run pitot record -p redis-server -d 3s -o redis.pb.gz
    stop_all
    whole redis.pb.gz
fi

it 'nginx'
if needs nginx; then
    mkdir -p html
    head -c 20000 /dev/urandom | base64 >html/index.html
    cat >nginx.conf <<CONF
worker_processes 2; pid $PWD/nginx.pid; error_log $PWD/error.log; daemon off;
events { worker_connections 64; }
http { access_log off; keepalive_requests 1000000; gzip on; client_body_temp_path $PWD/b; proxy_temp_path $PWD/p;
fastcgi_temp_path $PWD/f; uwsgi_temp_path $PWD/u; scgi_temp_path $PWD/s;
server { listen 127.0.0.1:$((port + 1)); root $PWD/html; } }
CONF
    chmod 755 . html
    start nginx -c "$PWD/nginx.conf" -e "$PWD/error.log"
    listening $((port + 1))
    start python3 load.py $((port + 1)) 100000
    run pitot record -F 2000 -p nginx -d 3s -o nginx.pb.gz
    stop_all
    whole nginx.pb.gz
fi

it 'postgres'
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
if [ -n "$bin" ] && needs pgbench; then
    as=()
    if [ "$(id -u)" = 0 ]; then
        as=(setpriv --reuid postgres --regid postgres --clear-groups env HOME=/tmp)
        chmod 711 . && mkdir pg && chown postgres pg
    else
        mkdir pg
    fi
    "${as[@]}" "$bin/initdb" -D "$PWD/pg/data" -A trust >server-said 2>&1
    start "${as[@]}" "$bin/postgres" -D "$PWD/pg/data" -p $((port + 2)) -k "$PWD/pg" -c fsync=off
    listening $((port + 2))
    "${as[@]}" pgbench -h 127.0.0.1 -p $((port + 2)) -i -s 2 postgres >/dev/null 2>&1
    start "${as[@]}" pgbench -h 127.0.0.1 -p $((port + 2)) -c 4 -S -T 20 postgres
    for _ in $(seq 100); do
        [ "$(pgrep -c -f '^postgres: .*127.0.0.1')" -lt 4 ] || break
        sleep 0.1
    done
    run pitot record -p postgres -d 3s -o postgres.pb.gz
    stop_all
    whole postgres.pb.gz
else
    [ -n "$t_skip" ] || skip 'postgresql is not installed'
fi

it 'python3'
python=/usr/bin/python3
if [ -x $python ]; then
    cat >work.py <<'PY'
import json, re, hashlib, zlib
for i in range(100000000):
    text = json.dumps({'k%d' % j: [j] * 5 for j in range(50)})
    json.loads(text); re.findall(r'"k(\d+)"', text); hashlib.sha256(text.encode()); zlib.compress(text.encode())
    sorted(text, key=lambda c: (c.isdigit(), c))
PY
    start $python work.py
    run pitot record -p ${started[0]} -d 3s -o python.pb.gz
    stop_all
    whole python.pb.gz
fi

it 'node'
if needs node; then
    cat >work.js <<'JS'
const z = require('zlib');
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
for (;;) { fib(24); const t = JSON.stringify([...Array(500).keys()].map(i => ({i, s: 'x' + i}))); JSON.parse(t); z.gzipSync(t); t.match(/x\d+/g).sort(); }
JS
    start node work.js
    run pitot record -p ${started[0]} -d 3s -o node.pb.gz
    stop_all
    whole node.pb.gz
fi

# speaks PROFILE LANGUAGE THREADS: of the samples in threads that run the language, 99 % have its functions. THREADS: native
# functions that such a thread's stack has, a regular expression.
speaks() {
    pitot traces -n 0 --native --json "$1" >traces.json 2>/dev/null
    python3 - "$2" "$3" <<'PY' || fail 'too few samples have functions of the language'
import json, re, sys
end, threads = {'Java': '.java', 'JavaScript': '.js'}[sys.argv[1]], re.compile(sys.argv[2])
all = named = 0
for trace in json.load(open('traces.json'))['traces']:
    frames = trace['frames']
    if any(threads.match(f['name']) for f in frames):
        all += trace['records']
        named += trace['records'] * any(f['file'].endswith(end) or f['file'].startswith('node:') for f in frames)
print('# %s functions in %d of %d samples of its threads' % (sys.argv[1], named, all))
sys.exit(all < 200 or named < 0.99 * all)
PY
}

# Java's methods are called by JavaCalls::call_helper, JavaScript's functions by Builtins_JSEntry.
cat >Server.java <<'JAVA'
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.*;

class Server {
    static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static String page() {
        Map<String, Long> all = new HashMap<>();
        for (int i = 0; i < 200; i++) all.put("k" + i, fib(i % 12));
        List<String> keys = new ArrayList<>(all.keySet());
        Collections.sort(keys);
        StringBuilder text = new StringBuilder();
        for (String k : keys) text.append(String.format("%s=%d;", k, all.get(k)));
        return text.toString();
    }
    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 0);
        server.setExecutor(java.util.concurrent.Executors.newFixedThreadPool(3));
        server.createContext("/", e -> {
            byte[] body = page().getBytes("UTF-8");
            e.sendResponseHeaders(200, body.length);
            e.getResponseBody().write(body);
            e.close();
        });
        server.start();
        if (args.length < 2) return;
        Thread.sleep(Integer.parseInt(args[1]) * 1000);
        System.exit(0);
    }
}
JAVA

it 'a server in Java'
if needs java; then
    start java Server.java $((port + 4))
    listening $((port + 4))
    start python3 load.py $((port + 4)) 100000
    run pitot record -p ${started[0]} -d 10s -o java.pb.gz
    stop_all
    whole java.pb.gz
    speaks java.pb.gz Java 'JavaCalls::call_helper$'
fi

it 'the same by the library'
if needs java; then
    start pitot record --engine=preload -F 1000 -o java-own.pb.gz java Server.java $((port + 5)) 15
    listening $((port + 5))
    start python3 load.py $((port + 5)) 100000
    wait "${started[0]}"
    status=$?
    cp server-said "$t_out/stderr"
    stop_all
    whole java-own.pb.gz
    speaks java-own.pb.gz Java 'JavaCalls::call_helper$'
fi

it 'a server in JavaScript'
if needs node; then
    cat >server.js <<'JS'
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
require('http').createServer((request, response) => {
  const all = {};
  for (let i = 0; i < 200; i++) all['k' + i] = fib(i % 12);
  const text = JSON.stringify(Object.entries(all).sort().map(([k, v]) => k + '=' + v));
  response.setHeader('Content-Length', text.length);
  response.end(text);
}).listen(Number(process.argv[2]), '127.0.0.1');
JS
    start node server.js $((port + 6))
    listening $((port + 6))
    start python3 load.py $((port + 6)) 100000
    run pitot record -p ${started[0]} -d 5s -o node-server.pb.gz
    stop_all
    whole node-server.pb.gz
    speaks node-server.pb.gz JavaScript 'Builtins_JSEntry$'
fi

it 'a stripped server in Go'
if needs go; then
    cat >server.go <<'GO'
package main

import ("crypto/sha256"; "encoding/json"; "fmt"; "net/http"; "os"; "sort")

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		m := map[string]int{}
		for i := 0; i < 200; i++ { m[fmt.Sprint(i)] = i }
		b, _ := json.Marshal(m)
		k := []string{}
		for s := range m { k = append(k, s) }
		sort.Strings(k)
		fmt.Fprintf(w, "%x %s", sha256.Sum256(b), b)
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
GO
    GO111MODULE=off GOCACHE=$PWD/cache CGO_ENABLED=0 go build -ldflags='-s -w' -o goserver server.go || fail 'go build'
    start ./goserver $((port + 3))
    listening $((port + 3))
    start python3 load.py $((port + 3)) 100000
    run pitot record -p goserver -d 3s -o go.pb.gz
    stop_all
    whole go.pb.gz
fi

it 'a static program with musl'
if needs musl-gcc; then
    cat >static.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
static int cmp(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
int main(void)
{
    char *v[1000];
    for (;;) {
        for (int i = 0; i < 1000; i++) { v[i] = malloc(32); snprintf(v[i], 32, "%d %f", rand(), sin(i)); }
        qsort(v, 1000, sizeof *v, cmp);
        for (int i = 0; i < 1000; i++) free(v[i]);
    }
}
C
    musl-gcc -O2 -static static.c -o musl-static -lm
    start ./musl-static
    run pitot record -p musl-static -d 3s -o musl.pb.gz
    stop_all
    whole musl.pb.gz
fi
