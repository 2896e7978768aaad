#!/usr/bin/env bash
# A library that another library's constructor has loaded is unloaded, and a new library takes its addresses.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'

cc=${CC:-cc}
for name in aa bb; do
    cat >$name.c <<C
#include <time.h>
static volatile unsigned sink;
double in_$name(double s)
{
    struct timespec t;
    double now, begin = -1;
    do {
        for (int i = 0; i < 10000; i++) sink = sink * 3 + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
        if (begin < 0) begin = now;
    } while (now - begin < s);
    return now - begin;
}
C
    $cc -O1 -fPIC -shared -o lib$name.so $name.c
done
cat >first.c <<'C'
#include <dlfcn.h>
void *first;
__attribute__((constructor)) static void load(void) { first = dlopen("./libaa.so", RTLD_NOW); }
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
extern void *first;
int main(void)
{
    double (*const aa)(double) = (double (*)(double))dlsym(first, "in_aa");
    void *const old = (void *)aa;
    aa(0.06);
    dlclose(first);
    void *const second = dlopen("./libbb.so", RTLD_NOW);
    double (*const bb)(double) = (double (*)(double))dlsym(second, "in_bb");
    bb(0.06);
    printf("%d\n", (void *)bb == old);
    return 0;
}
C
$cc -O1 -fPIC -shared -o libfirst.so first.c
$cc -O1 -o host host.c -L. -lfirst -Wl,-rpath,"$PWD" -ldl

it 'samples of each are named by the library that was there'
for _ in 1 2 3; do
    run env CPUPROFILE=host.pb.gz CPUPROFILE_FREQUENCY=1000 LD_PRELOAD="$PITOT_BUILD/libprofiler.so.0" ./host
    expect_status 0
    [ "$(stdout)" = 1 ] || { skip 'the new library has other addresses'; break; }
    pitot top --json -n 0 host.pb.gz >top.json 2>top.err
    python3 - top.json <<'PY' && break
import json, sys
time = {row['name']: row['total'] / 1e9 for row in json.load(open(sys.argv[1]))['rows']}
print(time.get('in_aa', 0), time.get('in_bb', 0))
sys.exit(not all(abs(time.get(name, 0) - 0.06) < 0.008 for name in ('in_aa', 'in_bb')))
PY
done >judged
if [ -z "$t_skip" ]; then
    expect python3 -c 'a, b = map(float, open("judged").read().split("\n")[-2].split()); assert abs(a - b) < 0.016, (a, b)'
fi
