#!/usr/bin/env bash
# gperftools' own test of its profiler, profiler_unittest.sh of its source package, with this library and `pitot google-pprof`.
. "$(dirname "$0")/../cli/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
command -v "${CXX:-g++}" >/dev/null || skip_all "${CXX:-g++} is not installed"

# The package's source by apt, with lists of its own: those of the machine have no sources.
own=(-o Dir::Etc::sourcelist="$PWD/source.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/lists"
    -o Dir::Cache="$PWD/cache" -o APT::Sandbox::User=)
mkdir -p lists/partial cache
mirror=$(apt-get indextargets 'Created-By: Packages' --format '$(REPO_URI) $(RELEASE)' 2>apt.log | grep '/debian/ ' | head -n 1)
[ -n "$mirror" ] || skip_all 'there is no mirror of Debian'
printf 'deb-src %s main\n' "$mirror" >source.list
{ apt-get "${own[@]}" update && apt-get "${own[@]}" source --download-only google-perftools; } >apt.log 2>&1 ||
    skip_all 'the source package google-perftools cannot be had'
mkdir source
tar -xf google-perftools_*.orig.tar.* --strip-components=1 -C source || exit 1

# Without optimisation: at 100 samples a second its loops would be too short for a sample in each run.
printf '#define HAVE_UNISTD_H 1\n#define HAVE_PTHREAD 1\n#define HAVE_SYS_RESOURCE_H 1\n' >config.h
for n in 1 2 3 4; do
    threads=-pthread
    [ "$n" -gt 2 ] || threads=-DNO_THREADS
    "${CXX:-g++}" -g -O0 $threads -I. -Isource/src -I"$PITOT_ROOT/include" source/src/tests/profiler_unittest.cc \
        source/src/tests/testutil.cc -o "profiler${n}_unittest" "$PITOT_BUILD/libprofiler.so.0" -Wl,-rpath,"$PITOT_BUILD" -pthread ||
        exit 1
done
printf '#!/bin/sh\nexec "%s" google-pprof "$@"\n' "$PITOT" >pprof
chmod +x pprof
sed "s,^TMPDIR=.*,TMPDIR=$PWD/profiles," source/src/tests/profiler_unittest.sh >unittest.sh

it 'passes the test of gperftools itself'
run sh unittest.sh . ./pprof
expect_status 0
expect_stdout_line 'Tests finished with 0 failures'
