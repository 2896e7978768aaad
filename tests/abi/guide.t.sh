#!/usr/bin/env bash
# The user guide of the original (gperftools' cpuprofile.html, of 2007), sentence by sentence, as far
# as it speaks of the library; then its caveats, which do not hold any more.
. "$(dirname "$0")/lib.sh"

build_host host.c host
build_plugin
ln -s "$PITOT_BUILD/libprofiler.so.0" libprofiler.so
# A program that is linked as the guide says, with -lprofiler, from a folder that has both headers.
cat >guide.c <<'END'
#include <gperftools/profiler.h>
#include <stdio.h>
#include <time.h>
__attribute__((noinline)) void part(double seconds)
{
    struct timespec t;
    volatile unsigned x = 1;
    double end = -1, now;
    do {
        for (int i = 0; i < 20000; i++)
            x = x * 3 + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = t.tv_sec + t.tv_nsec * 1e-9;
        if (end < 0) end = now + seconds;
    } while (now < end);
}
__attribute__((noinline)) void before(void) { part(0.1); __asm__(""); }
__attribute__((noinline)) void bracketed(void) { part(0.2); __asm__(""); }
int main(int argc, char **argv)
{
    before();
    if (argc > 1 && !ProfilerStart(argv[1])) return 1;
    bracketed();
    if (argc > 1) ProfilerStop();
    before();
    return 0;
}
END
${CC:-cc} $flags -I "$PITOT_ROOT/include" guide.c -o guide -L . -lprofiler -Wl,-rpath,"$PITOT_BUILD" || exit 1
${CC:-cc} $flags -Wno-unused-parameter -D_GNU_SOURCE "$here/complaints_host.c" -o plain || exit 1

it 'to install the profiler add -lprofiler to the link step'
expect grep -q libprofiler.so.0 <(LC_ALL=C readelf -dW guide)
sed 's/gperftools/google/' guide.c >google.c
expect ${CC:-cc} $flags -I "$PITOT_ROOT/include" google.c -o google -L . -lprofiler -Wl,-rpath,"$PITOT_BUILD"

it 'it can be added at run time by LD_PRELOAD'
LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 CPUPROFILE=preloaded.prof CPUPROFILE_FREQUENCY=1000 run ./plain fair
expect_status 0
read_profile preloaded.prof left_worker
expect [ "$(told left_worker)" -ge 300 ]

it 'linking it in turns no profiling on: no file, no thread, no signal handler'
mkdir off
(cd off && LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 cat /proc/self/status >../off.status)
expect_equal files "$(ls off)" ''
expect_equal threads "$(awk '$1 == "Threads:" { print $2 }' off.status)" 1
expect_equal 'caught signals' "$(awk '$1 == "SigCgt:" { print $2 }' off.status)" \
    "$(cat /proc/self/status | awk '$1 == "SigCgt:" { print $2 }')"

it 'any user can turn it on by a variable, but not in a program that forbids it'
build_host session_host.c forbids '-DFORBIDS="environment=off"'
CPUPROFILE=forbidden.prof run ./forbids burn
expect [ ! -e forbidden.prof ]

it 'CPUPROFILE names the file that the whole run is dumped to'
CPUPROFILE=run.prof CPUPROFILE_FREQUENCY=1000 run ./guide
expect_status 0
read_profile run.prof before bracketed
expect agrees "$(calc "$(told before) / 1000")" 0.2 0.004
expect agrees "$(calc "$(told bracketed) / 1000")" 0.2 0.004

it 'ProfilerStart and ProfilerStop bracket what is profiled, ProfilerStart takes the file'
CPUPROFILE_FREQUENCY=1000 run ./guide part.prof
expect_status 0
read_profile part.prof before bracketed
expect_equal 'samples outside' "$(told before)" 0
expect agrees "$(calc "$(told bracketed) / 1000")" 0.2 0.004

it 'all threads are profiled by themselves'
profiled 1000 workers 0.1
read_profile prof worker1 worker8
expect agrees "$(calc "$(told worker1) / 1000")" 0.1 0.004
expect agrees "$(calc "$(told worker8) / 1000")" 0.1 0.004

it 'each child process gets its own profile, named by CPUPROFILE and its process id'
profiled 1000 fork
expect_equal files "$(ls prof* | tr '\n' ' ')" "prof prof_$(fact child) "
profiled 1000 exec
expect_equal files "$(ls prof* | tr '\n' ' ')" "prof prof_$(fact child) "

it 'it writes no file for setuid programs'
if [ "$(id -u)" != 0 ]; then
    skip 'only root can make one'
