#!/usr/bin/env bash
# pitot filter: the samples of a query as a profile.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;read 300\nmain;parse 200\nmain;emit;write 400\nmain;emit;parse 100\n' >a.folded

it 'writes the samples and the frames of the query'
run pitot filter --focus=parse a.folded -o b.folded
expect_status 0
expect_stdout_line 'b.folded: 600 of 1,000 samples'
expect_equal kept "$(sort b.folded)" 'main;emit;parse 100
main;parse 200
main;parse;read 300'
run pitot filter --show-from=parse --hide=read --to=folded a.folded
expect_equal frames "$(stdout)" 'parse 600'

it 'writes a profile whose reports are those of the query'
for query in --focus=parse --ignore=read --hide=emit --recursion=all; do
    pitot filter $query a.folded -o part.pb.gz >said
    expect_equal "$query" "$(pitot top -n 0 --csv part.pb.gz | cut -d, -f1,3,5)" "$(pitot top -n 0 --csv $query a.folded | cut -d, -f1,3,5)"
    expect grep -q -- "a part of the recording: $query" <(pitot info part.pb.gz)
done

it 'keeps the values of all events, or of one'
heap=$PITOT_ROOT/tests/golden/pprof/heap.pb.gz
pitot filter "$heap" -o all.pb.gz >said
expect_equal samples "$(pitot dump all.pb.gz | grep '^sample')" "$(pitot dump "$heap" | grep '^sample')"
pitot filter -e inuse_space "$heap" -o space.pb.gz >said
expect_equal rows "$(pitot top --csv space.pb.gz | cut -d, -f1-5)" "$(pitot top --csv -e inuse_space "$heap" | cut -d, -f1-5)"

it 'is the whole profile without a query, and no file where nothing matches'
pitot filter a.folded -o whole.pb.gz >said
expect_equal comments "$(pitot info whole.pb.gz | grep -c 'a part of')" 0
run pitot filter --focus=nothing a.folded -o none.pb.gz
expect_status 3
expect [ ! -e none.pb.gz ]
run pitot filter --focus=parse a.folded
expect_status 0
expect_equal 'profile.proto by default' "$(pitot top -n 1 --csv - <"$t_out/stdout" | tail -n 1 | cut -d, -f1,5)" '300,parse'
