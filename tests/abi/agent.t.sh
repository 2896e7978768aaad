#!/usr/bin/env bash
# libprofiler.so.0 in programs: what the functions do, what is seen, and that the host is left alone.
# Time is CPU time as the program itself measures it, never the wall's.
. "$(dirname "$0")/lib.sh"

build_host host.c host
build_plugin

it 'the ten functions do what their header says'
ln -s elsewhere link.prof
run ./host api
cp "$t_out/stdout" facts
expect_status 0
for pair in nowhere=0 link=0 off=0 start=1 again=0 on=1 enabled=1 name=api.prof age=1 after=0 filtered=1 \
    asked=1 restart=1 errno=1; do
    expect_equal "${pair%=*}" "$(fact "${pair%=*}")" "${pair#*=}"
done
expect grep -q 'link.prof: cannot be written: .*symbolic link' "$t_out/stderr"
expect [ ! -e elsewhere ]
read_profile api.prof
expect agrees "$(told seconds)" 0.4 0.01
# Ticks up to then, of which one may stand for several periods where the machine stands still.
expect [ "$(fact gathered)" -ge $(($(told samples) / 4)) ]
expect [ "$(fact gathered)" -le "$(told samples)" ]
expect_equal 'mode of the file' "$(stat -c %a api.prof)" 600
read_profile filtered.prof
expect_equal 'samples that the filter left' "$(told samples)" 0
read_profile restart.prof
expect agrees "$(told seconds)" 0.2 0.01
expect_equal 'files' "$(ls -- *.prof* | tr '\n' ' ')" 'api.prof filtered.prof link.prof restart.prof '

it 'the file is the specification, word for word'
profiled 100 burn 0.3
read_profile prof
expect_equal 'header' "$(grep ^header told)" 'header 0 3 0 10000 0'
expect_equal 'only executable mappings are listed' "$(told executable)" True
expect_equal 'each stack is one record' "$(told distinct)" True
expect [ "$(told ids)" -ge 2 ]
expect grep -q "^file .*/host$" told
expect_equal 'lines that say who wrote it' "$(grep -ac '^# pitot facts ' prof)" 1

it 'google-pprof and go tool pprof read the same samples'
if needs google-pprof go; then
    profiled 1000 workers
    read_profile prof
    google-pprof --text ./host prof 2>/dev/null >perl
    go tool pprof -sample_index=0 -top ./host prof 2>/dev/null >go
    expect grep -q "^Total: $(told samples) samples" perl
    expect grep -q " of $(told samples) total" go
    expect grep -Eq '^ *[0-9]+ .* burn$' perl
    expect grep -Eq '^ *[0-9]+ .* burn$' go
    expect_equal 'burn by both' "$(awk '$6 == "burn" { print $1 }' perl)" "$(awk '$6 == "burn" { print $1 }' go)"
fi

it 'samples times period are the CPU seconds used, at every rate'
for hz in 100 250 1000 4000; do
    profiled $hz burn 1
    read_profile prof
    expect agrees "$(told seconds)" "$(fact cpu)" "$(calc "1 / $hz > 0.004 ? 1 / $hz : 0.004")"
    expect_equal "period at $hz Hz" "$(told period_us)" $((1000000 / hz))
done

it 'a rate that is no whole number is 100, one above 4000 is 4000 and is said to be'
profiled 12x burn 0.1
read_profile prof
expect_equal 'period' "$(told period_us)" 10000
profiled 100000 burn 0.1
read_profile prof
expect_equal 'period' "$(told period_us)" 250
expect grep -q '100000 samples a second are too many: taking 4000' "$t_out/stderr"

it 'all threads are seen, each with its share'
profiled 1000 workers 0.15
workers='worker1 worker2 worker3 worker4 worker5 worker6 worker7 worker8'
read_profile prof $workers
expect agrees "$(told seconds)" "$(fact cpu)" 0.004
for worker in $workers; do
    expect agrees "$(calc "$(told $worker) / 1000")" 0.15 0.004
done

