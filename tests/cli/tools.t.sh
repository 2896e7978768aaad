#!/usr/bin/env bash
# The tools that build and test pitot, tested on small trees made here.
. "$(dirname "$0")/lib.sh"

if [ "$PITOT_SANITIZED" = 1 ]; then
    skip_all 'the tools run no sanitized code'
fi

# --- check-layers

# tree: a source tree in ./tree with three layers; high may include low, free may include nothing.
tree() {
    rm -rf tree
    mkdir -p tree/tools tree/src/base tree/src/low tree/src/high tree/src/free
    printf '%s\n' '# comment' 'base :' 'free F :' 'low :' 'high : low' >tree/tools/layers.txt
    touch tree/src/{base/b,low/l,high/h,free/f}.h
}

# includes FILE LINE: adds an include to a file of the tree, and checks the tree.
includes() {
    echo "#include $2" >>"tree/src/$1"
    run "$PITOT_ROOT/tools/check-layers" tree
}

it 'check-layers allows a layer its own headers, those of its row, base and the system'
tree
printf '#include %s\n' '"high/h.h"' '"low/l.h"' '"base/b.h"' '<zlib.h>' >tree/src/high/x.c
run "$PITOT_ROOT/tools/check-layers" tree
expect_status 0
expect_no_stdout

it 'check-layers finds an include of a layer that is not in the row'
tree
includes low/l.h '"high/h.h"'
expect_status 1
expect_stdout 'src/low/l.h:1: "high/h.h": low may not include high (tools/layers.txt)'

it 'check-layers keeps base and libraries out of a freestanding layer'
tree
includes free/f.h '"base/b.h"'
expect_stdout 'src/free/f.h:1: "base/b.h": free may not include base (tools/layers.txt)'
tree
includes free/f.h '<zlib.h>'
expect_stdout 'src/free/f.h:1: <zlib.h>: free is freestanding, it may use libc only'

it 'check-layers allows every layer the headers of base/plain'
tree
echo 'base/plain F :' >>tree/tools/layers.txt
mkdir tree/src/base/plain
touch tree/src/base/plain/p.h
includes free/f.h '"base/plain/p.h"'
expect_status 0
includes base/plain/p.h '"base/b.h"'
expect_stdout 'src/base/plain/p.h:1: "base/b.h": base/plain may not include base (tools/layers.txt)'

it 'check-layers wants includes written from src/'
tree
includes low/x.c '"l.h"'
expect_status 1
expect_stdout_line '*"l.h": write includes as "layer/file.h"'

it 'check-layers finds an include of a file that is not there'
tree
includes high/x.c '"low/gone.h"'
expect_stdout 'src/high/x.c:1: "low/gone.h": there is no such file in src/'

it 'check-layers wants a row for every folder'
tree
mkdir tree/src/new
touch tree/src/new/n.c
run "$PITOT_ROOT/tools/check-layers" tree
expect_status 1
expect_stdout 'src/new/n.c: its folder has no row in tools/layers.txt'

it 'check-layers finds rows that go in a circle'
tree
sed -i 's/^low :/low : high/' tree/tools/layers.txt
run "$PITOT_ROOT/tools/check-layers" tree
expect_status 1
expect_stdout 'tools/layers.txt: these include each other in a circle: high, low'

# --- install-deps

# deps LINE...: a table of packages of which only dpkg's own is installed.
deps() {
    printf '%s\n' "$@" >deps.txt
    export PITOT_DEPS_TABLE=$PWD/deps.txt
}

if needs dpkg-query; then
    it 'install-deps says nothing when everything is there'
    deps '@test build' 'dpkg build'
    run "$PITOT_ROOT/tools/install-deps" test
    expect_status 0
    expect_no_stdout
    expect_no_stderr

    it 'install-deps only lists what is missing with PITOT_NO_INSTALL=1'
    deps '@test build' 'dpkg build' 'pitot-no-such-package test'
    PITOT_NO_INSTALL=1 run "$PITOT_ROOT/tools/install-deps" test
    expect_status 0
    expect_stderr_line 'missing Debian packages: pitot-no-such-package'
    expect_stderr_line 'the build has what it needs*'

    it 'install-deps fails when the build itself lacks something'
    deps '@test build' 'pitot-no-such-package build'
    PITOT_NO_INSTALL=1 run "$PITOT_ROOT/tools/install-deps" test
    expect_status 1
    expect_stderr_line 'pitot cannot be built without: pitot-no-such-package'

    it 'install-deps refuses a target that the table does not have'
    deps 'dpkg build'
    run "$PITOT_ROOT/tools/install-deps" biuld
    expect_status 2
    expect_stderr_has 'no target named biuld'
    unset PITOT_DEPS_TABLE

    it 'every target of the Makefile that needs packages is in the table'
    for target in $(sed -n 's/.*\$(DEPS) \([a-z]*\)$/\1/p' "$PITOT_ROOT/Makefile"); do
        PITOT_NO_INSTALL=1 run "$PITOT_ROOT/tools/install-deps" "$target"
        expect [ "$status" != 2 ]
    done
