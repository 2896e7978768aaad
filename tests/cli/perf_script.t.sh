#!/usr/bin/env bash
# What perf script prints holds the same samples as the perf.data it was printed from.
. "$(dirname "$0")/lib.sh"

golden=$PITOT_ROOT/tests/golden/perf.data

for file in fp.data two.data pipe.data; do
    it "reads the text of $file: its samples, threads, times and values"
    if needs perf; then
        perf script --ns --no-inline -F comm,pid,tid,time,period,event,ip,sym,dso -i "$golden/$file" \
            >script.txt 2>/dev/null
        for what in "$golden/$file" script.txt; do
            pitot dump --raw --symbols=off "$what" 2>/dev/null |
                awk -F '\t' '/^[a-z]+ [0-9]+$/ { t = $1; next } t ~ /^sample / && !/^#/ {
                    print $4, $5, $6, $7, $9 }' >"$(basename "$what").samples"
        done
        expect [ -s script.txt.samples ]
        expect_same script.txt.samples "$file.samples"
    fi
done

for file in rust-mangled simple-with-header system-wide; do
    it "reads $file of the corpus: as many samples as it has lines of them"
    if corpus "perf-script/speedscope__$file.linux-perf.txt"; then
        run pitot info --json "$corpus"
        expect_status 0
        count=$(grep -cE '^[^[:space:]#].*: *$' "$corpus")
        expect_stdout_has "\"samples\": $count,"
    fi
done

# The head of a sample is "comm pid... time: period event:", with more words in between or fewer.
for file in gzip.perf simple-perf.txt test.perf; do
    it "reads $file.gz of the corpus: the samples and the periods of all events that its lines add up to"
    if corpus "firefox-fixtures/profiler__$file.gz" && needs python3; then
        zcat "$corpus" | awk '/^[^[:space:]#].*: *$/ { samples++; sum += $(NF - 1) }
            END { printf "%d %.0f\n", samples, sum }' >lines
        run pitot info --json "$corpus"
        expect_status 0
        stdout | python3 -c 'import json, sys
totals = {e["type"]: e["total"] for e in json.load(sys.stdin)["events"]}
print(totals.pop("samples"), sum(totals.values()))' >ours
        expect_same ours lines
    fi
done

it 'takes perf script from a pipe'
if needs perf; then
    run bash -c 'perf script -i "$1" 2>/dev/null | "$PITOT" top --symbols=off -' - "$golden/fp.data"
    expect_status 0
    expect_stdout_line '*cpu-clock, 56.7ms*'
fi
