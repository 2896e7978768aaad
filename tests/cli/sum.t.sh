#!/usr/bin/env bash
# Sums of events: -e cpu+off-cpu, with the columns of their parts.
. "$(dirname "$0")/lib.sh"

# A heap with bytes and objects of what was allocated and of what is in use.
cat >heap.prof <<'PROF'
heap profile: 3: 300 [5: 900] @ heap
1: 100 [2: 500] @ 0x1000 0x3000
2: 200 [3: 400] @ 0x2000 0x3000
PROF

# values COLUMN...: the report's cells under these titles of CSV, sorted.
values() {
    pitot "${report[@]}" --csv heap.prof 2>/dev/null |
        python3 -c '
import csv, sys
for row in sorted(csv.DictReader(sys.stdin), key=lambda row: row["name"]):
    if any(row[key] != "0" for key in sys.argv[1:]): print(row["name"], *(row[key] for key in sys.argv[1:]))' "$@"
}

sum=alloc_space+inuse_space
for name in top tree; do
    it "$name has the columns that it has of each event alone"
    needs python3 || continue
    depth=()
    [ $name = top ] || depth=(--min=0)
    for part in inuse_space alloc_space; do
        report=("$name" "${depth[@]}" -e "$sum")
        values "self:$part" "total:$part" >parts
        report=("$name" "${depth[@]}" -e "$part")
        values self total >alone
        expect test -s parts
        expect diff parts alone
    done
    run pitot $name "${depth[@]}" -e $sum heap.prof
    expect_stdout_line '*: alloc_space+inuse_space, 1.17kB: alloc_space 900B, inuse_space 300B, *'
    expect_stdout_line '* alloc_space inuse_space  function'
    run pitot $name "${depth[@]}" -e $sum --json heap.prof
    expect python3 - "$t_out/stdout" <<'PY'
import json, sys
answer = json.load(open(sys.argv[1]))
assert answer['profile']['parts'] == [{'event': 'alloc_space', 'total': 900}, {'event': 'inuse_space', 'total': 300}]
for row in answer['rows']:
    for which in ('self', 'total'):
        assert row[which] == row[which + ':inuse_space'] + row[which + ':alloc_space'], row
PY
done

it 'every report takes a sum'
for name in flame graph; do
    run pitot $name -e $sum -o "$name.svg" heap.prof
    expect_status 0
done
run pitot traces -e $sum heap.prof
expect_stdout_line '600B  50.0%'
run pitot filter -e $sum -o sum.pb.gz heap.prof
expect_status 0
run pitot info sum.pb.gz
expect_stdout_line 'events *alloc_space+inuse_space (bytes): 1.17kB in 2 samples, shown by default'
run pitot top -e $sum sum.pb.gz # an event of that name, without parts
expect_status 0
expect_no_stdout_line '* alloc_space inuse_space *'

it 'says which events cannot be added up'
run pitot top -e inuse_space+alloc_objects heap.prof
expect_status 2
expect_stderr_line 'pitot: --event=inuse_space+alloc_objects: inuse_space is in bytes and alloc_objects in count; a sum takes events of one unit'
run pitot top -e inuse_space+cpu heap.prof
expect_status 2
expect_stderr_line "pitot: --event=inuse_space+cpu: the profile has no event 'cpu'; its events: *"
run pitot top -e inuse_space+inuse_space heap.prof
expect_status 2
expect_stderr_line "pitot: --event=inuse_space+inuse_space: 'inuse_space' is there twice"