fi

# --- run-tests

# A project of its own, whose tests are the scripts that the tests below put into tests/cli.
mkdir -p runner/tools runner/tests/cli
cp "$PITOT_ROOT/tools/run-tests" runner/tools
echo "project('nothing', 'c')" >runner/meson.build
ln -s "$PITOT_ROOT/tests/cli/lib.sh" runner/tests/cli/lib.sh

# runs SCRIPT LINE...: the runner on one script with these lines.
runs() {
    printf '%s\n' "$@" >runner/tests/cli/it.t.sh
    run runner/tools/run-tests cli --only it
}

totals() { tail -n 1 "$t_out/stdout"; }

it 'run-tests counts single tests, and prints the totals as its last line'
runs 'echo 1..3' 'echo ok 1 - a' 'echo ok 2 - b' 'echo "ok 3 - c # SKIP no such thing"'
expect_status 0
expect_equal 'the last line' "$(totals)" '3 passed, 0 failed, 1 skipped'
expect_stdout_line 'skipped 1: no such thing'

it 'run-tests counts a skipped test of cmocka, with the reason printed before it'
runs 'echo 1..1' 'echo "# skip: no luck"' 'echo "not ok 1 # SKIP a"'
expect_status 0
expect_equal 'the last line' "$(totals)" '1 passed, 0 failed, 1 skipped'
expect_stdout_line 'skipped 1: no luck'

it 'run-tests shows what a failed test said'
runs 'echo 1..2' 'echo ok 1 - a' 'echo "# the reason"' 'echo not ok 2 - b' 'exit 1'
expect_status 1
expect_equal 'the last line' "$(totals)" '2 passed, 1 failed, 0 skipped'
expect_stdout_line '*the reason'

it 'run-tests fails a program that crashes after its tests passed'
runs 'echo ok 1 - a' 'echo 1..1' 'kill -SEGV $$'
expect_status 1
expect_equal 'the last line' "$(totals)" '2 passed, 1 failed, 0 skipped'
expect_stdout_line '*was killed by SIGSEGV'

it 'run-tests fails a program that runs no test'
runs 'exit 0'
expect_status 1
expect_stdout_line '*runs at least one test'

it 'run-tests fails a program that stops before its plan is done'
runs 'echo 1..3' 'echo ok 1 - a'
expect_status 1
expect_stdout_line '*planned 3, ran 1'

it 'run-tests fails a program that passes its tests and exits with 3'
runs 'echo 1..1' 'echo ok 1 - a' 'exit 3'
expect_status 1
expect_stdout_line '*ended with exit status 3'

it 'run-tests fails when nothing was run'
run runner/tools/run-tests nonsense
expect_status 2
expect_stderr_has 'no group named nonsense'
run runner/tools/run-tests cli --only nonsense # the build alone is no test
expect_status 1
expect_stdout_line '*finds a test to run: --only nonsense'

# --- lib.sh

it 'an expectation that is not met fails its test, and says what was there'
runs '. "$(dirname "$0")/lib.sh"' 'it works' 'run echo hello' 'expect_stdout goodbye' \
    'it works again' 'run echo hello' 'expect_stdout hello'
expect_status 1
expect_equal 'the last line' "$(totals)" '2 passed, 1 failed, 0 skipped'
expect_stdout_line '*stdout is not: goodbye'
expect_stdout_line '*stdout: hello'

it 'an expectation that is not met after a skip is shown, and fails nothing'
printf '%s\n' '. "$(dirname "$0")/lib.sh"' 'it works' 'skip tired' 'run echo hello' 'expect_stdout goodbye' \
    >runner/tests/cli/it.t.sh
run bash runner/tests/cli/it.t.sh
expect_status 0
expect_stdout_line 'ok 1 - works # SKIP tired'
expect_stdout_line '# ignored, since skipped: stdout is not: goodbye'

it 'a script that ends early with an error fails'
runs '. "$(dirname "$0")/lib.sh"' 'it works' 'run true' 'expect_status 0' 'echo "$unset_name"'
expect_status 1

# Writes into the script's folder when SIGTERM comes, as a recorder does, and says whether that was there.
slow_end='trap "sleep 0.3; echo profile >profile && echo written >$outside/said; exit" TERM
    echo $$ >$outside/pid; while :; do sleep 0.05; done'
