#!/usr/bin/env bash
# What environment variables make of libprofiler.so.0, and who may forbid them.
. "$(dirname "$0")/lib.sh"

build_host session_host.c host
build_host session_host.c forbids '-DFORBIDS="environment=off"'
build_host session_host.c strange '-DFORBIDS="environment=on:shoes=blue"'

# files: what profiles there are, in one line.
files() { ls | grep -v -x -e host -e forbids -e strange -e facts -e told -e secure -e secure_lib | tr '\n' ' '; }
none_left() { find . -maxdepth 1 -type f ! -name host ! -name forbids ! -name strange -delete; }

it 'a signal starts a profile, the next one ends it, each in a file with its number'
none_left
CPUPROFILE=prof CPUPROFILESIGNAL=12 CPUPROFILE_FREQUENCY=1000 run ./host toggle 12
cp "$t_out/stdout" facts
expect_status 0
expect_no_stderr
expect_equal 'profiled before the first signal' "$(fact before)" 0
expect_equal files "$(files)" 'prof.0 prof.1 '
for profile in prof.0 prof.1; do
    read_profile $profile burn
    expect agrees "$(told seconds)" 0.2 0.004
done

it 'a child of fork starts and ends profiles of its own'
none_left
CPUPROFILE=prof CPUPROFILESIGNAL=12 run ./host toggle_fork 12
cp "$t_out/stdout" facts
expect_equal status "$(fact status)" 0
expect_equal files "$(files)" "prof.0 prof.0_$(fact child) prof_$(fact child).0 "

it 'a signal that cannot be had is told, and nothing is profiled'
for signal in 0 65 x 9 27 -1; do
    none_left
    CPUPROFILE=prof CPUPROFILESIGNAL=$signal run ./host burn
    expect_status 0
    expect grep -q "CPUPROFILESIGNAL=$signal: .*not profiling" "$t_out/stderr"
    expect_equal files "$(files)" ''
done

it 'the first process writes the name, those it starts the name and their process id'
none_left
CPUPROFILE=prof run ./host spawn
cp "$t_out/stdout" facts
expect_equal files "$(files)" "prof prof_$(fact child) "

it 'a program that becomes another one leaves it the name, and keeps what it worked before'
none_left
CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 run ./host works_and_execs
expect_status 0
kept=$(ls | grep '^prof_[0-9]*$')
expect_equal files "$(files)" "prof $kept "
read_profile prof
expect agrees "$(told seconds)" 0.2 0.004
run pitot recover "$kept"
expect_status 0
expect_no_stderr_line '*was killed*'
read_profile "$kept"
expect agrees "$(told seconds)" 0.35 0.004

it 'a wrapper that becomes the program leaves no file of its own'
none_left
CPUPROFILE=prof LD_PRELOAD=$PITOT_BUILD/libprofiler.so.0 run env ./host burn 0.1
expect_equal files "$(files)" 'prof '

it 'another process that gets the id of the first one is not taken for it'
none_left
# The mark of an earlier process with this id: it began at another time.
CPUPROFILE=prof run bash -c 'PITOT_CPUPROFILE_FIRST=$$.1 exec ./host burn'
expect_equal 'files' "$(files | sed 's/prof_[0-9]* /prof_PID /')" 'prof_PID '

it 'CPUPROFILE is never changed, whatever letter it begins with'
for name in prof Ägypten ./Ägypten Ωmega 日本 '😀' 'é'; do
    none_left
    CPUPROFILE=$name run ./host variable "$name"
    expect_stdout 'same 1'
    expect_equal "files of $name" "$(files)" "${name#./} "
done

it "the mark of another library's parent is understood"
none_left
# gperftools 2.10 sets the high bit of the first byte: p becomes \360, / becomes \257, . becomes \256.
for marked in $'\360rof' $'\257'"${PWD#/}/prof" $'\256/prof'; do
    none_left
    CPUPROFILE=$marked run ./host burn
    expect_equal 'files' "$(files | sed 's/prof_[0-9]* /prof_PID /')" 'prof_PID '
done
none_left
CPUPROFILE=prof CPUPROFILE_USE_PID=1 run ./host burn
expect_equal 'files' "$(files | sed 's/prof_[0-9]* /prof_PID /')" 'prof_PID '

it 'processes of a parallel job have their ranks in the name'
# named NAME VARIABLE...: the file that a process with these variables writes.
named() {
    none_left
    CPUPROFILE=prof run env "${@:2}" ./host burn
    expect_equal "file with ${*:2}" "$(files | sed 's/_[0-9]* /_PID /')" "$1 "
}
named prof.rank-5 PMIX_RANK=5
named prof.rank-7 PMI_RANK=7
named prof.slurmid-3 SLURM_JOB_ID=1 SLURM_PROCID=3
named prof_PID SLURM_JOB_ID=1
named prof_PID OMPI_HOME=/opt/mpi
named prof.rank-5 PMIX_RANK=5 SLURM_JOB_ID=1 SLURM_PROCID=3
named prof.rank-5_PID PMIX_RANK=5 CPUPROFILE_USE_PID=1
named prof_PID PMIX_RANK=../5
none_left
CPUPROFILE=prof PMIX_RANK=5 run ./host spawn
cp "$t_out/stdout" facts
expect_equal files "$(files)" "prof.rank-5 prof.rank-5_$(fact child) "

it 'an empty CPUPROFILE is none'
none_left
CPUPROFILE= run ./host burn
expect_equal files "$(files)" ''

it 'a program that forbids the environment is left alone by it'
none_left
mkdir -p record
CPUPROFILE=prof CPUPROFILESIGNAL=12 PITOT_LISTEN=127.0.0.1:0 PITOT_RECORD_DIR=$PWD/record run ./forbids burn
expect_status 0
expect_no_stderr
rmdir record # nothing is in it
expect_equal files "$(files)" ''
CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 run ./forbids asks
expect_stdout_line 'by itself 0'
expect_stdout_line 'start 1'
expect_equal files "$(files)" 'asks.prof '
read_profile asks.prof
expect_equal 'period, not from the environment' "$(told period_us)" 10000

it 'a word that pitot_default_options should not have is told'
none_left
CPUPROFILE=prof run ./strange burn
expect_status 0
expect grep -q 'pitot_default_options: shoes=blue: not understood' "$t_out/stderr"
expect_equal files "$(files)" 'prof '

it 'a program with more rights than its caller is not profiled, nor reached'
if [ "$(id -u)" != 0 ]; then
    skip 'only root can make one'
else
    chmod 777 .
    for rights in u+s g+s; do
        none_left
        build_host session_host.c secure -Wl,-rpath,"$(secure_library)"
        chown 65534:65534 secure
        chmod $rights secure
        CPUPROFILE=prof PITOT_LISTEN=127.0.0.1:0 PITOT_RECORD_DIR=$PWD run ./secure burn
        expect_status 0
        expect_no_stderr
        expect_equal "files of $rights" "$(files)" ''
    done
fi
