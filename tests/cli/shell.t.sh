#!/usr/bin/env bash
# pitot shell: pitot's commands on a profile that stays in memory.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;read 300\nmain;parse 200\nmain;emit;write 400\nmain;emit 100\n' >a.folded

# From a pipe there are no prompts.
shell() { printf '%s\n' "$@" | "$PITOT" shell a.folded; }

it 'answers as the commands do'
run shell 'top2' 'tree' 'top -n 0 -s total --csv'
expect_equal 'output' "$(stdout)" "$(pitot top -n2 a.folded; pitot tree a.folded; pitot top -n0 -s total --csv a.folded)"

it 'keeps options of the query for all commands until they are taken back'
run shell 'focus=read' 'top --csv' 'relative' 'top --csv' ':' 'top --csv'
expect_equal 'output' "$(stdout)" "$(pitot top --csv --focus=read a.folded
pitot top --csv --focus=read --relative a.folded; pitot top --csv a.folded)"

it 'takes a flag with true and false alone'
run shell 'focus=read' 'relative=maybe' 'top --csv' 'relative=True' 'top --csv' 'relative=F' 'top --csv'
expect_stderr_line "pitot: relative=maybe: 'maybe' is not true or false"
expect_equal 'output' "$(stdout)" "$(pitot top --csv --focus=read a.folded
pitot top --csv --focus=read --relative a.folded; pitot top --csv --focus=read a.folded)"

it 'takes bare words for a focus and a number for the number of rows'
run shell 'top 1 read write' 'list main --json'
expect_equal 'output' "$(stdout)" "$(pitot top -n1 --focus='read|write' a.folded; pitot list main --json a.folded)"

it 'writes to a file and through a program'
run shell 'top >top.txt' 'top --csv | tail -n 1' 'top "read" | wc -l'
expect_equal 'top.txt' "$(cat top.txt)" "$(pitot top a.folded)"
expect_stdout_line '0,0,1000,1,main,,0,false,false,,,,*'

it 'says what it does not know and goes on'
run shell 'toop' 'focus' 'top --rowz=3' 'list' 'merge' 'help nothing' "top 'read" 'top >' 'top1'
expect_status 0
expect_stderr_line "pitot: there is no command 'toop'; did you mean top?"
expect_stderr_line 'pitot: focus takes a value: focus=PATTERN'
expect_stderr_line 'pitot: top: *--rowz*'
expect_stderr_line 'pitot: merge does not work in the shell; outside: pitot merge'
expect_stderr_line 'pitot: a quote is not closed'
expect_stderr_line "pitot: > needs a file name"
expect_stdout_line '   400   40.0%    400   40.0%  write'

it 'shows the options that stay, and help'
run shell 'hide=std::' 'o' 'help' 'help top' 'help focus'
expect_stdout_line '  hide           std::  *'
expect_stdout_line '  top  *functions by their own time'
expect_stdout_line 'focus: keep samples with a frame that matches'

it 'ends with the status of the last command'
status=0
printf 'top\ntop --focus=nothing\n' | "$PITOT" shell a.folded >out 2>err || status=$?
expect_equal status "$status" 3

it 'completes commands, options and functions on a terminal'
if needs python3 && "$PITOT" version --features | grep -q '^shell *libedit'; then
    # libedit keeps some of its memory to the end.
    export ASAN_OPTIONS=detect_leaks=0
    run python3 "$PITOT_ROOT/tests/cli/terminal.py" "$PITOT" shell --color=never a.folded <<'T'
expect pitot> 
send he\t\x15top --so\t=total -n1 rea\t\n
expect --focus=read
expect 2 more
expect pitot> 
send q\n
end
T
    expect_status 0
    expect_equal 'history' "$(grep -c total .local/state/pitot/history)" 1
else
    [ -n "$t_skip" ] || skip 'built without libedit'
fi
