#!/usr/bin/env bash
# The command line as a whole: first words, help, messages, exit statuses, standard output.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;read 3\nmain;parse 2\nmain;emit 1\nstart;main;emit 4\n' >a.folded

it 'helps in ten lines or so when nothing is typed and no profile is here'
run pitot
expect_status 0
expect_stdout_has 'pitot top'
expect_stdout_line 'There is no pitot.pb.gz here*'
expect [ "$(stdout | wc -l)" -le 12 ]
expect_no_stderr

it 'shows pitot.pb.gz when nothing is typed and it lies here, and says so'
mkdir -p here && cp a.folded here/pitot.pb.gz && cd here || exit 1
run pitot
cd ..
expect_status 0
expect_stdout_has 'parse'
expect_stderr 'pitot: showing pitot.pb.gz'

it 'takes a file in the place of a command as something for top'
run pitot a.folded
stdout >short.txt
run pitot top a.folded
stdout >long.txt
expect_same short.txt long.txt

it 'takes options before the file for top, too'
run pitot --csv a.folded
expect_status 0
expect_stdout_line 'self,self_share,*'

it 'names the nearest command for a word that is none'
run pitot tpo
expect_status 2
expect_stderr 'pitot: there is no command and no file '\''tpo'\''; did you mean `pitot top`?'
expect_no_stdout

it 'answers words of other profilers with the command to type'
for word in script stat flamegraph web callers; do
    run pitot "$word"
    expect_status 2
    expect_no_stdout
    expect_stderr_line "pitot: there is no command '$word': *\`pitot *"
done

it 'answers command lines of perf with one line that names the command or option to type'
cp a.folded perf.data
while read -r pattern command; do
    # shellcheck disable=SC2086 # a command line
    run pitot $command </dev/null
    expect_status 2
    expect_no_stdout
    expect_stderr_lines 1
    expect_stderr_line "pitot: *${pattern//_/ }*"
done <<'END'
--tag-focus=tid=N record -t 812 -- sleep 10
--tag-focus=cpu=N record -C 0,1 -a -- sleep 10
whole_stacks record -b ./prog
--user record --all-user ./prog
--each-thread record --per-thread ./prog
-F_20000 record -F max ./prog
-e_cycles_--user record -e cycles:u ./prog
-e_cycles_--kernel record -e cycles:k ./prog
one_event;_-e_cycles record -e cycles,page-faults ./prog
perf_record_-g_-e_sched: record -e sched:sched_switch -a -- sleep 10
pitot_top report --stdio
pitot_top report --no-children --sort comm,dso
pitot_top_-s_total report --children
pitot_tree report -g caller
pitot_info report --header-only
--by=mapping report --sort dso
--by=mapping top --sort dso,sym
--tag-root=comm top --sort comm,dso
pitot_record_-p_PID top -p 812
pitot_tree top -g
pitot_list_FUNCTION annotate -s main
text_anyway annotate --stdio main
--tag-root=pid diff --sort pid a.folded a.folded
END
expect_equal 'a word that is near another one' "$(pitot top -s slef a.folded 2>&1 | head -n 1)" \
    "pitot: top: -s slef: 'slef' is not self or total; did you mean self"

it 'says to whom takes -i for the name of a file what it means'
run pitot top -i perf.data
expect_status 2
expect_stderr_line 'pitot: -i means --ignore=PATTERN; to report on perf.data: pitot top perf.data'
run pitot top -i perf.data a.folded
expect_status 0
expect_stderr_line 'pitot: -i means --ignore=PATTERN; to report on perf.data: pitot top perf.data'
rm perf.data

it 'names commands and options in these answers that there are'
sed '/^#define/d' "$PITOT_ROOT/src/cmd/habits.c" | tr '\n' ' ' | sed 's/" *"//g' | grep -o '`pitot [^`]*`\|TAG_ROOT "[^`]*`\|BY_TIME "[^`]*`' |
    sed -e 's/TAG_ROOT "/`pitot tree --tag-root=/' -e 's/BY_TIME "/`pitot top --tag-focus=/' | tr -d '`' | sort -u >named
