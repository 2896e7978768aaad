#!/usr/bin/env bash
# odd_inputs.t.sh: what is no profile at all gets one clear line, whichever reader looks at it: zeros
# without end, nothing, a folder, a FIFO, a bomb, a file that shrinks while it is read.
. "$(dirname "$0")/lib.sh"

pitot formats | sed -n 's/^\([a-z][^ ]*\) (read.*/\1/p' >formats
mapfile -t formats <formats
# Names as each format's files have them; a name alone makes no profile.
mapfile -t names < <(pitot formats | sed -n 's/^ *file names //p' | tr ' ' '\n' | sort -u)

# expect_one_line FILE: a failure, and one line that names the file; notes before it are facts.
expect_one_line() {
    [ "$status" = 1 ] || [ "$status" = 4 ] || fail "exit status $status for $1"
    expect_equal "lines about $1" "$(stderr | grep -c -F "$1: ")" 1
}

it 'names every format there is, and extensions'
expect [ "${#formats[@]}" -ge 24 ]
expect [ "${#names[@]}" -ge 20 ]

it '2 GB of zeros are no profile, whatever they are called'
truncate -s 2G zeros
for name in "${names[@]}"; do
    ln -f zeros "zeros$name"
    run pitot info "zeros$name"
    expect_one_line "zeros$name"
    expect_stderr_has 'not a profile in any format known here'
    rm "zeros$name"
done

it 'no reader takes zeros for a profile that it is told to read'
truncate -s 64M zeros
for format in "${formats[@]}"; do
    run pitot info --from="$format" zeros
    expect_one_line zeros
    expect_stderr_has "zeros: $format: "
done
rm zeros

it 'an empty file, a folder and an empty FIFO are said to be that'
: >empty
mkdir folder
mkfifo pipe
for format in '' "${formats[@]}"; do
    run pitot info ${format:+--from=$format} empty
    expect_status 1
    expect_stderr 'pitot: empty: is empty'
    run pitot info ${format:+--from=$format} folder
    expect_status 1
    expect_stderr_lines 1
    expect_stderr_has 'folder'
    : >pipe &
    run pitot info ${format:+--from=$format} pipe
    wait $!
    expect_status 1
    expect_stderr 'pitot: pipe: is empty'
done

it 'a FIFO is read to its end, as a file is'
for file in folded/callers pprof/cpu.pb.gz perf.data/fp.data gprof-text/brief callgrind/plain; do
    [ -e "$PITOT_ROOT/tests/golden/$file" ] || continue
    cat "$PITOT_ROOT/tests/golden/$file" >pipe &
    run pitot info --json pipe
    wait $!
    expect_status 0
    stdout | grep -o '"total": *[0-9]*' >got
    run pitot info --json "$PITOT_ROOT/tests/golden/$file"
    stdout | grep -o '"total": *[0-9]*' >expected
    expect test -s expected
    expect_same expected got
done

it 'a bomb is refused at the limit, whichever reader it is for'
head -c 64M /dev/zero | gzip -9 >bomb.gz
gzip -9 <bomb.gz >bomb.gz.gz
for file in bomb.gz bomb.gz.gz; do
    run pitot info --max-memory=1M $file
    expect_one_line $file
    expect_stderr_has 'not a profile in any format known here' # by its first bytes
    for format in "${formats[@]}"; do
        run pitot info --max-memory=1M --from=$format $file
        expect_one_line $file
        expect_stderr_has 'inflates to more than the limit of 1048576 bytes of memory'
    done
done

it 'a file that shrinks while it is read is said to have done so'
if [ "$PITOT_SANITIZED" = 1 ]; then
    skip 'the sanitizers want to be loaded before what this preloads'
