#!/bin/bash
# Debug files from elsewhere: debuginfod on the loopback interface (elfutils' own server where it is
# installed, else a file server), perf's cache, a process's own root.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

command -v g++ >/dev/null || skip_all 'g++ is not installed'
command -v python3 >/dev/null || skip_all 'python3 is not installed'

cat >part.cc <<'END'
__attribute__((noinline)) int work(int x) { return x * 3; }
int main(int argc, char **) { return work(argc); }
END
g++ -g -O1 -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 part.cc -o prog
at=0x$(nm -C prog | awk '$3 == "work(int)" { print $1 }')
id=00112233445566778899aabbccddeeff00112233
mkdir -p "files/buildid/$id"
cp prog "files/buildid/$id/executable"
objcopy --only-keep-debug prog "files/buildid/$id/debuginfo"
mkdir -p "files/buildid/$id/source/src"
echo 'the source' >"files/buildid/$id/source/src/a b#.c"
strip prog

# A file server that counts what it is asked, and waits where it is told to.
cat >serve.py <<'END'
import functools, http.server, os, sys, time
class handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        with open('requests', 'a') as f:
            f.write(self.path + ' ' + self.headers.get('User-Agent', '') + '\n')
        if os.path.exists('slow'):
            time.sleep(3)
        super().do_GET()
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(
    ('127.0.0.1', 0), functools.partial(handler, directory='files'))
with open('port.part', 'w') as f:
    f.write(str(server.server_port))
os.rename('port.part', 'port')
server.serve_forever()
END
python3 serve.py &
server=$!
trap 'kill $server 2>/dev/null; t_end' EXIT
eventually [ -e port ] || skip_all 'no server could be started'
url=http://127.0.0.1:$(cat port)
kept=$HOME/.cache/debuginfod_client

if ! pitot version --features | grep -q '^servers.*libcurl [0-9]'; then
    skip_all 'built without libcurl, or it is not installed'
fi
: >requests

# expect_no_complaint: nothing is said, but that a download takes long where it does.
expect_no_complaint() {
    sed -i '/^pitot: fetching debuginfo of /d' "$t_out/stderr"
    expect_no_stderr
}

it 'asks nobody when DEBUGINFOD_URLS is not set'
run pitot symbolize --no-cache -e prog -p "$at"
expect_stdout_line '*?? at ??:0:0'
expect test ! -s requests

it 'asks nobody with --no-debuginfod'
DEBUGINFOD_URLS=$url run pitot symbolize --no-debuginfod --no-cache -e prog -p "$at"
expect_stdout_line '*?? at ??:0:0'
expect test ! -s requests

it 'fetches the debug file of a stripped program, and keeps it where elfutils does'
DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e prog -p "$at"
expect_stdout_line 'work(int) at *part.cc:1:*'
expect_no_complaint
expect test -s "$kept/$id/debuginfo"
expect_equal 'the request' "$(sed 's/ .*//' requests)" "/buildid/$id/debuginfo"
expect grep -q 'pitot/' requests

it 'asks once: the next time the kept file is used'
: >requests
DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e prog -p "$at"
expect_stdout_line 'work(int) at *part.cc:1:*'
expect test ! -s requests

it 'finds what debuginfod-find fetched, and the other way round'
if needs debuginfod-find; then
    rm -rf "$kept"
    DEBUGINFOD_URLS=$url debuginfod-find debuginfo "$id" >found 2>/dev/null
    : >requests
    DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e prog -p "$at"
    expect_stdout_line 'work(int) at *part.cc:1:*'
    expect test ! -s requests
    rm -rf "$kept"
    DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e prog -p "$at"
    : >requests
    DEBUGINFOD_URLS=$url debuginfod-find debuginfo "$id" >found.again 2>/dev/null
    expect_same found.again found
    expect test ! -s requests
fi

it 'remembers for a while that no server has a file'
g++ -O1 -s -Wl,--build-id=0xffffffffffffffffffffffffffffffffffffffff part.cc -o other
: >requests
DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e other -p 0x10
DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e other -p 0x10
expect_equal 'requests' "$(wc -l <requests)" 1
expect_no_complaint

it 'asks again when the time is over'
echo 0 >"$kept/cache_miss_s"
touch -d '1 minute ago' "$kept"/ffff*/debuginfo
: >requests
DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e other -p 0x10
expect_equal 'requests' "$(wc -l <requests)" 1
rm "$kept/cache_miss_s"

it 'uses no file with another build id, and names both'
mkdir -p "files/buildid/eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
cp "files/buildid/$id/debuginfo" files/buildid/eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee/debuginfo
g++ -O1 -s -Wl,--build-id=0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee part.cc -o other
DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e other -p "$at"
expect_stdout_line '*?? at ??:0:0'
expect_stderr_has "has build id $id"
expect_stderr_has 'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

