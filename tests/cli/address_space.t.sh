#!/usr/bin/env bash
# Code is called the same whichever engine recorded it: the library's journal, perf events, perf record.
# The program's code lies at places that it chooses, so the names are known beforehand.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

command -v "${CC:-cc}" >/dev/null || skip_all 'there is no C compiler'

# spin(n) has one instruction, or two, that take all its time: the first 16 bytes of it.
cat >spin.h <<'C'
#if defined __x86_64__
#define SPIN_CODE "movl %edi, %ecx\n1: loop 1b\nret\n"
static const unsigned char spin_code[] = {0x89, 0xf9, 0xe2, 0xfe, 0xc3};
#elif defined __aarch64__
#define SPIN_CODE "1: subs w0, w0, #1\nb.ne 1b\nret\n"
static const unsigned spin_code[] = {0x71000400, 0x54ffffe1, 0xd65f03c0};
#else
#error no code for this machine
#endif
#define SPIN(name) __asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", %function\n" name ":\n" SPIN_CODE \
    ".p2align 4\n.size " name ", . - " name "\n")
C
cat >spin_lib.c <<'C'
#include "spin.h"
SPIN("spin_in_library");
C
cat >places.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "spin.h"
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
enum { ROUNDS = 40000000, PAGE = 1 << 16 };
SPIN("spin_in_program");
void spin_in_program(unsigned rounds);
typedef void spinner(unsigned rounds);

static void *map(unsigned long at, int flags, int fd, long offset)
{
    void *const p = mmap((void *)at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_FIXED_NOREPLACE | flags, fd, offset);
    if (p != (void *)at) perror("mmap"), exit(9);
    memcpy((char *)p + 0x40, spin_code, sizeof spin_code);
    __builtin___clear_cache((char *)p, (char *)p + PAGE);
    return p;
}
static void spin_at(void *page) { ((spinner *)((char *)page + 0x40))(ROUNDS); }