else
    ${CC:-cc} $flags -I "$PITOT_ROOT/include" guide.c -o setuid -L . -lprofiler -Wl,-rpath,"$(secure_library)" || exit 1
    chown 65534 setuid
    chmod u+s setuid
    chmod 777 .
    CPUPROFILE=setuid.prof run ./setuid
    expect_status 0
    expect [ ! -e setuid.prof ]
fi

it 'CPUPROFILE_FREQUENCY is how many samples a second are taken, 100 if it is not set'
CPUPROFILE=hundred.prof run ./guide
read_profile hundred.prof
expect_equal period "$(told period_us)" 10000
expect agrees "$(told seconds)" 0.4 0.01
CPUPROFILE=more.prof CPUPROFILE_FREQUENCY=250 run ./guide
read_profile more.prof
expect_equal period "$(told period_us)" 4000
CPUPROFILE=never.prof CPUPROFILE_FREQUENCY=250Hz run ./guide
expect_stderr 'pitot: libprofiler: CPUPROFILE_FREQUENCY=250Hz: not a whole number of samples a second, 1 to 4000; sampling at 100'
read_profile more.prof
expect agrees "$(told seconds)" 0.4 0.004

it 'pprof, the script, analyses the profile: text, callgraph, listing, disassembly'
if needs google-pprof; then
    google-pprof --text ./guide run.prof >text 2>/dev/null
    expect grep -Eq '^ *[0-9]+ .* part$' text
    google-pprof --dot ./guide run.prof >dot 2>/dev/null
    expect grep -q 'before' dot
    google-pprof --list=part ./guide run.prof >list 2>/dev/null
    expect grep -q 'volatile unsigned x' list
    google-pprof --disasm=part ./guide run.prof >disasm 2>/dev/null
    expect grep -q 'of total' disasm
fi

# --- the caveats

it 'no longer: a program that exits because of a signal leaves an incomplete or empty profile'
for signal in 11 15 9; do
    rm -f signalled.prof
    run bash -c 'LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 CPUPROFILE=signalled.prof CPUPROFILE_FREQUENCY=1000 \
        ./plain signalled "$1"; exit $?' - $signal
    cp "$t_out/stdout" facts
    run pitot convert signalled.prof -o signalled.pb.gz
    expect_status 0
    pitot convert signalled.pb.gz --to=folded -e samples --symbols=off -o folded 2>/dev/null
    expect agrees "$(awk '{ n += $NF } END { print n / 1000 }' folded)" "$(fact cpu)" 0.004
done

it 'no longer: samples of a library without symbols are charged to the last symbol before it'
# plugin_burn is known by the dynamic symbols alone; hide it, too.
sed 's/void plugin_burn/static void hidden_burn/; $a __attribute__((visibility("hidden"))) void (*entry)(double) = hidden_burn;' plugin.c >hidden.c
cat >>hidden.c <<'END'
void plugin_burn(double seconds) { hidden_burn(seconds); __asm__(""); }
END
${CC:-cc} $flags -fno-inline -shared -fPIC -s hidden.c -o hidden.so
rm -f hidden.prof
CPUPROFILE=hidden.prof CPUPROFILE_FREQUENCY=1000 run ./host unload ./hidden.so
run pitot top hidden.prof
expect_status 0
# 0.3 s of the program, by addresses of the library: all of them together.
expect_stdout_line '*hidden.so+0x*'
pitot top -n 0 --json hidden.prof 2>/dev/null | tr -d ' \n' | grep -o '"name":"\[hidden.so[^}]*' |
    grep -o '"self":[0-9]*' | cut -d: -f2 | awk '{ n += $1 } END { printf "%d\n", n / 1000000 }' >milliseconds
expect [ "$(cat milliseconds)" -ge 250 ]

it 'no longer: where the libraries differ from those of the run, samples are assigned to arbitrary procedures'
cp plugin.so other.so
rm -f other.prof
CPUPROFILE=other.prof CPUPROFILE_FREQUENCY=1000 run ./host unload ./other.so
# On this "other machine" other.so is another build: its one function lies where plugin_burn was.
sed 's/plugin_burn/wrong_name/' plugin.c >wrong.c
${CC:-cc} $flags -shared -fPIC wrong.c -o other.so
HOME=$PWD/elsewhere run pitot top other.prof
expect_status 0
expect [ "$(grep -c wrong_name "$t_out/stdout")" = 0 ]
expect_stderr_has 'other.so'

it 'no longer: a CPUPROFILE whose first character is above 127 names another file'
for name in Ägypten ./Ägypten; do
    rm -f Ägypten*
    CPUPROFILE=$name run ./guide
    expect [ -s Ägypten ]
    expect_equal files "$(ls | grep -c gypten)" 1
done