it 'threads of two milliseconds are seen'
profiled 1000 short
read_profile prof worker1
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 4)
if [ "$(id -u)" != 0 ] && [ "$paranoid" -gt 1 ]; then
    skip "perf_event_paranoid is $paranoid: only the kernel's own tick is there"
else
    # Where a machine is full its host may take the processor away meanwhile, and the clock goes on.
    expect agrees "$(calc "$(told worker1) / 1000")" "$(fact worked)" 0.001
fi

it 'a thread that starts with all signals blocked is seen'
profiled 1000 blocked
read_profile prof worker1
expect agrees "$(calc "$(told worker1) / 1000")" 0.3 0.004

it 'threads that lived before the profile are seen'
CPUPROFILE_FREQUENCY=1000 run ./host alive
expect_status 0
read_profile alive.prof worker1 worker2
expect agrees "$(calc "$(told worker1) / 1000")" 0.3 0.004
expect agrees "$(calc "$(told worker2) / 1000")" 0.1 0.004

it 'a thread that lived before and whose first tick comes while its timer is being made is seen'
cat >slow.c <<'C'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* Five periods pass before a timer's mapping is made. */
void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off64_t offset)
{
    void *const page = (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
    const struct timespec time = {0, 5000000};
    if (fd >= 0 && (flags & MAP_SHARED) != 0) nanosleep(&time, NULL);
    return page;
}
C
cc -O1 -shared -fPIC -o slow.so slow.c || exit 1
LD_PRELOAD=$PWD/slow.so CPUPROFILE_FREQUENCY=1000 run ./host alive
expect_status 0
read_profile alive.prof worker1
expect agrees "$(calc "$(told worker1) / 1000")" 0.3 0.004

it 'a thread that was made in another way is met while it runs'
profiled 1000 standard
expect_status 0
read_profile prof worker3
expect [ "$(told worker3)" -ge 500 ]

it 'a stack trace begins here and ends at main'
run ./host trace
cp "$t_out/stdout" facts
for pair in mine=1 skipped=1 limit=1; do
    expect_equal "${pair%=*}" "$(fact "${pair%=*}")" "${pair#*=}"
done

it 'errno and the signal mask stay as they are'
profiled 4000 errno
expect_equal 'changes of errno' "$(fact changed)" 0
profiled 4000 mask
expect_equal 'blocked signals' "$(fact blocked)" 0

it 'threads that are cancelled end there and then, and nothing waits for them'
for hz in 100 4000; do
    profiled $hz cancel
    expect_status 0
    for pair in starting=1000 running=300 sleeping=100; do
        expect_equal "${pair%=*}" "$(fact "${pair%=*}")" "${pair#*=}"
    done
    expect [ -s prof ]
done

it 'a message to a pipe that nobody reads does not end the host'
run ./host pipe
cp "$t_out/stdout" facts
expect_status 0
expect_equal 'started' "$(fact start)" 0

it 'a flush that cannot write says so'
mkdir folder
run ./host flush
expect_status 0
expect grep -q 'folder/flush.prof: cannot be written: No such file' "$t_out/stderr"

it 'a journal is used to its end'
if [ "$(id -u)" != 0 ] && [ "$paranoid" -gt 1 ]; then
    skip "perf_event_paranoid is $paranoid: only the kernel's own tick is there"
else
    # 4000 stacks of 264 bytes and more are more than a mebibyte, which is as large as a file may be. Where ticks are
    # joined, since the machine stands still at times, as many take longer.
    for seconds in 1.5 6 24; do
        rm -f prof
        (ulimit -f 1024; CPUPROFILE=prof CPUPROFILE_FREQUENCY=4000 ./host winding $seconds >/dev/null)
        expect_equal 'status' "$?" 0
        [ "$(stat -c %s prof)" -le 800000 ] || break
    done
    expect [ "$(stat -c %s prof)" -gt 800000 ]
fi

it 'a host that resets every signal lives, and is profiled on'
profiled 1000 reset
expect_status 0
expect_equal 'what it believes' "$(fact default)" 1
read_profile prof
expect agrees "$(told seconds)" "$(fact cpu)" 0.004

it 'a host that takes SIGPROF gets what is its own, and is profiled on'
profiled 1000 takes
expect_status 0
expect_equal 'its own signals' "$(fact hits)" 1
expect_equal 'signals of its own timer' "$(fact timed)" 1
expect_equal 'signals of its own POSIX timer' "$(fact own_timer)" 1
expect_no_stderr
read_profile prof
expect agrees "$(told seconds)" "$(fact cpu)" 0.004

it 'its handler has blocked what it asked for, and no more'
profiled 1000 masked
expect_equal 'SIGUSR1, SIGUSR2, SIGPROF' "$(fact in_handler)" 3
expect_equal 'and blocks nothing when it is over' "$(fact after)" 0

it 'a name that is no regular file is refused in words'
CPUPROFILE=/dev/null run ./host burn 0.01
expect_status 0
expect_stderr_line 'pitot: libprofiler: /dev/null: cannot be written: it is no regular file, and the library keeps its journal there while the program runs; name another file'

it 'a host that has a handler for SIGPROF keeps it'
run ./host has
cp "$t_out/stdout" facts
expect_equal 'started' "$(fact start)" 0
expect_equal 'kept' "$(fact kept)" 1
expect grep -q 'has its own handler for SIGPROF' "$t_out/stderr"

it 'no descriptor of ours is in the host, and closing all of them harms nothing'
profiled 1000 descriptors
expect_equal 'the first free descriptor' "$(fact first)" 3
profiled 1000 closes
expect_equal 'the first free descriptor' "$(fact first)" 3
read_profile prof
expect agrees "$(told seconds)" "$(fact cpu)" 0.004

it 'the file is where the program started, wherever it went'
profiled 1000 chdir
expect [ -s prof ]

it 'every way to end writes the file and keeps the exit status'
for end in exit=3 fast=4 quick=5; do
    profiled 1000 "${end%=*}"
    expect_status "${end#*=}"
    read_profile prof
    expect agrees "$(told seconds)" 0.1 0.004
done

it 'a process that is killed leaves its journal under that name'
rm -f prof
CPUPROFILE=prof run bash -c './host kill; exit $?'
expect_status 137
expect_equal 'the first bytes' "$(head -c 8 prof)" PITOTJNL
expect_equal 'mode' "$(stat -c %a prof)" 600
expect [ "$(stat -c %s prof)" -le $((1 << 20)) ]

it 'a journal is as long as what is in it asks for, and grows while nobody could open it again'
mkdir -p moved
# Again if the library's thread got no processor while the program filled its ring: what is dropped
# then was without room in the ring, not in the file.
for _ in 1 2 3; do
    rm -f prof moved/prof
    CPUPROFILE=prof CPUPROFILE_FREQUENCY=4000 ./host winding 60 >/dev/null 2>&1 &
    pid=$!
    eventually [ -s prof ]
    mv prof moved/prof
    while kill -0 $pid 2>/dev/null && [ "$(stat -c %s moved/prof)" -le $((1 << 20)) ]; do sleep 0.05; done
    kill -9 $pid
    wait $pid 2>/dev/null
    count_journals moved/prof
    [ "$(counted dropped)" != 0 ] || break
done
expect [ "$(stat -c %s moved/prof)" -gt $((1 << 20)) ]
expect [ "$(stat -c %s moved/prof)" -lt $((64 << 20)) ]
expect_equal 'dropped' "$(counted dropped)" 0
run pitot top moved/prof
expect_status 0

it 'fork, exec and both give each process a file of its own'
profiled 1000 fork
expect_equal 'status' "$(fact status)" 0
expect_equal 'files' "$(ls prof*| tr '\n' ' ')" "prof prof_$(fact child) "
read_profile prof
expect agrees "$(told seconds)" 0.2 0.004
read_profile "prof_$(fact child)"
expect agrees "$(told seconds)" 0.2 0.004
profiled 1000 exec
expect_equal 'files' "$(ls prof*| tr '\n' ' ')" "prof prof_$(fact child) "
read_profile "prof_$(fact child)"
expect agrees "$(told seconds)" 0.2 0.004

it 'no tick reaches a program that another one becomes'
for round in 1 2 3 4 5; do
    profiled 4000 execs
    expect_status 0
    expect_equal 'the end of 40 programs' "$(fact done)" 1
    expect_equal 'errno of an exec that failed' "$(fact errno)" ''
done

it 'a child of vfork that ends at once leaves its parent alone'
profiled 1000 vfork
expect_equal 'status' "$(fact status)" 7
read_profile prof
expect agrees "$(told seconds)" 0.2 0.004

it 'children of vfork that become other programs take none of the memory of their parent'
profiled 100 vforkexecs
expect_equal 'status' "$(fact status)" 7
expect [ "$(fact pages)" -lt 80 ]

it 'a profile that starts as soon as another has stopped does not keep that one from its end'
run timeout 600 ./host relay
expect_status 0
expect_stdout 'ended 1'
rm -f relay.prof

it 'a child of raw clone may start threads'
profiled 1000 rawclone
expect_equal 'status' "$(fact status)" 7
read_profile prof
expect agrees "$(told seconds)" 0.2 0.004

it 'forking while threads tick neither hangs nor loses a child'
profiled 4000 forks
expect_status 0
expect_equal 'children' "$(fact done)" 30

it 'a program started through a wrapper writes the file itself'
rm -f prof prof_*
CPUPROFILE=prof LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run env ./host burn 0.2
expect_equal 'files' "$(ls prof*| tr '\n' ' ')" 'prof '
read_profile prof
expect agrees "$(told seconds)" 0.2 0.01

it 'a process of a recording, and a fork in it, meet few pages for the library'
# A process that does nothing meets some 48, and a child of fork 16. With variables and code in the order of the files
# it was 36 and 28 more.
mkdir few && touch few/brief
# Where the kernel puts mappings, and what it reads ahead, is chance; a variable in the wrong place costs pages each time.
for _ in 1 2 3 4 5; do
    python3 "$here/faults.py" "$PITOT_BUILD/libprofiler.so.0" "$PWD/few" >facts
    [ "$(fact process)" -gt 31 ] || [ "$(fact fork)" -gt 18 ] || break
done
expect [ "$(fact process)" -le 31 ]
expect [ "$(fact fork)" -le 18 ]

it 'an unloaded library keeps its samples'
profiled 1000 unload ./plugin.so
expect_equal 'dlclose' "$(fact closed)" 0
read_profile prof
expect grep -q '^file .*/plugin.so$' told

it 'many libraries that are unloaded one after the other do not make the library read all mappings each time'
if needs strace; then
    for i in $(seq 24); do cp plugin.so "many$i.so"; done
    CPUPROFILE=prof CPUPROFILE_FREQUENCY=100 run strace -f -e trace=openat -o trace ./host unloads ./many*.so
    expect_stdout 'closed 24'
    expect [ "$(grep -c 'self/maps' trace)" -le 30 ]
fi

it 'a library that comes and goes makes no other stack a new one'
profiled 1000 reload ./plugin.so
expect_equal 'dlclose' "$(fact closed)" 20
read_profile prof main
expect agrees "$(told seconds)" "$(fact cpu)" 0.004
expect [ "$(told main)" -ge 500 ]
expect_equal 'each stack is one record' "$(told distinct)" True

it 'a name may begin with any letter'
CPUPROFILE=Ägypten run ./host burn 0.1
expect [ -s Ägypten ]

it 'a program with more rights than its caller is not profiled'
if [ "$(id -u)" != 0 ]; then
    skip 'only root can make one'
else
    build_host host.c secure -Wl,-rpath,"$(secure_library)"
    chown 65534 secure
    chmod u+s secure
    chmod 777 .
    CPUPROFILE=secure.prof run ./secure burn 0.1
    expect_status 0
    expect [ ! -e secure.prof ]
fi