int main(int argc, char **argv)
{
    const int fd = memfd_create("code", 0);
    if (fd < 0 || ftruncate(fd, 2 * PAGE) != 0) return 9;
    void *const anonymous = map(0x10000000000, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *const named = map(0x20000000000, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *const shared = map(0x30000000000, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *const file = map(0x40000000000, MAP_SHARED, fd, PAGE);
    prctl(PR_SET_VMA, 0, named, PAGE, "engine");
    void *const library = dlopen(argv[1], RTLD_NOW);
    spinner *const in_library = library != NULL ? (spinner *)dlsym(library, "spin_in_library") : NULL;
    if (in_library == NULL) return 9;
    if (argc > 2 && strcmp(argv[2], "wait") == 0) return getchar() != EOF;
    if (argc > 2) unlink(argv[0]), unlink(argv[1]);
    spin_at(anonymous);
    spin_at(named);
    spin_at(shared);
    spin_at(file);
    spin_in_program(ROUNDS);
    in_library(ROUNDS);
    struct timespec t;
    for (int i = 0; i < ROUNDS / 2; i++) clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
}
C
flags='-O1 -fno-omit-frame-pointer -I.'
${CC:-cc} $flags -shared -fPIC -o spin.so spin_lib.c || exit 1
if ! ${CC:-cc} $flags -o places places.c -ldl; then skip_all 'this machine is not known to the test'; fi

# record_places RECORDER...: a copy of the program and its library, which it removes.
record_places() {
    cp places gone && cp spin.so gone.so && run "$@" ./gone ./gone.so remove
}
# rows FILE UNNAMED: "NAME SHARE" of each that is no kernel's. In an address only 16 bytes are told apart.
rows() {
    pitot top --json --unnamed="$2" "$1" 2>top-said | python3 -c '
import collections, json, re, sys
shares = collections.Counter()
for row in json.load(sys.stdin)["rows"]:
    name = re.sub(r"\+0x([0-9a-f]+)\]", lambda m: "+0x%x]" % (int(m[1], 16) & ~15), row["name"])
    if not row.get("file", "").startswith("[kernel"):
        shares[name] += row["self"]
for name, share in shares.items():
    print(name, share / sum(shares.values()))'
}
# same_names A B: what has 6 % of one has some of the other. (Were a row of 6 % missed by all of 500
# samples, that were chance once in 1e13 runs.)
same_names() {
    python3 - "$@" <<'PY'
import sys
a, b = ({line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in open(f)} for f in sys.argv[1:])
for one, other, what in (a, b, sys.argv[2]), (b, a, sys.argv[1]):
    missed = [n for n in one if one[n] >= 0.06 and not other.get(n)]
    if missed:
        print("not in %s: %s" % (what, {n: round(one[n], 4) for n in missed}))
        sys.exit("there are: %s" % {n: round(v, 4) for n, v in sorted(other.items())})
PY
}
# expect_rows FILE NAME...: each of them has 2 % and more.
expect_rows() {
    local file=$1 name
    shift
    for name; do
        expect awk -v name="$name" '$1 == name && $2 >= 0.02 { found = 1 } END { exit !found }' "$file"
    done
}
# Anonymous memory by its address, named by the process or not; a memfd by its place in the file.
memory='[anon:jit+0x10000000040] [anon:jit+0x20000000040] [anon:jit+0x30000000040] [memfd:code+0x10040]'

it 'names code without a file by where it is, recorded by the library'
record_places pitot record --engine=preload -F 997 -o preload.pb.gz
expect_status 0
rows preload.pb.gz address >preload.address
rows preload.pb.gz object >preload.object
expect_rows preload.address $memory
expect_rows preload.object '[anon:jit]' '[memfd:code]' '[gone]' '[gone.so]'
expect grep -q clock_gettime preload.address

it 'gives the same names when the kernel records it'
run pitot record --engine=perf -o probe.pb.gz true
if [ "$status" != 0 ]; then
    skip "no perf events here: $(stderr | tail -n 1)"
else
    for _ in 1 2 3; do # again where a full machine gave a loop of two addresses to one of them
        record_places pitot record --engine=perf -F 997 -o perf.pb.gz
        rows perf.pb.gz address >perf.address
        rows perf.pb.gz object >perf.object
        same_names preload.address perf.address 2>/dev/null && break
    done
    expect_status 0
    expect_rows perf.address $memory
    expect same_names preload.address perf.address
    expect same_names preload.object perf.object
fi

# record_with_perf: into perf.data; false, and the test is skipped, where that cannot be.
record_with_perf() {
    needs perf || return 1
    record_places perf record -q -e cpu-clock:u -F 997 -g -o perf.data
    [ "$status" = 0 ] || skip "perf cannot record here: $(stderr | tail -n 1)"
    [ "$status" = 0 ]
}
it 'gives the same names when perf records it'
if record_with_perf; then
    rows perf.data address >perf_data.address
    rows perf.data object >perf_data.object
    expect_rows perf_data.address $memory
    expect same_names preload.address perf_data.address
    expect same_names preload.object perf_data.object
fi

it 'keeps the names when the profile is written as perf.data, and as pprof has it'
run pitot convert preload.pb.gz -o again.perf.data
expect_status 0
run pitot convert again.perf.data -o again.pb.gz
expect_status 0
rows again.pb.gz address >again.address
expect_rows again.address $memory
# perf.data has no place for the names of rows without an address: time that no sample can show is unknown there.
share_of() { awk -v begin="$1" 'index($0, begin) == 1 { sum += $NF } END { printf "%.6f", sum }' "$2"; }
expect_equal 'what no sample shows' "$(share_of '[unknown]' again.address)" "$(share_of '[not sampled' preload.address)"
grep -v '^\[not sampled' preload.address >preload.code
grep -v '^\[unknown\]' again.address >again.code
expect same_names preload.code again.code

it 'names what is mapped in a running process alike'
mkfifo line
./places ./spin.so wait <line >/dev/null 2>&1 &
target=$!
exec 9>line
eventually grep -q memfd /proc/$target/maps
run pitot symbolize --pid=$target --output-style=JSON 0x10000000042 0x20000000042 0x30000000042 0x40000000042
exec 9>&-
wait $target
expect_status 0
stdout | python3 -c '
import json, sys
print(*[a["ModuleName"] for a in json.load(sys.stdin)])' >modules
expect_equal modules "$(cat modules)" '[anon:jit] [anon:jit] [anon:jit] /memfd:code'
