#!/usr/bin/env bash
# pitot tree: the merged stacks, by arithmetic.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;read 3\nmain;parse 2\nmain;emit 1\nstart;main;emit 4\n' >a.folded

it 'shows who called what, the heaviest first; an only child goes on below its parent'
run pitot tree a.folded
expect_status 0
expect_stdout 'a.folded: 10 samples
unnamed 0%

 total%  total   self%   self  function
  60.0%      6      0%      0  main
  50.0%      5   20.0%      2  ├─ parse
  30.0%      3   30.0%      3  │  ↓ read
  10.0%      1   10.0%      1  └─ emit
  40.0%      4      0%      0  start
  40.0%      4      0%      0  ↓ main
  40.0%      4   40.0%      4  ↓ emit'

it 'folds what is lighter than --min into one line that counts it'
printf 'main;a 96\nmain;b 2\nmain;c 1\nmain;d 1\n' >b.folded
run pitot tree --min=3% b.folded
expect_stdout_line '   4.0%      4                 └─ (3 more, folded)'
expect_no_stdout_line '*─ b'

it 'counts at the end what is lighter than --min even together'
run pitot tree --min=5% b.folded
expect_stdout_line '3 lighter functions not shown (--min=0)'
expect_stdout_line '*100.0%    100*main'
expect_stdout_line '*↓ a'

it 'shows all with --min=0'
run pitot tree --min=0 b.folded
expect_stdout_lines 9

it 'folds what lies deeper than -n'
run pitot tree -n 1 --min=0 a.folded
expect_stdout_line '  60.0%      6                 ↓ (2 more, folded)'

it 'writes CSV in the order of the tree, with depths'
run pitot tree --csv a.folded
expect_stdout 'depth,self,self_share,total,total_share,name,file,inlined,folded
1,0,0,6,0.6,main,,false,0
2,2,0.2,5,0.5,parse,,false,0
3,3,0.3,3,0.3,read,,false,0
2,1,0.1,1,0.1,emit,,false,0
1,0,0,4,0.4,start,,false,0
2,0,0,4,0.4,main,,false,0
3,4,0.4,4,0.4,emit,,false,0'

it 'writes JSON with a schema number'
run pitot tree --json a.folded
if needs python3; then
    stdout >a.json
    expect_equal 'schema and rows' "$(python3 -c '
import json; d = json.load(open("a.json")); print(d["schema"], d["report"], len(d["rows"]))
')" '1 tree 7'
fi

it 'narrows to what a query leaves'
run pitot tree --focus=read --hide=parse a.folded
expect_stdout_line '  30.0%      3   30.0%      3  ↓ read'

it 'does not nest without bound: a stack of 20,000 frames'
printf 'f%.0s' 1 >deep.folded
for ((i = 0; i < 20000; i++)); do printf ';f'; done >>deep.folded
printf ' 7\n' >>deep.folded
run pitot tree --csv deep.folded
expect_status 0
expect_stdout_lines 20002
