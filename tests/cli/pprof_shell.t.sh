#!/usr/bin/env bash
# pitot pprof without a format: the shell, from a pipe and on a terminal.
. "$(dirname "$0")/lib.sh"

cat >a.folded <<'F'
main;parse;read 300
main;parse 200
main;emit;write 400
main;emit 100
F
pitot convert a.folded -o a.pb.gz 2>/dev/null

shell() { printf '%s\n' "$@" | "$PITOT" pprof a.pb.gz; }

it 'greets with the legend on standard error and answers on standard output'
run shell top1
expect_status 0
expect_stdout '(pprof) Showing nodes accounting for 400, 40.00% of 1000 total
Showing top 1 nodes out of 5
      flat  flat%   sum%        cum   cum%
       400 40.00% 40.00%        400 40.00%  write
(pprof) '
expect_stderr_line 'Type: samples'
expect_stderr_line 'Entering interactive mode (type "help" for commands, "o" for options)'

it 'keeps options that are set, and forgets those of one line'
run shell 'focus=parse' 'top2' ':' 'top1 -cum read' 'top1'
expect_stdout_line '   focus=parse'
expect_stdout_line '   focus=read'
expect_equal 'lines with filters' "$(stdout | grep -c '^   focus')" 2

it 'lists options and their values'
run shell 'nodecount=7' 'unit=ms //: a comment' 'cum=true' 'o'
expect_stderr_line '  nodecount                 = 7                    '
expect_stderr_line '  unit                      = ms                   '
expect_stderr_line '  sort                      = cum                  //: [[]cum | flat]'

it 'says what is wrong in pprof'"'"'s words and goes on'
run shell 'foo' 'focus' 'peek' 'nodecount=many' 'mean=maybe' 'sample_index=9' 'granularity 5' 'top1 >'
expect_status 0
expect_stderr_line 'unrecognized command: "foo"'
expect_stderr_line 'please specify a value, e.g. focus=<val>'
expect_stderr_line 'command peek requires an argument'
expect_stderr_line 'strconv.Atoi: parsing "many": invalid syntax'
expect_stderr_line 'illegal value "maybe" for bool variable'
expect_stderr_line 'sample_index 9 is outside the range [[]0..0]'
expect_stderr_line 'did you mean: granularity=5'
expect_stderr_line 'unexpected end of line after >'

it 'writes a report to a file, or sends it through a program'
run shell 'tree >tree.txt' 'top | tail -n 1' 'peek a|b | wc -l'
expect_stderr_line 'Generating report in tree.txt'
expect_equal 'tree.txt' "$(grep -c 'parse$' tree.txt)" 3
expect_stdout_line '*main'

it 'takes an alternation for one, and no pipe'
run shell 'top read|write'
expect_stdout_line '   focus=read|write'

it 'says and does what go tool pprof does, to the byte'
go=
for candidate in /usr/lib/go-1.23/bin/go go; do
    command -v $candidate >/dev/null && go=$candidate && break
done
case $("${go:-false}" version 2>/dev/null) in
*go1.2[3-9]*)
    printf '%s\n' top3 o lines lines=true 'top3 -cum' granularity=functions granularity=foo \
        focus=parse top focus : text2 'peek read' 'tree 4' foo foo3 nodefraction=0.x mean=y \
        samples 'top 2 -wri' traces comments >commands
    "$PITOT" pprof a.pb.gz <commands >ours 2>ours.err
    TERM=dumb "$go" tool pprof a.pb.gz <commands >theirs 2>theirs.err
    sed -i /^Main.binary/d theirs.err # said while loading
    expect_equal 'standard output' "$(cat ours)" "$(cat theirs)"
    expect_equal 'standard error' "$(cat ours.err)" "$(cat theirs.err)"
    ;;
*) skip 'go 1.23 or newer is not installed' ;;
esac

it 'completes, keeps history and survives Ctrl-C on a terminal'
if needs python3 && "$PITOT" version --features | grep -q '^shell *libedit'; then
    # libedit keeps some of its memory to the end.
    export ASAN_OPTIONS=detect_leaks=0
    run python3 "$PITOT_ROOT/tests/cli/terminal.py" "$PITOT" pprof a.pb.gz <<'T'
expect (pprof) 
send to\t
expect p
send \x15peek rea\t\n
expect read
expect (pprof) 
send garbage\x03
expect ^C
expect (pprof) 
send top1 | tail -n 1\n
expect  write
expect (pprof) 
send \x1b[A\n
expect  write
expect (pprof) 
send quit\n
end
T
    expect_status 0
    expect_equal 'history' "$(grep -c top1 .local/state/pitot/pprof_history)" 1
    expect_equal 'its mode' "$(stat -c %a .local/state/pitot/pprof_history)" 600
else
    [ -n "$t_skip" ] || skip 'built without libedit'
fi
