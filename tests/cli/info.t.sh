#!/usr/bin/env bash
# pitot info: what a profile holds and lacks. The facts come from `go tool pprof -raw`, from counting
# lines, or from how the file was made.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden/pprof

it 'counts what go tool pprof -raw lists'
if needs go; then
    for name in cpu heap goroutine; do
        PPROF_TMPDIR=$PWD go tool pprof -raw -symbolize=none "$golden/$name.pb.gz" >raw 2>/dev/null
        run bash -c '"$PITOT" info --json "$1" | python3 -c "
import json, sys
info = json.load(sys.stdin)
print(info[\"samples\"], info[\"locations\"])"' - "$golden/$name.pb.gz"
        samples=$(awk '/^Samples:/ {on = 1} /^Locations/ {on = 0} on && /^ *[0-9-]+( +[0-9-]+)*: /' raw | wc -l)
        locations=$(awk '/^Mappings/ {on = 0} on && /^ *[0-9]+: 0x/ {n++} /^Locations/ {on = 1} END {print n}' raw)
        expect_stdout "$samples $locations"
    done
fi

it 'says how deep stacks are, by counting frames'
printf 'a 1\na;b 1\na;b;c;d;e;f 1\n' >a.folded
run pitot info a.folded
expect_status 0
expect_stdout_line 'file       a.folded: folded, 24 bytes'
expect_stdout_line 'events     samples (count): 3 in 3 samples, shown by default'
expect_stdout_line 'samples    3, 3 distinct stacks'
expect_stdout_line 'depth      1 to 6 frames, median 2, mean 3.0, 99% at most 6'
expect_stdout_line '*the file does not hold the sampling period'

it 'counts the values of labels, and the samples that have them'
run pitot info "$golden/cpu.pb.gz"
expect_stdout_line 'labels     phase: 1 value on * samples'

it 'says that a file is damaged, and ends with 4'
gzip -dc "$golden/cpu.pb.gz" | head -c 300 >cut.pb
run pitot info cut.pb
expect_status 4
expect_stdout_line 'file       cut.pb: pprof, 300 bytes, damaged'
expect_stdout_line '*part of the file could not be read'

it 'gives one JSON object for several files'
run bash -c '"$PITOT" info --json "$1" "$1" | python3 -c "
import json, sys
info = json.load(sys.stdin)
print(info[\"report\"], info[\"schema\"], len(info[\"files\"]), info[\"files\"][0][\"compression\"])"' - "$golden/cpu.pb.gz"
expect_stdout 'info 1 2 gzip'

it 'shows nothing that a terminal would obey'
printf 'a\033[31m;b 1\n' >evil.folded
run pitot info evil.folded
expect_status 0
expect_equal 'escapes' "$(grep -c "$(printf '\033')" <<<"$(stdout)")" 0
