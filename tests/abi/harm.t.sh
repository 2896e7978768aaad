#!/usr/bin/env bash
# The profile of a running program is cut, overwritten, moved, replaced, its disk full or gone: the program is as it
# is alone, and the profile whole where it can be. tests/torture/harm.sh does it a thousand times.
. "$(dirname "$0")/lib.sh"

${CC:-cc} $flags -D_GNU_SOURCE -Wall "$here/harm_host.c" -o host || exit 1

it 'whatever is done to its profile, a program gives what it gives alone, and the profile is whole or said to be lost'
python3 "$here/harm.py" 31 ./host "$PITOT_BUILD/libprofiler.so.0" "$PITOT" >harmed || fail "$(grep -v '^#' harmed)"
grep -E '^#.*(skipped|wrong)' harmed

it 'a journal that was cut is whole again when the program is killed'
run_cut() {
    rm -f prof
    CPUPROFILE=$PWD/prof CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 ./host 100000 nothing >/dev/null 2>&1 &
    local pid=$!
    eventually [ -s prof ]
    : >prof
    eventually python3 "$here/journal.py" prof
    kill -9 $pid
    wait $pid 2>/dev/null
    count_journals prof
}
run_cut 2>/dev/null
expect [ "$(counted ticks)" -gt 0 ]
run pitot info prof
expect_status 0

it 'a program that is recorded may change its root before it has a file'
mkdir -p empty recorded
PITOT_RECORD_DIR=$PWD/recorded PITOT_RECORD_HZ=1000 LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run ./host 100 leaves
if [ "$status" = 4 ]; then
    skip 'chroot is not allowed here'
else
    expect_status 7
    count_journals recorded/*.journal
    expect [ "$(counted samples)" -gt 100 ]
fi

it 'a disk that hangs holds up no thread that is made'
cat >hangs.c <<'C'
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at)
{
    if (gettid() != getpid()) { /* no thread of the host's writes while it makes threads */
        close(open("in", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        while (access("go", F_OK) != 0)
            usleep(1000);
    }
    return syscall(SYS_pwrite64, fd, bytes, size, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return pwrite64(fd, bytes, size, at); }
C
cat >makes.c <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *nothing(void *arg) { return arg; }
int main(void)
{
    volatile unsigned long spun = 0;
    while (access("in", F_OK) != 0)
        spun++;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
    }
    puts("made");
    fclose(fopen("go", "w"));
    return 0;
}
C
expect ${CC:-cc} $flags -D_GNU_SOURCE -shared -fPIC hangs.c -o hangs.so
expect ${CC:-cc} $flags -D_GNU_SOURCE makes.c -o makes
rm -f prof in go
CPUPROFILE=$PWD/prof CPUPROFILE_FREQUENCY=1000 LD_PRELOAD="$PWD/hangs.so $PITOT_BUILD/libprofiler.so.0" \
    run timeout -s KILL 300 ./makes
expect_status 0
expect_stdout made
run pitot info prof
expect_status 0

it 'what a killed process left beside its file goes with the next session'
rm -f prof
sh -c 'exit 0' &
left=prof.$!.tmp
wait $!
touch -d '2 hours ago' "$left"
CPUPROFILE=$PWD/prof LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 ./host 100000 nothing >/dev/null 2>&1 &
eventually [ ! -e "$left" ]
kill -9 $!
wait $! 2>/dev/null
expect [ ! -e "$left" ]
