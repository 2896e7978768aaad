#!/usr/bin/env bash
# Handlers of the program that block the tick's signal, beneath ticks of the clock on the wall, which they do not block:
# how they are set, and asked for.
. "$(dirname "$0")/lib.sh"

cat >between.c <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

extern void come_between(int signo) __attribute__((weak));

int sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    int (*const next)(int, const struct sigaction *, struct sigaction *) = dlsym(RTLD_NEXT, "sigaction");
    if (act != NULL && gettid() == getpid() && come_between) come_between(signo);
    return next(signo, act, old);
}
END
${CC:-cc} $flags -D_GNU_SOURCE -shared -fPIC between.c -o between.so -ldl || exit 1
flags+=' -Wno-deprecated-declarations'
build_host masks_host.c host
build_host masks_host.c late_host -rdynamic "$PWD/between.so"
export CPUPROFILE_REALTIME=1

it 'a handler that a thread sets while the profile begins stays'
LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run ./late_host late
expect_equal 'handler' "$(stdout)" 'between 1, set 1, blocks 1'

it 'each function that sets a handler gives it a mask of its own'
./host told >alone
profiled 100 told
expect [ "$(wc -l <facts)" = 6 ]
expect_equal 'masks' "$(cat facts)" "$(cat alone)"

it 'and leaves errno as it was, with a profile and without one'
profiled 100 errno
expect [ "$(grep -c ': errno 77, then 77$' facts)" = 6 ]
PITOT_LISTEN="unix:$PWD/socket" run ./host errno
expect [ "$(stdout | grep -c ': errno 77, then 77$')" = 6 ]

it 'a signal ends a wait if syscall(2) has set its handler, which blocks all others'
profiled 1000 raw
expect_equal 'waits' "$(cat facts)" 'waits 5, blocks 1'

it "the program's handler for the tick's signal waits for those that block it"
./host own >alone
profiled 100 own
expect_equal 'alone' "$(cat alone)" "$(printf 'handled 1, within 0, blocks 1\nwithout it blocks 1')"
expect_equal 'signals' "$(cat facts)" "$(cat alone)"