expect test "$(wc -l <named)" -ge 20
while read -r _ name words; do
    pitot help --man "$name" 2>&1 | sed -e 's/\\f[BIR]//g' -e 's/\\//g' >page
    for word in $words; do
        case $word in
        -*) grep -qwe "${word%%=*}" page || echo "$name $word" ;;
        esac
    done
    grep -q '^\.TH' page || echo "$name"
done <named >unknown.txt
expect_equal 'unknown commands and options' "$(cat unknown.txt)" ''

it 'points to help when no command is near'
run pitot xylophone
expect_status 2
expect_stderr_has 'pitot help'

it 'says of a program how to record it'
run pitot /bin/true
expect_status 2
expect_stderr 'pitot: /bin/true is a program, not a profile; to record it: pitot record /bin/true'

it 'says of a script in this folder how to record it'
printf '#!/bin/sh\ntrue\n' >job
run pitot job
expect_status 2
expect_stderr 'pitot: job is a script, not a profile; to record it: pitot record ./job'

it 'says of a folder that it is one'
run pitot .
expect_status 2
expect_stderr 'pitot: . is a folder; name a profile in it'

it 'takes a program among the arguments as the program, in either order'
run pitot top /bin/true a.folded
expect_status 0
stdout >first.txt
run pitot top a.folded /bin/true
expect_status 0
stdout >second.txt
expect_same first.txt second.txt
run pitot /bin/true a.folded
expect_status 0

it 'says what is missing when only a program is named'
run pitot top /bin/true
expect_status 2
expect_stderr_line 'pitot: /bin/true is a program, not a profile*'

it 'names the nearest option for one that is unknown'
run pitot top --focsu=x a.folded
expect_status 2
expect_stderr_has 'unknown option --focsu'
expect_stderr_has '--focus'
expect_no_stdout

it 'refuses a number that is none, and says what it would take'
run pitot top -n twenty a.folded
expect_status 2
expect_stderr_has 'twenty'

it 'has no annotate before it can'
run pitot annotate a.folded
expect_status 2

it 'says that a file is missing'
run pitot top no/such.pb.gz
expect_status 1
expect_stderr_has 'no/such.pb.gz'
expect_stderr_has 'no such file'

it 'says that an empty file is empty'
: >empty
run pitot top empty
expect_status 1
expect_stderr_has 'empty'
expect_stderr_lines 1

it 'asks for a profile when none is named and none lies here'
run pitot top
expect_status 2
expect_stderr_has 'pitot.pb.gz'

it 'names the nearest format for one that is unknown'
run pitot top --from=foldde a.folded
expect_status 2
expect_stderr_has 'did you mean folded'

it 'prints its version in two ways'
run pitot --version
expect_status 0
expect_stdout_line 'pitot [0-9]*'
stdout >a.txt
run pitot version
stdout >b.txt
expect_same a.txt b.txt

it 'lists formats and libraries with version --features'
run pitot version --features
expect_status 0
expect_stdout_line 'format*folded*'
expect_stdout_line '*libdeflate*'

it 'refuses arguments where it takes none'
run pitot version now
expect_status 2
expect_stderr_has 'takes no argument'

it 'shows the same help for --help and for help COMMAND'
run pitot top --help
expect_status 0
stdout >a.txt
run pitot help top
stdout >b.txt
expect_same a.txt b.txt
expect_stdout_has '--sort=WHICH'

it 'lists every command in help and has help for each'
run pitot help
expect_status 0
stdout | sed -n '/^Help pages/q; s/^  \([a-z]*\) .*/\1/p' >names
expect grep -qx top names
expect grep -qx version names
while read -r name; do
    run pitot help "$name"
    expect_status 0
    expect_stdout_line "pitot $name *"
    expect_stdout_line '*--color*'
    run pitot help --man "$name"
    expect_status 0
    expect_stdout_line '.TH PITOT*'
done <names

it 'has no option without a help line and no man page that roff complains about'
if needs man; then
    for name in top tree dump help version; do
        pitot help --man "$name" >page
        expect_equal "warnings of $name" "$(LC_ALL=C man --warnings -l page 2>&1 >/dev/null)" ''
    done
fi

it 'names the nearest command for help on a word that is none'
run pitot help tre
expect_status 2
expect_stderr_has "did you mean 'tree'?"
run pitot help zzzzzz
expect_status 2
expect_stderr "pitot: there is no command 'zzzzzz'; \`pitot help\` lists them"