elif needs gcc; then
    # Cuts the file that is named to half of what it began as, when it has been mapped and before a
    # byte of it was looked at.
    cat >cut.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    void *(*const real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap64");
    void *const got = real(at, size, prot, flags, fd, offset);
    const char *const name = getenv("CUT_FILE"), *const left = getenv("CUT_TO");
    char link[64], path[4096];
    if (got == MAP_FAILED || fd < 0 || name == NULL) return got;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t bytes = readlink(link, path, sizeof path - 1);
    if (bytes <= 0) return got;
    path[bytes] = '\0';
    static int before; /* mappings of it that are left alone */
    const char *const skip = getenv("CUT_SKIP");
    if (strcmp(path, name) != 0 || before++ < (skip != NULL ? atoi(skip) : 0)) return got;
    if (truncate(path, atol(left)) != 0) abort();
    return got;
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    return mmap64(at, size, prot, flags, fd, offset);
}
END
    gcc -shared -fPIC -o cut.so cut.c -ldl 2>compiler || fail "$(cat compiler)"
    for format in "${formats[@]}"; do
        for golden in "$PITOT_ROOT/tests/golden/$format"/*; do
            case $golden in *README.md | *.go | *.c | *.cc | *.js) continue ;; esac
            [ -f "$golden" ] || continue
            # Files of 64 KiB and more are mapped; smaller ones are read at once.
            { cat "$golden"; head -c 80K /dev/zero; } >shrinking
            run env LD_PRELOAD="$PWD/cut.so" CUT_FILE="$(realpath shrinking)" \
                CUT_TO=$(($(stat -c %s "$golden") / 2)) "$PITOT" info --from="$format" shrinking
            expect_one_line shrinking
            expect_stderr_has 'became shorter while it was read'
            break
        done
    done
fi

# cut_while CUT-FILE ARGUMENT...: pitot, with the second half of the file gone when it is mapped for
# the first time, or for a later one: who maps it behind that sees a short file and no change.
cut_while() {
    local name=$1 skip
    shift
    cp "$name" whole
    for skip in 0 1 2 3; do
        run env LD_PRELOAD="$PWD/cut.so" CUT_FILE="$(realpath "$name")" CUT_SKIP=$skip \
            CUT_TO=$(($(stat -c %s "$name") / 2)) "$PITOT" "$@"
        cp whole "$name"
        grep -q 'became shorter while it was read' "$t_out/stderr" && break
    done
    expect_stderr_has "$name"
    expect_stderr_has 'became shorter while it was read'
}

it 'so do programs, tables and journals, and the files of those who read them by themselves'
if [ "$PITOT_SANITIZED" = 1 ]; then
    skip 'the sanitizers want to be loaded before what this preloads'
elif needs gcc nm; then
    # Files of 64 KiB and more are mapped.
    cat >prog.c <<'END_OF_C'
#include <signal.h>
#include <stdlib.h>
#include <time.h>

char padding[100000] = {1};

__attribute__((noinline)) void burn(void)
{
    while (clock() < CLOCKS_PER_SEC / 10)
        padding[clock() % sizeof padding]++;
}

int main(int argc, char **argv)
{
    burn();
    if (argc > 1) raise(SIGKILL);
    return 0;
}
END_OF_C
    gcc -g -no-pie -o prog prog.c && gcc -g -pg -no-pie -o counted prog.c && ./counted ||
        fail 'the programs'
    env LD_PRELOAD="$PITOT_BUILD/libprofiler.so.0" CPUPROFILE=prof ./prog
    env LD_PRELOAD="$PITOT_BUILD/libprofiler.so.0" CPUPROFILE=killed ./prog 1 2>/dev/null
    cut_while prog top prog prof
    expect_status 0
    cut_while prog google-pprof --text prog prof
    cut_while prog google-pprof --list=burn prog prof
    cut_while counted gprof counted gmon.out
    expect_status 1
    nm counted >table
    head -c 100K /dev/zero | tr '\0' '\n' >>table
    cut_while table gprof -S table counted gmon.out
    expect_status 1
    { cat prof; head -c 200K /dev/zero | tr '\0' '\n'; } >padded
    cut_while padded google-pprof --text prog padded
    expect_status 1
    rm -f padded
    mv killed padded
    cut_while padded recover -o out.prof padded
    expect_status 1
fi
