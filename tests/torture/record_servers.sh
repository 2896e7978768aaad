#!/usr/bin/env bash
# Servers and interpreters as their packages ship them, recorded from outside under bounded load on
# loopback: nearly all stacks are whole, what has symbols is named, and threads that run a language have its functions.
. "$(dirname "$0")/../cli/lib.sh"

run pitot record --engine=perf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no perf events here: $(stderr | tail -n 1)"
needs python3 || skip_all 'python3 is not installed'
engine=bpf
pitot record --engine=bpf -o probe.pb.gz true 2>probe || engine=perf
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

# load PORT: clients of HTTP, until they are ended
load() {
    if command -v ab >probe; then
        start ab -q -k -n 1000000 -c 8 "http://127.0.0.1:$1/"
    else
        start python3 load.py "$1" 100000
    fi
}

# whole PROFILE [LEAST]: what the recorder said, and what the judge finds. LEAST per cent of the stacks that a BPF program
# walks must be complete; without it, 99.5 by rules or by unchecked frame pointers, which reach where their thread began, too.
# How many these are is printed.
whole() {
    expect_status 0
    local said samples least=${2:-}
    [ $engine = bpf ] || least=
    said=$(stderr | sed -n 's/.* seen, \([0-9.]* % of the stacks complete.*\); next: .*/\1/p')
    samples=$(stderr | sed -n 's/.*: \([0-9,]*\) samples, .*/\1/p' | tr -d ,)
    [ "${samples:-0}" -ge 200 ] || fail "only $samples samples: too little load to judge by"
    run pitot top --json -n 1 "$1"
    python3 - "$t_out/stdout" "$least" <<'PY' || fail "$said"
import json, sys
head = json.load(open(sys.argv[1]))['profile']
least = float(sys.argv[2] or 99.5) / 100
sys.exit(head['complete_share'] + head['unchecked_share'] * (sys.argv[2] == '') < least)
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
    run pitot record --engine=$engine -p redis-server -d 3s -o redis.pb.gz
    stop_all
    whole redis.pb.gz 99.9
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
    load $((port + 1))
    run pitot record --engine=$engine -F 2000 -p nginx -d 3s -o nginx.pb.gz
    stop_all
    whole nginx.pb.gz 99.9
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
    run pitot record --engine=$engine -p postgres -d 3s -o postgres.pb.gz
    stop_all
    whole postgres.pb.gz 99.9
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
    run pitot record --engine=$engine -p ${started[0]} -d 3s -o python.pb.gz
    stop_all
    whole python.pb.gz 99.9
fi

it 'ruby'
if needs ruby; then
    cat >work.rb <<'RB'
require 'json'
require 'digest'
require 'zlib'
loop do
  text = JSON.generate((0...50).to_h { |j| ["k#{j}", [j] * 5] })
  JSON.parse(text); text.scan(/"k(\d+)"/); Digest::SHA256.hexdigest(text); Zlib.deflate(text)
  text.chars.sort_by { |c| [c =~ /\d/ ? 1 : 0, c] }
end
RB
    start ruby work.rb
    run pitot record --engine=$engine -p ${started[0]} -d 3s -o ruby.pb.gz
    stop_all
    whole ruby.pb.gz 99.9
fi

it 'node'
if needs node; then
    cat >work.js <<'JS'
const z = require('zlib');
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
for (;;) { fib(24); const t = JSON.stringify([...Array(500).keys()].map(i => ({i, s: 'x' + i}))); JSON.parse(t); z.gzipSync(t); t.match(/x\d+/g).sort(); }
JS
    start node work.js
    run pitot record --engine=$engine -p ${started[0]} -d 3s -o node.pb.gz
    stop_all
    whole node.pb.gz
fi

# speaks PROFILE LANGUAGE: of the samples in threads that run the language, 99 % have its functions. Such a thread's stack has the
# native function that runs them. Only the BPF program reads functions of all languages but Java's.
speaks() {
    [ $engine = bpf ] || [ "$2" = Java ] || return
    pitot traces -n 0 --native --json "$1" >traces.json 2>/dev/null
    python3 - "$2" <<'PY' || fail 'too few samples have functions of the language'
import json, re, sys
runs, files = {'Java': (r'JavaCalls::call_helper$', r'.*\.java$'),
               'JavaScript': (r'Builtins_JSEntry$', r'.*\.js$|node:'),
               'PHP': (r'execute_ex$', r'.*\.php$'),
               'Python': (r'_PyEval_EvalFrameDefault$', r'.*\.py$|<'),
               'Ruby': (r'rb_vm_exec$', r'.*\.rb$|<internal:|\(')}[sys.argv[1]]
all = threads = named = 0
for trace in json.load(open('traces.json'))['traces']:
    frames = trace['frames']
    all += trace['records']
    if any(re.match(runs, f['name']) for f in frames):
        threads += trace['records']
        named += trace['records'] * any(re.match(files, f['file']) for f in frames)
print('# %s functions in %d of %d samples of its threads; %d samples in all' % (sys.argv[1], named, threads, all))
sys.exit(threads < 200 or named < 0.99 * threads)
PY
}

# judge_service NAME LANGUAGE [LEAST [OPTION...]]: records the process that was started first for five seconds, ends all, and
# judges the recording NAME.pb.gz.
judge_service() {
    local profile=$1.pb.gz language=$2 least=${3:-}
    shift $(($# < 3 ? $# : 3))
    run pitot record --engine=$engine "$@" -p ${started[0]} -d 5s -o "$profile"
    stop_all
    whole "$profile" $least
    speaks "$profile" "$language"
}

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
    load $((port + 4))
    run pitot record --engine=$engine -p ${started[0]} -d 10s -o java.pb.gz
    stop_all
    whole java.pb.gz
    speaks java.pb.gz Java
fi

it 'the same by the library'
if needs java; then
    start pitot record --engine=preload -F 1000 -o java-own.pb.gz java Server.java $((port + 5)) 15
    listening $((port + 5))
    load $((port + 5))
    wait "${started[0]}"
    status=$?
    cp server-said "$t_out/stderr"
    stop_all
    whole java-own.pb.gz
    speaks java-own.pb.gz Java
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
    load $((port + 6))
    judge_service node-server JavaScript
fi

it 'a site of Django'
if ! $python -c 'import django' 2>probe; then
    skip 'Django is not installed'
else
    cat >pages.py <<'PY'
import json
import sys
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse
from django.template import Context, Template
from django.urls import path

settings.configure(ALLOWED_HOSTS=['*'], ROOT_URLCONF=__name__, SECRET_KEY='x', DEBUG=False, LOGGING_CONFIG=None, USE_TZ=False,
                   TEMPLATES=[{'BACKEND': 'django.template.backends.django.DjangoTemplates'}],
                   MIDDLEWARE=['django.middleware.common.CommonMiddleware', 'django.middleware.security.SecurityMiddleware'])
TEXT = '{% for row in rows %}<p>{{ row.name|upper }}: {{ row.size|filesizeformat }} {% if row.ok %}{{ row.tags|join:", " }}{% endif %}</p>{% endfor %}'


def index(request):
    rows = [{'name': 'r%d' % i, 'size': i * 777, 'ok': i % 2, 'tags': ['a', 'b<']} for i in range(60)]
    page = Template(TEXT).render(Context({'rows': rows}))
    return HttpResponse(page + '<pre>' + json.dumps(rows) + '</pre>')


urlpatterns = [path('', index)]
execute_from_command_line(['site', 'runserver', '--noreload', '127.0.0.1:' + sys.argv[1]])
PY
    start $python -W ignore pages.py $((port + 7))
    listening $((port + 7))
    start python3 load.py $((port + 7)) 100000
    judge_service django Python 99.9
fi

it 'a server with asyncio'
if [ -x $python ]; then
    cat >server.py <<'PY'
import asyncio
import json
import sys


async def step(n):
    await asyncio.sleep(0)
    return {str(i): sorted([i * n % 7, i, n]) for i in range(20)}


async def answer(reader, writer):
    try:
        while True:
            await reader.readuntil(b'\r\n\r\n')
            body = json.dumps(await asyncio.gather(*(step(n) for n in range(20)))).encode()
            writer.write(b'HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    async with await asyncio.start_server(answer, '127.0.0.1', int(sys.argv[1])) as server:
        await server.serve_forever()


asyncio.run(main())
PY
    start $python server.py $((port + 8))
    listening $((port + 8))
    load $((port + 8))
    judge_service asyncio Python 99.9
fi

it 'a program with numpy'
if ! $python -c 'import numpy' 2>probe; then
    skip 'numpy is not installed'
else
    cat >arrays.py <<'PY'
import threading
import numpy as np


def solve(size):
    random = np.random.default_rng(size)
    while True:
        a = random.random((size, size))
        np.linalg.svd(a), np.fft.fft2(a), np.sort(a, axis=0), np.einsum('ij,jk', a, a)
        np.vectorize(lambda x: x * 2 if x > 0.5 else -x)(a[:20])


threading.Thread(target=solve, args=(60,)).start()
solve(150)
PY
    start $python arrays.py
    judge_service numpy Python 99.9
fi

it 'PHP-FPM behind nginx'
fpm=$(compgen -c php-fpm | head -n 1)
if [ -z "$fpm" ]; then
    skip 'php-fpm is not installed'
elif needs nginx; then
    mkdir -p php
    chmod 755 . php
    cat >php/index.php <<'PHP'
<?php
class Row
{
    public function __construct(private string $name, private int $size) {}
    public function show(): string { return sprintf('<p>%s: %d</p>', htmlspecialchars(strtoupper($this->name)), $this->size); }
}
function rows(int $count): array
{
    return array_map(fn($i) => new Row("r<$i>", $i * 777), range(1, $count));
}
$rows = rows(300);
usort($rows, fn($a, $b) => strcmp($b->show(), $a->show()));
foreach ($rows as $row) echo preg_replace('/\d(\d)/', '$1', $row->show());
echo json_encode(array_map(fn($row) => ['text' => $row->show()], $rows));
PHP
    cat >fpm.conf <<CONF
[global]
daemonize = no
error_log = $PWD/fpm.log
[www]
user = nobody
group = nogroup
listen = 127.0.0.1:$((port + 9))
pm = static
pm.max_children = 2
CONF
    cat >nginx-php.conf <<CONF
worker_processes 1; pid $PWD/nginx.pid; error_log $PWD/error.log; daemon off;
events { worker_connections 64; }
http { access_log off; keepalive_requests 1000000; client_body_temp_path $PWD/b; proxy_temp_path $PWD/p;
fastcgi_temp_path $PWD/f; uwsgi_temp_path $PWD/u; scgi_temp_path $PWD/s;
server { listen 127.0.0.1:$((port + 10)); location / { fastcgi_pass 127.0.0.1:$((port + 9));
fastcgi_param SCRIPT_FILENAME $PWD/php/index.php; fastcgi_param REQUEST_METHOD \$request_method; } } }
CONF
    start "$fpm" -n -y "$PWD/fpm.conf"
    listening $((port + 9))
    start nginx -c "$PWD/nginx-php.conf" -e "$PWD/error.log"
    listening $((port + 10))
    load $((port + 10))
    # The code of regular expressions that PCRE2 compiles has neither rules nor frame pointers.
    judge_service fpm PHP 98 --children
fi

it 'a site of Sinatra'
if ! ruby -e 'require "sinatra/base"; require "webrick"' 2>probe; then
    skip 'Sinatra is not installed'
else
    cat >site.rb <<'RB'
require 'sinatra/base'
require 'json'
class Site < Sinatra::Base
  set :environment, :production
  set :server, :webrick
  set :port, Integer(ARGV[0])
  set :bind, '127.0.0.1'
  set :server_settings, AccessLog: []
  Row = Struct.new(:name, :size) { def show = format('<p>%s: %d</p>', name.upcase, size) }
  helpers { def rows = (1..80).map { |i| Row.new("r#{i}", i * 777) } }
  get('/') { erb('<% rows.each do |row| %><%= row.show.gsub(/\d(\d)/) { $1 } %><% end %><%= rows.map(&:to_h).to_json %>') }
end
Site.run!
RB
    start ruby site.rb $((port + 11))
    listening $((port + 11))
    load $((port + 11))
    judge_service sinatra Ruby 99.9
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
    load $((port + 3))
    run pitot record --engine=$engine -p goserver -d 3s -o go.pb.gz
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
    run pitot record --engine=$engine -p musl-static -d 3s -o musl.pb.gz
    stop_all
    whole musl.pb.gz 99.9
fi
