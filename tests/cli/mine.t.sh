#!/usr/bin/env bash
# --mine: the time of other code counts for the program's function that called it; totals stay.
. "$(dirname "$0")/lib.sh"

cat >mix.folded <<'END'
_start;main;Ledger::append;std::vector<long>::vector;memcpy 40
_start;main;Ledger::append 10
_start;main;std::sort<int*>;compare 20
_start;main 5
std::thread::run;std::clock 25
END

it 'counts other code for the function of the program that called it'
run pitot top --mine --csv -n 0 mix.folded
expect_status 0
expect_equal 'self, total, function' "$(stdout | sed 1d | cut -d, -f1,3,5 | sort)" "20,20,compare
25,25,[not the program's code]
5,75,main
50,50,Ledger::append"

it 'shows only the program in a tree, and says so in its head'
run pitot tree --mine mix.folded
expect_status 0
expect_stdout_line '--mine: 100 of it, 100.0%*'
expect_stdout_line '*Ledger::append'
expect_no_stdout_line '*std::*'
expect_no_stdout_line '*_start*'

it 'matches patterns before it hides what they match'
run pitot top --mine --focus=memcpy --csv -n 0 mix.folded
expect_status 0
expect_equal 'self, function' "$(stdout | sed 1d | cut -d, -f1,5)" '40,Ledger::append
0,main'

it 'keeps the total in every report'
for report in top tree traces 'peek main'; do
    run eval "pitot $report --mine --json mix.folded"
    expect_status 0
    # shellcheck disable=SC2016 # python's
    expect_equal "total of $report" "$(stdout | python3 -c '
import json, sys
d = json.load(sys.stdin)
p = d.get("profile", d)
print(p.get("total", p.get("kept_total")))')" 100
done

it 'compares what the program caused'
sed 's/memcpy 40/memcpy 140/' mix.folded >more.folded
run pitot diff --mine -n 1 --csv mix.folded more.folded
expect_status 0
expect_stdout_line '*Ledger::append*'
expect_no_stdout_line '*memcpy*'

it "knows each language's library, and code without names of the program"
# frame FUNCTION FILE MAPPING: whether --mine keeps the function.
kept() {
    printf '%s\n' "prog 1 1.000001: 1 cycles:" "	1000 $1+0x1 ($3)" "  $2:7" "	2000 caller+0x1 (/home/me/prog)" \
        '  caller.c:1' '' >kept.txt
    pitot top --mine --csv -n 0 kept.txt 2>/dev/null | grep -q '^1,.*,caller,' || echo kept
}
expect_equal 'C' "$(kept run run.c /home/me/prog)" kept
expect_equal "C's library" "$(kept memcpy memcpy.S /lib/x86_64-linux-gnu/libc.so.6)" ''
expect_equal "C++'s" "$(kept 'std::vector<int>::push_back(int&&)' /usr/include/c++/12/bits/stl_vector.h /home/me/prog)" ''
expect_equal "Rust's" "$(kept core::slice::sort /rustc/abc/library/core/src/slice.rs /home/me/prog)" ''
expect_equal 'a crate' "$(kept serde::de::read /home/me/.cargo/registry/src/serde/de.rs /home/me/prog)" ''
expect_equal "Go's" "$(kept fmt.Println /usr/local/go/src/fmt/print.go /home/me/prog)" ''
expect_equal "Python's" "$(kept dumps /usr/lib/python3.11/json/__init__.py '[python]')" ''
expect_equal 'a script' "$(kept dumps /home/me/job.py '[python]')" kept
expect_equal 'a package of node' "$(kept parse /home/me/node_modules/yaml/index.js '[javascript]')" ''
expect_equal 'the kernel' "$(kept do_fsync fsync.c '[kernel.kallsyms]')" ''
printf '%s\n' "prog 1 1.000001: 1 cycles:" "	1000 [unknown] (/home/me/stripped)" '' >nameless.txt
run pitot top --mine --unnamed=object nameless.txt
expect_stdout_line '* [[]stripped]'

it 'goes by names of functions only if no shared C library is mapped'
printf '%s\n' 'prog 1 1.000001: 1 cycles:' '	1000 json_load+0x1 (/home/me/prog)' '	2000 main+0x1 (/home/me/prog)' '' >static.txt
printf '%s\n' 'prog 1 1.000002: 1 cycles:' '	3000 write+0x1 (/lib/libc.so.6)' '	2000 main+0x1 (/home/me/prog)' '' | cat static.txt - >shared.txt
run pitot top --mine --csv -n 0 static.txt
expect_equal 'self, function' "$(stdout | sed 1d | cut -d, -f1,5)" '1,main'
run pitot top --mine --csv -n 0 shared.txt
expect_equal 'self, function' "$(stdout | sed 1d | cut -d, -f1,5 | sort)" '1,json_load
1,main'

it 'says that a profile of call arcs has no stacks'
printf '%s\n' 'events: Ir' 'ob=/home/me/prog' 'fn=main' '1 10' 'cob=/lib/libc.so.6' 'cfn=malloc' 'calls=5 1' '2 90' '' \
    'ob=/lib/libc.so.6' 'fn=malloc' '1 90' >callgrind.out.1
run pitot top --mine --csv -n 0 callgrind.out.1
expect_status 0
expect_equal 'self, function' "$(stdout | sed 1d | cut -d, -f1,5)" "90,[not the program's code]
10,main"
expect_stderr_line "pitot: 1 call without a stack: --mine cannot *"

it 'keeps frames made of labels, whatever their text is'
printf '%s\n' 'std::x 1 1.000001: 1 cycles:' '	1000 work+0x1 (/home/me/prog)' '' \
    'app 2 1.000002: 1 cycles:' '	1000 work+0x1 (/home/me/prog)' '' >named.txt
run pitot top --mine --tag-root=comm --csv -n 0 named.txt
expect_status 0
expect_equal 'self, total, function' "$(stdout | sed 1d | cut -d, -f1,3,5 | sort)" '0,1,app
0,1,std::x
2,2,work'