it 'prints completion scripts that the shells accept'
run pitot help --completion=bash
expect_status 0
stdout >complete.bash
expect bash -n complete.bash
expect_equal 'completions of pitot to' "$(bash -c '. ./complete.bash
    compopt() { :; }
    COMP_LINE="pitot to" COMP_POINT=8 COMP_WORDS=(pitot to); _pitot; echo "${COMPREPLY[0]}"')" top
expect_equal 'completions of --foc' "$(bash -c '. ./complete.bash
    compopt() { :; }
    COMP_LINE="pitot top --foc" COMP_POINT=15 COMP_WORDS=(pitot top --foc); _pitot; echo "${COMPREPLY[*]}"')" --focus=
run pitot help --completion=tcsh
expect_status 2
expect_stderr_has 'bash, zsh or fish'

it 'gives one line and status 1 when the disk is full'
if [ ! -w /dev/full ]; then skip 'there is no /dev/full'; else
    status=0
    "$PITOT" top a.folded >/dev/full 2>err || status=$?
    expect_status 1
    expect_equal lines "$(wc -l <err)" 1
    expect grep -q 'No space left on device' err
fi

it 'says that standard output is closed'
status=0
"$PITOT" top a.folded >&- 2>err || status=$?
expect_status 1
expect_equal lines "$(wc -l <err)" 1

it 'is quiet when the reader of a pipe has left'
for i in $(seq 3000); do echo "f$i;g$i $i"; done >many.folded
set -o pipefail
status=0
"$PITOT" dump many.folded 2>err | head -n 1 >/dev/null || status=$?
set +o pipefail
expect_status 0
expect_equal 'standard error' "$(cat err)" ''

it 'has no colour in a pipe, unless it is asked for'
run pitot top a.folded
expect [ "$(stdout | grep -c $'\033')" = 0 ]
run pitot top --color=always a.folded
expect [ "$(stdout | grep -c $'\033')" != 0 ]
run pitot top --color a.folded
expect [ "$(stdout | grep -c $'\033')" != 0 ]

it 'has colour on a terminal, but not with NO_COLOR or TERM=dumb or --color=never'
if needs script && ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    skip 'no terminal can be made here (is /dev/pts mounted?)'
elif [ -z "$t_skip" ]; then
    on_terminal() { script -qec "$*" /dev/null </dev/null 2>&1; }
    expect [ "$(TERM=xterm on_terminal "$PITOT" top a.folded | grep -c $'\033')" != 0 ]
    expect [ "$(TERM=xterm NO_COLOR=1 on_terminal "$PITOT" top a.folded | grep -c $'\033')" = 0 ]
    expect [ "$(TERM=dumb on_terminal "$PITOT" top a.folded | grep -c $'\033')" = 0 ]
    expect [ "$(TERM=xterm on_terminal "$PITOT" top --color=never a.folded | grep -c $'\033')" = 0 ]
    run env NO_COLOR=1 "$PITOT" top --color=always a.folded
    expect [ "$(stdout | grep -c $'\033')" != 0 ]
fi

it 'shows no control character of a file as such'
printf 'main;evil\033[2Jname 1\n' >evil.folded
run pitot top evil.folded
expect_status 0
expect [ "$(stdout | grep -c $'\033')" = 0 ]
expect_stdout_has 'evil^[[2Jname'
run pitot "$(printf 'a\033b')"
expect [ "$(stderr | grep -c $'\033')" = 0 ]

it 'answers from a damaged file with status 4 and a line, and refuses it with --strict'
if corpus pprof/speedscope__simple.prof; then
    gzip -dc "$corpus" 2>/dev/null >whole.pb || cp "$corpus" whole.pb
    head -c $(($(wc -c <whole.pb) * 9 / 10)) whole.pb >cut.pb
    run pitot top --from=pprof cut.pb
    expect_status 4
    expect [ "$(stderr | wc -l)" -ge 1 ]
    run pitot top --from=pprof --strict cut.pb
    expect_status 1
fi

it 'takes a long option behind one dash for what it is meant to be'
printf 'main;a 3\nmain;b 4\n' >two.folded
run pitot top -focus=a two.folded
expect_status 2
expect_stderr_line 'pitot: top: unknown option -focus; did you mean --focus=a'
run pitot top -n1 two.folded
expect_status 0
