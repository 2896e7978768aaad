#!/usr/bin/env bash
# What a profile says of itself reaches a terminal as text that it shows, and a spreadsheet as cells
# that it does not compute: a profile whose every string is an attack, through every report.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip_all 'python3 is not installed'
# A terminal that wants no colours: then nothing of ours is for it to obey, either.
export NO_COLOR=1 TERM=dumb
# A title, the bell, CSI of eight bits, plain and in UTF-8, a cursor moved back, a delete, a text
# turned round, and a byte that is no UTF-8.
attack=$(printf 'evil\033]0;owned\a\233m\302\23331m\r\b\177\342\200\256x\377')
moving=$(printf '%s\nmoved\tmoved' "$attack")
python3 "$PITOT_ROOT/tests/cli/hostile_profile.py" "$moving" "b$moving" >evil.pb
python3 "$PITOT_ROOT/tests/cli/hostile_profile.py" one two three four >plain.pb

# on_terminals [shown WORD]: runs each line of standard input as arguments of pitot, on a terminal.
on_terminals() {
    sed "s|^|'$PITOT' |" >commands
    run python3 "$PITOT_ROOT/tests/cli/on_terminals.py" "$@" <commands
    [ "$status" = 0 ] || fail "$(stdout; stderr)"
}

it 'shows every report of every command on a terminal'
on_terminals shown owned <<'C'
top evil.pb
top --csv evil.pb
top --json evil.pb
tree evil.pb
tree --csv evil.pb
traces evil.pb
traces --csv evil.pb
tags evil.pb
tags --csv evil.pb
info evil.pb
dump evil.pb
peek . evil.pb
peek . --csv evil.pb
diff evil.pb plain.pb
diff --csv evil.pb plain.pb
graph --format=dot -o - evil.pb
flame -o - evil.pb
C
on_terminals <<'C'
tree --json evil.pb
traces --json evil.pb
tags --json evil.pb
info --json evil.pb
dump --json evil.pb
list . evil.pb
list . --csv evil.pb
disasm . evil.pb
weblist . -o - evil.pb
graph --engine=own --format=svg -o - evil.pb
flame --format=svg -o - evil.pb
convert --to=counts -o - evil.pb
C

it 'shows what convert writes to a terminal'
"$PITOT" formats | awk '/^[a-z]/ {print "convert --to=" $1 " -o - evil.pb"}' >conversions
on_terminals <conversions
on_terminals shown owned <<'C'
convert --to=callgrind -o - evil.pb
convert --to=folded -o - evil.pb
C

it 'shows every report of pprof on a terminal'
on_terminals shown owned <<'C'
pprof -top evil.pb
pprof -text evil.pb
pprof -traces evil.pb
pprof -raw evil.pb
pprof -tags evil.pb
pprof -tree evil.pb
pprof -peek=. evil.pb
C
on_terminals <<'C'
pprof -list=. evil.pb
pprof -disasm=. evil.pb
pprof -comments evil.pb
pprof -dot evil.pb
pprof -collapsed evil.pb
pprof -callgrind evil.pb
pprof -tagfocus=1: -top evil.pb
C

