#!/usr/bin/env bash
# pitot dump: samples and tables as they are.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;read 3\nmain;parse 2\n' >a.folded

it 'shows each sample with its stack, leaf first'
run pitot dump a.folded
expect_status 0
expect_stdout 'sample 0  samples=3 count
    read
    parse
    main

sample 1  samples=2 count
    parse
    main'

it 'shows so many samples and says how many more there are'
run pitot dump -n 1 a.folded
expect_stdout_line '1 more (-n 0)'

it 'shows values, labels, lines and inlined frames of a real profile'
if corpus pprof-goldens/fixtures/heap_tags.pb.gz; then
    run pitot dump "$corpus"
    expect_status 0
    expect_stdout_line '  label *'
fi
if corpus pprof/mtg__default.pgo; then
    run pitot dump "$corpus"
    expect_status 0
    expect_stdout_line '* inlined'
    expect_stdout_line '    runtime.*:*'
fi

it 'shows every table with --raw, strings where they are used and last as a table'
run pitot dump --raw a.folded
expect_status 0
for table in source event mapping function location line stack labels sample arc bin block extra \
    unknown string; do
    expect_stdout_line "$table [0-9]*"
done
expect_stdout_line "$(printf '1\t"parse"\t""\t""\t0\t*')"
expect_stdout_line "$(printf '0\t2 1 0\tunknown')"

it 'gives the same tables for the same profile, so that diff can compare'
pitot dump --raw a.folded >one.txt
cp a.folded b.folded
pitot dump --raw b.folded >two.txt
expect_same one.txt two.txt

it 'refuses --samples with --raw'
run pitot dump --raw -n 3 a.folded
expect_status 2
expect_stderr_has '--raw'

it 'writes samples and tables as JSON'
run pitot dump --json a.folded
expect_status 0
if needs python3; then
    stdout >a.json
    expect_equal 'what it holds' "$(python3 -c '
import json; d = json.load(open("a.json")); s = d["samples"][0]
print(d["schema"], d["events"], s["values"], [f["function"] for f in s["frames"]], s["end"])
')" "1 [{'type': 'samples', 'unit': 'count'}] [3] ['read', 'parse', 'main'] unknown"
    run pitot dump --raw --json a.folded
    stdout >b.json
    expect_equal 'tables' "$(python3 -c '
import json; t = json.load(open("b.json"))["tables"]
print(len(t), t["stack"]["columns"], t["stack"]["rows"])
')" "15 ['frames', 'end'] [[[2, 1, 0], 'unknown'], [[1, 0], 'unknown']]"
fi

it 'narrows to what a query leaves'
run pitot dump --focus=read a.folded
expect_stdout_line 'sample 0*'
expect_no_stdout_line 'sample 1*'
