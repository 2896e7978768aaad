#!/usr/bin/env bash
# pitot peek, traces and tags: callers and callees, whole stacks, labels; numbers by arithmetic.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;read 3\nmain;parse 2\nmain;emit 1\nstart;main;emit 4\n' >a.folded

it 'shows a function between its callers and its callees'
run pitot peek '^main$' a.folded
expect_status 0
expect_stdout 'a.folded: 10 samples
unnamed 0%

 total  total%   of it  function, its callers above and its callees below
     4           40.0%    start
                 60.0%    (called by nothing known)
    10  100.0%          main  self 0 (0%)
     5           50.0%    emit
     5           50.0%    parse'
expect_no_stderr

it 'shows the largest totals first, and says how many more match'
run pitot peek . -n 2 a.folded
expect_equal first "$(stdout | grep ' self ' | head -1)" '    10  100.0%          main  self 0 (0%)'
expect_stdout_line '3 more functions (-n 0)'

it 'counts a recursive function once a stack, and no call to itself'
printf 'main;f;f;g;f 5\n' >r.folded
run pitot peek '^f$' --csv r.folded
expect_stdout 'function,role,name,value,share_of_function,inlined
f,caller,g,5,1,false
f,caller,main,5,1,false
f,self,f,5,1,false
f,total,f,5,1,false
f,callee,g,5,1,false'

it 'says which names are near when nothing matches'
run pitot peek pase a.folded
expect_status 3
expect_stderr_has parse

it 'writes callers and callees as JSON'
run pitot peek parse --json a.folded
expect_stdout_has '"report": "peek"'
expect_stdout_has '"callees": [
        {
          "name": "read",
          "value": 3,
          "share": 0.6,
          "inlined": false
        }
      ]'

it 'shows whole stacks, innermost first, the heaviest first'
run pitot traces a.folded -n 2
expect_stdout 'a.folded: 10 samples
unnamed 0%

4  40.0%
    emit
    main
    start

3  30.0%
    read
    parse
    main

2 more stacks, 30.0% (-n 0)'

it 'shows no control character of a file name, nor of a label'
python3 "$PITOT_ROOT/tests/cli/hostile_profile.py" $'a\rb' $'c\033[31md' $'e\302\205f' >hostile.pb
pitot traces --lines --labels hostile.pb 2>/dev/null >shown
expect_equal 'control characters' "$(LC_ALL=C grep -c $'[\001-\010\013-\037\177]\|\302[\200-\237]' shown)" 0
expect_equal 'frames with a line' "$(grep -c ':5$' shown)" 3

it 'takes stacks that read alike for one'
run pitot pprof -proto -output=two.pb.gz a.folded
run pitot merge -o twice.pb.gz two.pb.gz two.pb.gz
run pitot traces --csv twice.pb.gz
expect_stdout_line '8,0.4,1,emit;main;start,'
expect_stdout_lines 5

it 'shows labels with what their samples add up to'
if corpus pprof-goldens/fixtures/cpu.pb.gz; then
    run pitot tags "$corpus"
    expect_stdout_line ' 1.12s  100.0%  key1'
    expect_stdout_line ' 100ms    8.9%    tag2'
    run pitot tags --csv "$corpus"
    expect_stdout_line 'key2,tag1,,1010,0.901786,2'
    run pitot traces --labels "$corpus" -n 1
    expect_stdout_line '1.00s  89.3%  key1=tag1, key2=tag1'
fi

it 'says so when no sample has a label'
run pitot tags a.folded
expect_status 0
expect_stdout_line 'no sample has a label'