it 'what a script has started is ended, and waited for, before its folder is removed'
for start in 'sh ./slow &' '(sh ./slow &)' 'setsid sh ./slow &'; do
    rm -f said pid
    runs ". \"\$(dirname \"\$0\")/lib.sh\"" "outside=$PWD" 'export outside' "it works" "cat >slow <<'END'" "$slow_end" END \
        "$start" 'expect eventually test -s $outside/pid'
    expect_status 0
    ! grep -qs '^State:.[RSDTt]' "/proc/$(cat pid)/status" || fail "$start: it runs yet"
    expect_equal "$start" "$(cat said 2>&1)" written
done

it 'a script fails whose processes have left a profile, or the folder of a killed recorder, in /dev/shm'
runs '. "$(dirname "$0")/lib.sh"' 'it works' \
    "sh -c 'trap \": >/dev/shm/pitot.\$\$.pb.gz; exit\" TERM; touch ready; while :; do sleep 0.05; done' &" \
    'eventually test -e ready'
expect_status 1
expect_stdout_line '*is there: /dev/shm/pitot.[0-9]*.pb.gz'
expect [ ! -e "$(grep -o '/dev/shm/pitot[^ ]*' "$t_out/stdout" | head -n 1)" ]
runs '. "$(dirname "$0")/lib.sh"' 'it works' 'folder=$(mktemp -d /dev/shm/pitot-record-XXXXXX)' \
    'ln -s "$PWD/prof.pb.gz" "$folder/.result"'
expect_status 1
expect_stdout_line '*is there: /dev/shm/pitot-record-*'
runs '. "$(dirname "$0")/lib.sh"' 'it works' 'folder=$(mktemp -d /dev/shm/pitot-record-XXXXXX)' \
    'ln -s /nowhere/prof.pb.gz "$folder/.result"' 'echo "$folder" >'"$PWD/others"
expect_status 0
expect rm -r "$(cat others)"

# --- the drivers of the fuzz targets

# target BODY: builds sweep and replay of a target with this body, under the address sanitizer.
target() {
    printf '%s\n' '#include <stdint.h>' '#include <stdlib.h>' \
        'int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)' '{' "$1" 'return 0;' '}' \
        >target.c
    local driver
    for driver in sweep replay; do
        expect gcc -g -D_GNU_SOURCE -fsanitize=address -o "$driver" -I"$PITOT_ROOT/fuzz" target.c \
            "$PITOT_ROOT/fuzz/$driver.c" "$PITOT_ROOT/fuzz/files.c" -lz
    done
}

if echo 'int main(void) { return 0; }' >probe.c && ! gcc -fsanitize=address probe.c 2>probe.log
then
    it 'sweep finds planted faults'
    skip 'gcc has no address sanitizer here'
else
    mkdir inputs
    printf 'abcdefgh' >inputs/plain
    printf 'abcdefgh' | gzip >inputs/packed.gz

    it 'sweep and replay pass a target that stands everything'
    target 'volatile uint8_t sum = 0; for (size_t i = 0; i < size; i++) sum += data[i];'
    run ./replay inputs
    expect_status 0
    expect_stdout_line 'ok 1 - replay survives 3 inputs'
    run ./sweep inputs
    expect_status 0
    expect_stdout_line 'ok 2 - plain damaged at 8 places'

    it 'sweep finds a read past the end of a cut file, and keeps the input'
    target 'static volatile uint8_t c; if (size == 5 && data[0] == 97) c = data[5];'
    run ./sweep inputs
    expect [ "$status" != 0 ]
    expect_stderr_line '*ERROR: AddressSanitizer: heap-buffer-overflow*'
    expect_stderr_line 'sweep: inputs/p*, cut at byte 5 (5 bytes, written to sweep-found.*)'
    expect_equal 'the kept input' "$(cat sweep-found.*)" abcde

    it 'sweep looks inside a gzip file'
    target 'if (size == 3 && data[0] == 97) abort();'
    run ./sweep inputs/packed.gz
    expect [ "$status" != 0 ]
    expect_stderr_line 'sweep: inputs/packed.gz, cut at byte 3 *'

    it 'sweep finds a target that ends the program'
    target 'if (size == 2) exit(0);'
    run ./sweep inputs/plain
    expect_status 1
    expect_stderr_line 'sweep: the target ended the program'

    it 'sweep finds a target that hangs, by its CPU time'
    target 'if (size == 2) for (volatile int i = 0;; i++) ;'
    PITOT_HANG_SECONDS=1 run ./sweep inputs/plain
    expect [ "$status" != 0 ]
    expect_stderr_line 'sweep: the input hangs*'
    expect_stderr_line 'sweep: inputs/plain, cut at byte 2 *'
fi
