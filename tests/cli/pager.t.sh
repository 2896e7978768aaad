#!/usr/bin/env bash
# The pager: which program it is and when it is started, what it gets, and who has the terminal meanwhile.
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip_all 'python3 is not installed'
unset PITOT_PAGER PAGER LESS
export ASAN_OPTIONS=${ASAN_OPTIONS:-}${ASAN_OPTIONS:+:}detect_leaks=0
awk 'BEGIN { for (i = 100; i < 160; i++) print "main;work_" i, 1000 - i }' >long.folded
echo 'main;work 3' >short.folded

# A pager that says how it was started, and hands on what it gets; and a folder that has nothing else.
mkdir -p bin few
for name in less more own; do
    printf '#!/bin/sh\necho "started: %s $* LESS=$LESS"\nexec cat\n' $name >bin/$name
done
chmod +x bin/*
ln -s "$(command -v cat)" few/cat
PATH=$PWD/bin:$PATH

# on_screen ROWS COMMAND...: what the terminal got, in stdout.
on_screen() {
    printf 'size %s 80\nend\nshow\n' "$1" >script
    run python3 "$PITOT_ROOT/tests/cli/terminal.py" "$(command -v env)" "${@:2}" <script
    tr -d '\r' <"$t_out/stdout" >"$t_out/plain"
    mv "$t_out/plain" "$t_out/stdout"
}

it 'starts less for a report that is longer than the screen, and not for one that fits'
on_screen 24 "$PITOT" top -n 0 long.folded
expect_status 0
expect_stdout_line 'started: less  LESS=FRX'
expect_stdout_has work_159
on_screen 24 "$PITOT" top short.folded
expect_stdout_has work
expect_no_stdout_line 'started:*'
on_screen 100 "$PITOT" top -n 0 long.folded
expect_no_stdout_line 'started:*'
expect_stdout_has work_159

it 'counts the rows of the screen, not the lines: a wrapped line has several'
printf 'main;%0400d 1\n' 1 >wide.folded
on_screen 5 "$PITOT" convert --to=folded -o - wide.folded
expect_stdout_line 'started: less*'

it 'takes the pager of PITOT_PAGER, then of PAGER; an empty one and cat mean none'
on_screen 24 PITOT_PAGER='own --of "two words"' PAGER=more "$PITOT" top -n 0 long.folded
expect_stdout_line 'started: own --of two words LESS=FRX'
on_screen 24 PAGER=more LESS=-S "$PITOT" top -n 0 long.folded
expect_stdout_line 'started: more  LESS=-S'
for none in PITOT_PAGER= PITOT_PAGER=cat PAGER=cat TERM=dumb; do
    on_screen 24 "$none" "$PITOT" top -n 0 long.folded
    expect_no_stdout_line 'started:*'
    expect_stdout_has work_159
done

it 'starts none with --no-pager, in the place of git, too; nor for a pipe'
on_screen 24 "$PITOT" top --no-pager -n 0 long.folded
expect_no_stdout_line 'started:*'
on_screen 24 "$PITOT" --no-pager top -n 0 long.folded
expect_no_stdout_line 'started:*'
expect_stdout_has work_159
run pitot top -n 0 long.folded
expect_no_stdout_line 'started:*'

it 'does without a pager that is not there'
on_screen 24 PATH="$PWD/few" "$PITOT" top -n 0 long.folded
expect_status 0
expect_stdout_has work_159
expect_no_stdout_line 'pitot:*'
on_screen 24 PAGER=nosuch "$PITOT" top -n 0 long.folded
expect_status 0
expect_stdout_line 'pitot: the pager of PAGER cannot be started: nosuch: No such file or directory'
expect_stdout_has work_159

it 'shows the report on the terminal when the pager fails'
printf '#!/bin/sh\nexit 3\n' >bin/less
for report in long.folded huge.folded; do
    awk 'BEGIN { for (i = 0; i < 400; i++) printf "main;%0300d_%d 1\n", 0, i }' >huge.folded
    on_screen 24 "$PITOT" traces -n 0 $report
    expect_status 0
    expect_stdout_line 'pitot: the pager less failed with status 3; this is the report:'
    expect_stdout_has main
done
on_screen 24 "$PITOT" top -n 0 long.folded
expect_stdout_has work_159
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "main;%0300d_%d 1\n", 0, i }' >huge.folded
on_screen 24 "$PITOT" convert --to=folded -o - huge.folded
expect_status 1
expect_stdout_has 'the report is longer than what stands here: --no-pager shows all of it'
printf '#!/bin/sh\necho "started: less $* LESS=$LESS"\nexec cat\n' >bin/less

it 'keeps the width, the colours and the status of the command'
on_screen 24 "$PITOT" top -n 0 long.folded
expect_stdout_has "$(printf '\033[')"
on_screen 24 "$PITOT" diff -n 0 --fail-above=0% short.folded long.folded
expect_status 5
expect_stdout_line 'started: less*'

it 'shows control characters of a profile in the pager, too'
python3 "$PITOT_ROOT/tests/cli/hostile_profile.py" "$(printf 'evil\033]0;owned\a')" >evil.pb
on_screen 4 NO_COLOR=1 "$PITOT" dump evil.pb
expect_stdout_line 'started: less*'
expect_stdout_has '^[]0;owned^G'
grep -q "$(printf '[\033\a]')" "$t_out/stdout" && fail "$(cat -v "$t_out/stdout")"

it 'says messages of a long report when the pager has ended'
awk 'BEGIN { for (i = 0; i < 30000; i++) printf "main;a_function_with_quite_a_long_name_%d 1\n", i; print "broken" }' >huge.folded
printf '#!/bin/sh\nhead -n 3\n' >bin/less
on_screen 24 "$PITOT" dump -n 0 huge.folded
expect_status 4
tail -n 1 "$t_out/stdout" | grep -q '^pitot: 1 line' || fail "$(tail -n 3 "$t_out/stdout")"
grep -q 'Broken pipe' "$t_out/stdout" && fail 'the end of the pager is told as a failure'

it 'leaves the terminal to the real less, and Ctrl-C too'
rm bin/less
if needs less; then
    run python3 "$PITOT_ROOT/tests/cli/terminal.py" "$PITOT" top -n 0 long.folded <<'T'
size 24 80
expect work_110
expect :\x1b[K
send \x03
expect \x07
knock G work_159
send q
end
T
    expect_status 0
    run python3 "$PITOT_ROOT/tests/cli/terminal.py" "$PITOT" top -n 0 --focus=nothing long.folded <<'T'
size 24 80
end
show
T
    expect_status 3
fi

it 'pages the reports of the shell'
printf '#!/bin/sh\necho "paged"\nexec cat\n' >bin/less
chmod +x bin/less
run python3 "$PITOT_ROOT/tests/cli/terminal.py" "$PITOT" shell long.folded <<'T'
size 24 80
expect pitot>
send top -n 0\n
expect paged
expect work_159
expect pitot>
send q\n
end
T
expect_status 0