it 'says which server cannot be reached, and asks the next one'
rm -rf "$kept"
DEBUGINFOD_URLS="http://127.0.0.1:1 $url/" run pitot symbolize --no-cache -e prog -p "$at"
expect_stdout_line 'work(int) at *part.cc:1:*'
DEBUGINFOD_URLS="http://127.0.0.1:1" run pitot symbolize --no-cache --debug-path=/nowhere -e other -p 0x10
expect_status 0
expect_stderr_line 'pitot: 1 debug file not fetched: http://127.0.0.1:1:*'

it 'fetches nothing larger than DEBUGINFOD_MAXSIZE'
rm -rf "$kept"
DEBUGINFOD_MAXSIZE=100 DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e prog -p "$at"
expect_stdout_line '*?? at ??:0:0'
expect_stderr_has 'exceeds the size limit (DEBUGINFOD_MAXSIZE)'

it 'says what it waits for when a download takes long'
rm -rf "$kept"
: >slow
DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e prog -p "$at"
rm slow
expect_stdout_line 'work(int) at *part.cc:1:*'
expect_stderr "pitot: fetching debuginfo of prog from $url (DEBUGINFOD_URLS= prevents this)"

it 'gives up a server that lets the time pass'
rm -rf "$kept"
: >slow
DEBUGINFOD_TIMEOUT=1 DEBUGINFOD_URLS=$url run pitot symbolize --no-cache -e prog -p "$at"
rm slow
expect_status 0
expect_stdout_line '*?? at ??:0:0'
expect_stderr_has 'debug file not fetched'

it "finds debug files in perf's cache"
rm -rf "$kept"
mkdir -p ".debug/.build-id/${id:0:2}" ".debug/prog/$id"
ln -s "../../prog/$id" ".debug/.build-id/${id:0:2}/${id:2}"
cp "files/buildid/$id/debuginfo" ".debug/prog/$id/debug"
run pitot symbolize --no-cache -e prog -p "$at"
expect_stdout_line 'work(int) at *part.cc:1:*'
rm -r .debug

# A gperftools profile of one sample at `work`, with the maps line that puts prog there.
cat >sample.py <<'END'
import os, struct, sys
addr = int(sys.argv[1], 16)
base, page = 0x555555554000, addr & ~0xfff
words = [0, 3, 0, 10000, 0, 1, 1, base + addr, 0, 1, 0]
sys.stdout.buffer.write(struct.pack(f'<{len(words)}Q', *words))
sys.stdout.write(f'{base + page:x}-{base + page + 0x1000:x} r-xp {page:08x} 00:00 0 '
                 f'{os.getcwd()}/prog\n')
END
python3 sample.py "$at" >sample.prof

it "names functions for pprof, too, by debuginfod and by perf's cache, and without them none"
rm -rf "$kept"
run pitot pprof -top sample.prof
expect_no_stdout_line '*work*'
DEBUGINFOD_URLS=$url run pitot pprof -top sample.prof
expect_stdout_line '*100% *100%  work'
rm -rf "$kept"
mkdir -p ".debug/.build-id/${id:0:2}" ".debug/prog/$id"
ln -s "../../prog/$id" ".debug/.build-id/${id:0:2}/${id:2}"
cp "files/buildid/$id/debuginfo" ".debug/prog/$id/debug"
run pitot pprof -top sample.prof
expect_stdout_line '*100% *100%  work'
rm -r .debug

it 'takes the program that was named, whatever lies in the binary folders'
mkdir binaries
cp "files/buildid/$id/executable" binaries/prog
run pitot symbolize --no-cache --binary-path=binaries -e prog -p "$at"
expect_stdout_line '*?? at ??:0:0'

it 'finds a debug file by build id in PPROF_BINARY_PATH, as google/pprof does'
mkdir -p "paths/${id:0:2}"
cp "files/buildid/$id/debuginfo" "paths/${id:0:2}/${id:2}.debug"
PPROF_BINARY_PATH=/nowhere:$PWD/paths run pitot symbolize --no-cache -e prog -p "$at"
expect_stdout_line 'work(int) at *part.cc:1:*'

it 'fetches the source of a function for list, by the name that debug information gives it'
if [ "$PITOT_SANITIZED" = 0 ]; then
    cat >busy.cc <<'END'
volatile unsigned sum;
__attribute__((noinline)) void spin(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sum = sum * 31 + i; // the line where the time goes
}
int main() { spin(100000000); }
END
    busy=2233445566778899aabbccddeeff001122334455
    g++ -g -O1 -Wl,--build-id=0x$busy -fdebug-prefix-map="$PWD=/gone away" busy.cc -o busy
    mkdir -p "files/buildid/$busy/source/gone away"
    mv busy.cc "files/buildid/$busy/source/gone away/busy.cc"
    pitot record -o busy.pb.gz -- ./busy 2>/dev/null
    : >requests
    DEBUGINFOD_URLS=$url run pitot list spin busy.pb.gz
    expect_status 0
    expect_stdout_has 'the line where the time goes'
    expect grep -q "/buildid/$busy/source/gone%20away/busy.cc" requests
    expect test -s "$kept/$busy/source##gone away##busy.cc"
else
    skip 'nothing is recorded under the sanitizers'
fi
