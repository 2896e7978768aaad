#!/usr/bin/env bash
# A thread whose stack has no room for a sample: it goes on, and its time counts for its next sample.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the sanitizers need more of the stack'

# full [thread] BYTES: spins where the stack of the first or another thread has room for the frame of a signal and BYTES
# more, and then where it has much.
cat >full.c <<'C'
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void spin(void) { for (int i = 0; i < 100000000; i++) sink = sink * 3 + 1; }
__attribute__((noinline)) static uintptr_t stack_limit(void)
{
    char line[512];
    unsigned long low, limit = 0;
    FILE *const maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &low, &limit) == 2 && low < (uintptr_t)line && (uintptr_t)line < limit) break;
    fclose(maps);
    return limit;
}
__attribute__((noinline)) static void spin_at(uintptr_t low)
{
    char here;
    volatile char *const room = alloca((uintptr_t)&here - low);
    room[0] = 1;
    spin();
}
static uintptr_t more; /* bytes of the stack left below spin */
static void *thread_main(void *arg)
{
    pthread_attr_t attr;
    void *low;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &low, &bytes);
    pthread_attr_destroy(&attr);
    spin_at((uintptr_t)low + more);
    spin();
    return arg;
}
int main(int argc, char **argv)
{
    struct rlimit most;
    pthread_t thread;
    getrlimit(RLIMIT_STACK, &most);
    more = getauxval(AT_MINSIGSTKSZ) + 128 + (uintptr_t)atoi(argv[argc - 1]);
    if (argc > 2) {
        if (pthread_create(&thread, NULL, thread_main, NULL) != 0) return 1;
        pthread_join(thread, NULL);
    } else {
        spin_at(stack_limit() - most.rlim_cur + more);
        spin();
    }
    printf("%.6f\n", (double)clock() / CLOCKS_PER_SEC);
    return 0;
}
C
${CC:-cc} $flags -D_GNU_SOURCE -pthread full.c -o full || exit 1

# is_whole [thread] BYTES: full ends well under the library, and its profile has its CPU time.
is_whole() {
    CPUPROFILE=$PWD/prof CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run ./full "$@"
    expect_status 0
    used=$(stdout)
    run pitot top --json -n 0 -e samples prof
    expect_status 0
    seen=$(stdout | python3 -c 'import json, sys; print(json.load(sys.stdin)["profile"]["total"] / 1000)')
    expect agrees "$seen" "$used" 0.001
}

it 'a program at the end of its stack goes on, and its time is in the profile'
ulimit -S -s 8192
for bytes in 256 512 768; do
    is_whole $bytes
done

it 'so does a thread, also where the stack of the first thread has no limit'
for most in 8192 unlimited; do
    ulimit -S -s $most 2>/dev/null || continue
    for bytes in 256 512 768; do
        is_whole thread $bytes
    done
done
