#!/usr/bin/env bash
# The files that libprofiler.so.0 leaves: gperftools, profile.proto, and the journal of a process that
# was killed; and that all tools read the same in them.
. "$(dirname "$0")/lib.sh"

build_host session_host.c host
go=go
[ -x /usr/lib/go-1.23/bin/go ] && go=/usr/lib/go-1.23/bin/go

# flushed NAME [VARIABLE...]: profiles, flushes into NAME, and is killed: NAME.journal has the same.
flushed() {
    rm -rf "$1" "$1.journal"
    env CPUPROFILE_FREQUENCY=1000 "${@:2}" bash -c './host flushed "$1"; exit 0' - "$1" 2>/dev/null
}
# stacks FILE: its stacks by address, with their counts, sorted. A gperftools file keeps no reason why
# a stack ended.
stacks() { pitot convert "$1" --to=folded -e samples --symbols=off -o "$t_dir/stacks" 2>/dev/null && sort stacks; }

it 'after SIGKILL the profile is read from its name, all of it, and that is said'
rm -f prof
CPUPROFILE=prof CPUPROFILE_FREQUENCY=1000 run bash -c './host killed; exit $?'
expect_status 137
run pitot top prof
expect_status 0
expect_stderr_line 'pitot: 1 journal of a process that was killed or still runs (pid *): complete up to a tenth of a second before its end'
expect_stdout_line '*burn*'

it 'recover makes the gperftools file of it, in its place'
run pitot recover prof
expect_status 0
expect_stdout_line 'prof: * samples of process * (host)'
read_profile prof burn
expect_equal 'mode of the file' "$(stat -c %a prof)" 600
expect [ "$(told burn)" -ge 150 ]
run pitot recover prof
expect_status 1
expect_stderr 'pitot: prof: not a journal of libprofiler'

it 'recover uses what came after a flush'
flushed prof
stacks prof.journal >journal
run pitot recover prof
expect_status 0
expect [ ! -e prof.journal ]
stacks prof >recovered
expect_same journal recovered

it 'recover leaves a journal alone that is still written'
rm -f prof
CPUPROFILE=prof ./host waits >waits.out &
host=$!
eventually grep -q ready waits.out
run pitot recover prof
expect_status 1
expect_stderr "pitot: prof: process $host (host) is still writing this journal; -o FILE makes a profile of its present contents"
run pitot recover prof -o now.pb.gz
expect_status 0
kill -9 $host
wait $host 2>/dev/null
expect_equal journal "$(head -c 8 prof)" PITOTJNL
run pitot recover prof nowhere
expect_status 1
expect_stderr_line 'pitot: nowhere: no such file'
expect_stdout_line 'prof: * samples of process *'

it 'a name that ends in .pb.gz, or PITOT_FORMAT=pprof, makes a profile.proto with all the journal has'
for way in 'x.pb.gz' 'x PITOT_FORMAT=pprof'; do
    flushed $way
    name=${way%% *}
    expect gzip -t <"$name"
    expect_equal 'mode of the file' "$(stat -c %a "$name")" 600
    stacks "$name" >ours
    # profile.proto has addresses of calls where the journal has those behind them.
    pitot convert "$name.journal" -o converted.pb.gz 2>/dev/null
    stacks converted.pb.gz >journal
    expect_same journal ours
    expect [ -s ours ]
    for file in "$name" "$name.journal"; do
        pitot info "$file" 2>/dev/null | grep -E '^(ends|mappings)|0x' >"$file.info"
    done
    expect_same "$name.journal.info" "$name.info"
    run pitot top "$name"
    expect_stdout_line '*CPU time seen * of *'
done

it 'PITOT_FORMAT=gperftools is stronger than the name, another word is told'
flushed x.pb.gz PITOT_FORMAT=gperftools
read_profile x.pb.gz
expect_equal period "$(told period_us)" 1000
CPUPROFILE=odd PITOT_FORMAT=shoe run ./host burn
expect grep -q 'PITOT_FORMAT=shoe: use pprof or gperftools; the name of the file decides now' "$t_out/stderr"
read_profile odd
expect_equal period "$(told period_us)" 10000

it 'a child writes what its parent writes'
rm -f c.pb.gz*
CPUPROFILE=c.pb.gz run ./host spawn
child=$(awk '$1 == "child" { print $2 }' "$t_out/stdout")
expect gzip -t <c.pb.gz
expect gzip -t <"c.pb.gz_$child"

it 'go tool pprof reads the same from either format'
if needs "$go"; then
    for name in g.prof g.pb.gz; do
        flushed $name
        "$go" tool pprof -sample_index=0 -top ./host $name 2>/dev/null >go
        total=$(pitot convert $name --to=folded -e samples -o folded 2>/dev/null; awk '{ n += $NF } END { print n }' folded)
        expect grep -q " of $total total" go
        expect grep -Eq '^ *[0-9]+ .* burn$' go
    done
    "$go" tool pprof -raw g.pb.gz 2>/dev/null >raw
    expect grep -q '^PeriodType: cpu nanoseconds' raw
    expect grep -q '^Period: 1000000' raw
    expect grep -Eq "host $(readelf -n host | awk '/Build ID/ { print $3 }')" raw
fi

it 'stacks of an unloaded library keep their mapping in a profile.proto'
build_plugin
build_host host.c unloads
CPUPROFILE=u.pb.gz CPUPROFILE_FREQUENCY=1000 run ./unloads unload ./plugin.so
run pitot top u.pb.gz
expect_stdout_line '*plugin_burn*plugin.c*'
expect [ "$(pitot top u.pb.gz --json 2>/dev/null | python3 -c "
import json, sys
rows = json.load(sys.stdin)['rows']
print(sum('plugin_burn' in json.dumps(r) for r in rows))")" -ge 1 ]
