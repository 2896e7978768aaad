#!/usr/bin/env bash
# What users of the original complain about (the numbers are those of github.com/gperftools/gperftools
# unless another project is named), each as a test that it cannot happen here.
. "$(dirname "$0")/lib.sh"

build_host complaints_host.c host
build_host host.c threads
build_plugin

# The rate that is asked for in all of these: ticks come as thick as they may.
hz=4000

it 'complaint: deadlock in the unwinder, a thread holds the lock of the loader (#1210 #775 #1188 #43 #1583, libunwind #301 #16)'
profiled $hz loader_lock ./plugin.so
expect_status 0
read_profile prof under_the_lock
expect agrees "$(calc "$(told under_the_lock) / $hz")" 0.3 0.004

it 'complaint: deadlock in malloc, which a tick interrupted'
profiled $hz malloc_lock
expect_status 0
read_profile prof
expect agrees "$(told seconds)" "$(fact cpu)" 0.004

it 'complaint: crash on a frame that is none (#323 #374 #471 #1306)'
profiled $hz bad_frames
expect_status 0
read_profile prof
expect agrees "$(told seconds)" "$(fact cpu)" 0.004

it 'complaint: empty file when the program is killed (#1475 #143)'
for signal in 2 3 6 9 11 15; do
    rm -f prof
    CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 run bash -c './host signalled "$1"; exit $?' - $signal
    expect_status $((128 + signal))
    cp "$t_out/stdout" facts
    run pitot top prof
    expect_status 0
    expect_stderr_line 'pitot: 1 journal of a process that was killed*'
    pitot recover prof >/dev/null 2>&1
    read_profile prof
    expect agrees "$(told seconds)" "$(fact cpu)" 0.004
done

it 'complaint: the rate is not the one asked for, and the file says it is (#874 #1221, perftools.rb #37)'
for rate in 250 1000 4000; do
    rm -f prof
    CPUPROFILE=prof CPUPROFILE_FREQUENCY=$rate run ./threads burn 0.4
    cp "$t_out/stdout" facts
    read_profile prof
    expect agrees "$(told seconds)" "$(fact cpu)" 0.004
done

it 'complaint: threads that did not register are not seen (#338 #708 #826 #1063)'
rm -f prof
CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 run ./threads workers 0.1
workers='worker1 worker2 worker3 worker4 worker5 worker6 worker7 worker8'
read_profile prof $workers
for worker in $workers; do
    expect agrees "$(calc "$(told $worker) / 1000")" 0.1 0.004
done

it 'complaint: of threads that work the same some are charged more (golang #14434 #35057, honest-profiler #252)'
profiled 1000 fair
read_profile prof left_worker right_worker blocked_worker
expect agrees "$(calc "$(told left_worker) / 1000")" 0.4 0.004
expect agrees "$(calc "$(told right_worker) / 1000")" 0.4 0.004
expect [ "$(told blocked_worker)" -le 20 ]

it 'complaint: a child of fork that exits spoils the profile of its parent, and is not in its own (#107 #335 #463 #546 #836 #1326)'
profiled 1000 child_exits
read_profile prof
expect agrees "$(told seconds)" 0.3 0.004
expect_equal 'each stack is one record' "$(told distinct)" True
read_profile "prof_$(fact child)"
expect agrees "$(told seconds)" 0.1 0.004

it 'complaint: "Profiling timer expired" ends the program that another one becomes (#1535)'
for _ in 1 2 3 4 5; do
    profiled $hz becomes_another
    expect_status 0
done
profiled $hz becomes_another_slowly
expect_status 0

it 'complaint: fork never comes back in a large program that is profiled (#281 #335 #704, async-profiler #97)'
profiled $hz large_fork
expect_status 0
expect_equal children "$(fact done)" 10

it 'complaint: samples of a library that was unloaded have no name (#787 #543)'
rm -f prof
CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 run ./threads unload ./plugin.so
run pitot top prof
expect_stdout_line '*plugin_burn*'

# theirs: the libprofiler of gperftools that is installed here, or nothing.
theirs=$(ldconfig -p 2>/dev/null | awk '$1 == "libprofiler.so.0" { print $NF; exit }')

it 'complaint: the profiler takes ten megabytes to start'
${CC:-cc} $flags -D_GNU_SOURCE -Wno-unused-parameter "$here/complaints_host.c" -o plain
run ./plain memory
cp "$t_out/stdout" facts
without=$(fact anonymous_kb) mapped_without=$(($(fact shared_kb) + $(fact file_kb)))
# takes LIBRARY THREADS: what a program with that many more threads has more.
takes() {
    CPUPROFILE=prof LD_PRELOAD=$1 run ./plain memory "$2"
    cp "$t_out/stdout" facts
    echo "# $1 with $2 more threads: $(($(fact anonymous_kb) - without)) KiB of its own," \
        "$(($(fact shared_kb) + $(fact file_kb) - mapped_without)) KiB of files"
    rm -f prof
}
for threads in 0 32; do
    [ -z "$theirs" ] || takes "$theirs" $threads
    takes "$PITOT_BUILD/libprofiler.so.0" $threads
    expect [ $(($(fact anonymous_kb) - without)) -le $((1024 + 64 * threads)) ]
done

it 'complaint: the file takes a hundred bytes a sample'
# Thousands of different stacks of thirty frames, and one program that does the same all the time. A gperftools file
# has eight bytes for each frame of each different stack, whoever writes it; a profile.proto has not.
samples_of() { pitot info "$1" 2>/dev/null | sed -n 's/^events *samples (count): \([0-9,]*\).*/\1/p' | tr -d ,; }
for work in 'winding 1' 'burn 1'; do
    ${CC:-cc} $flags -D_GNU_SOURCE -Wno-unused-parameter -I "$PITOT_ROOT/include" "$here/host.c" -o any \
        -L "$PITOT_BUILD" -l:libprofiler.so.0
    for library in $theirs "$PITOT_BUILD/libprofiler.so.0" proto; do
        file=prof
        [ "$library" = proto ] && file=prof.pb.gz library=$PITOT_BUILD/libprofiler.so.0
        rm -f $file
        CPUPROFILE=$file CPUPROFILE_FREQUENCY=4000 LD_LIBRARY_PATH=$(dirname "$library") run ./any $work
        samples=$(samples_of $file)
        said=$(($(stat -c %s $file) / (samples > 0 ? samples : 1)))
        echo "# $work: $library, $file: $(stat -c %s $file) bytes, $samples samples, $said bytes a sample"
        [ $file = prof.pb.gz ] && expect [ "$said" -le 16 ]
        [ "$work" = 'burn 1' ] && [ "$library" != "$theirs" ] && expect [ "$said" -le 4 ]
    done
done