it 'shows every report of the Perl pprof on a terminal'
words() { python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<%dQ" % (len(sys.argv) - 1), *map(int, sys.argv[1:])))' "$@"; }
{
    printf -- '--- symbol\nbinary=/%s\n0x0000000000000100 main%s\n0x0000000000000200 leaf%s\n---\n--- profile\n' \
        "$attack" "$attack" "$attack"
    words 0 3 0 10000 0 155 2 512 256 0 1 0
} >evil.prof
on_terminals shown owned <<'C'
google-pprof --text evil.prof
google-pprof --dot evil.prof
google-pprof --callgrind evil.prof
google-pprof --collapsed evil.prof
C
on_terminals <<'C'
google-pprof --raw evil.prof
google-pprof --list=. evil.prof
google-pprof --disasm=. evil.prof
google-pprof --text /bin/true evil.pb
google-pprof --text --lines /bin/true evil.pb
google-pprof --dot /bin/true evil.pb
google-pprof --callgrind /bin/true evil.pb
google-pprof --collapsed /bin/true evil.pb
google-pprof --raw /bin/true evil.pb
google-pprof --list=. /bin/true evil.pb
C

it 'shows every report of DCPI on a terminal'
on_terminals <<'C'
dcpiprof evil.pb
dcpiprof --csv evil.pb
dcpiprof -i evil.pb
dcpitopcounts evil.pb
dcpicat evil.pb
dcpistats evil.pb
dcpistats evil.pb plain.pb
dcpiwhatcg evil.pb
dcpicalc . evil.pb
dcpidiff evil.pb plain.pb
dcpilist . evil.pb
dcpilist --csv . evil.pb
dcpitopstalls evil.pb
C

it 'shows every report of gprof on a terminal'
if needs gcc objcopy; then
    cat >named.c <<'E'
static volatile long sink;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
int main(void) { for (int i = 0; i < 300; i++) leaf(100000); return 0; }
E
    if gcc -pg -O1 -g -c named.c && objcopy --redefine-sym "leaf=$(printf 'leaf\033]0;owned\a\b\nmoved\tmoved')" named.o &&
        gcc -pg -o named named.o && ./named && [ -s gmon.out ]; then
        on_terminals shown owned <<'C'
gprof -b -p named gmon.out
gprof -b -q named gmon.out
C
        on_terminals <<'C'
gprof named gmon.out
google-pprof --text named gmon.out
google-pprof --list=. named gmon.out
google-pprof --disasm=. named gmon.out
gprof --json named gmon.out
gprof -A named gmon.out
gprof -C named gmon.out
gprof --function-ordering named gmon.out
gprof -T --debug named gmon.out
C
    else
        fail 'the program cannot be built'
    fi
fi

it 'says what is wrong with such names, on standard error, too'
bad=$(printf 'no\033]0;owned\a\302\233such')
printf 'no profile' >"$bad"
sed "s|BAD|$bad|" >complaints <<'C'
top 'BAD'
info 'BAD'
pprof -top 'BAD'
dcpiprof 'BAD'
convert --to=folded 'BAD'
merge -o x.pb 'BAD'
symbolize -e 'BAD' 1
top '--BAD'
'BAD'
pprof '-BAD'
google-pprof '--BAD'
top '--focus=BAD(' evil.pb
top '--event=BAD' evil.pb
pprof '-focus=BAD(' -top evil.pb
gprof '-OBAD'
C
on_terminals shown owned <complaints
sed "s|BAD|$bad|" >complaints <<'C'
google-pprof --text 'BAD'
gprof 'BAD'
gprof '--BAD'
pprof '-tagfocus=BAD' -top evil.pb
C
on_terminals <complaints

it 'shows what the shells answer and complain of'
for shell in 'shell --color=never' pprof; do
    # On a dumb terminal nothing edits lines: the kernel echoes what is typed, in caret notation.
    # shellcheck disable=SC2086
    run python3 "$PITOT_ROOT/tests/cli/terminal.py" "$(command -v env)" TERM=dumb "$PITOT" $shell evil.pb <<'T'
send top\ntraces\ntags\npeek .\nfocus=ev\x1b]0;me\x07\ntop\no\nnosuch\x1b]0;me\x07\nhelp nosuch\x1b[31m\nq\n
end
show
T
    if LC_ALL=C grep -q "$(printf '[\033\a\b\177\377]')" "$t_out/stdout"; then
        fail "$shell: $(cat -v "$t_out/stdout")"
    fi
    grep -q owned "$t_out/stdout" || fail "$shell shows no report"
done

it 'leaves bytes as they are where there is no terminal'
run pitot pprof -top evil.pb
grep -aq "$(printf '\033')]0;owned" "$t_out/stdout" || fail 'pprof -top changed a name'
grep -aq '^moved' "$t_out/stdout" || fail 'pprof -top changed the lines of a name'
run pitot convert --to=callgrind -o - evil.pb
cp "$t_out/stdout" piped.callgrind
run pitot convert --to=callgrind -o written.callgrind evil.pb
cmp -s piped.callgrind written.callgrind || fail 'convert writes other bytes to a pipe than to a file'
run pitot google-pprof --collapsed evil.prof
grep -aq "$(printf '\033')]0;owned" "$t_out/stdout" || fail 'google-pprof changed a name'

it 'gives spreadsheets nothing to compute'
python3 "$PITOT_ROOT/tests/cli/hostile_profile.py" '=cmd|x!A1' '+1,2' '-1;=2' '@SUM(A1)' $'\t=1' $'a\n"=b' "'=x" >formula.pb
for report in top tree traces tags 'list .' 'peek .' dcpiprof 'dcpilist .' dcpitopcounts; do
    # shellcheck disable=SC2086
    run pitot $report --csv formula.pb
    cp "$t_out/stdout" "table ${report%% *}.csv"
done
python3 - table*.csv <<'P' >complaints || fail "cells that a spreadsheet computes: $(cat complaints)"
import csv, re, sys
complaints = []
for path in sys.argv[1:]:
    rows = list(csv.reader(open(path, newline=''), strict=True))
    cells = [cell for row in rows for cell in row]
    complaints += [(path, c) for c in cells
                   if c.startswith(('=', '+', '-', '@', '\t', '\r', '\n')) and not re.fullmatch(r'-[0-9.]+', c)]
    complaints += [(path, 'rows differ in width')] if len({len(row) for row in rows}) > 1 else []
print(complaints)
sys.exit(bool(complaints))
P
run pitot top --csv formula.pb
grep -q "'=cmd" "$t_out/stdout" || fail 'a formula is not neutralised'

it 'hands completed names to no program'
if "$PITOT" version --features | grep -q '^shell *libedit'; then
    export ASAN_OPTIONS=detect_leaks=0 TERM=xterm
    unset NO_COLOR
    python3 "$PITOT_ROOT/tests/cli/hostile_profile.py" 'cycles' 'n' 'k' 'v' 'm' \
        'trap | touch pwned' 'f.c' 'other' 'o.c' >pipe.pb
    for shell in 'shell --color=never' pprof; do
        prompt='(pprof) '
        [ "$shell" = pprof ] || prompt='pitot> '
        # shellcheck disable=SC2086
        run python3 "$PITOT_ROOT/tests/cli/terminal.py" "$PITOT" $shell pipe.pb <<T
expect $prompt
send peek tra\\t\\n
expect touch
expect $prompt
send q\\n
end
T
        expect_status 0
        [ ! -e pwned ] || fail "$shell: a function's name was run as a program"
    done
else
    skip 'built without libedit'
fi

it 'has no line wider than the terminal'
export NO_COLOR=1
printf '%s\n' 'main;Ledger::append(std::vector<long, std::allocator<long> >);std::vector<long, std::allocator<long> >::operator= 40' \
    'main;a_function_with_quite_a_long_name_in_the_middle_of_it_all;std::sort<__gnu_cxx::__normal_iterator<long*> > 30' \
    'main;short 20' >wide.folded
for columns in 50 60 80 100 132; do
    for golden in "$PITOT_ROOT"/tests/golden/pprof/*.pb.gz wide.folded; do
        printf '%s\n' "top -n 0 '$golden'" "diff -n 0 '$golden' '$golden'"
        [ "$columns" -lt 60 ] || printf '%s\n' "tree '$golden'" "peek . '$golden'"
    done >wide
    echo "tags '$PITOT_ROOT/tests/golden/chrome-trace/page.json.gz'" >>wide
    [ "$columns" -ge 60 ] || sed -i '/^diff/d; /^tags/d' wide
    on_terminals columns $columns <wide
done
