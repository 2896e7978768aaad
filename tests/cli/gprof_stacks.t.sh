# gprof_stacks.t.sh: pitot gprof on profiles with stacks, beside a gmon.out and alone. What must come
# out is arithmetic: each profile is written here, byte by byte.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/gmon.sh"

for tool in gcc nm; do
    command -v $tool >/dev/null || skip_all "$tool is not installed"
done

cat >app.c <<'E'
static volatile long sink;
#define APART __attribute__((noinline, noclone))
APART void work(int n) { for (int i = 0; i < n; i++) sink += i; }
APART void cheap(void) { work(1); sink++; }
APART void dear(void) { work(1000); sink++; }
void even(int n);
APART void odd(int n) { if (n > 0) even(n - 1); sink++; }
APART void even(int n) { if (n > 0) odd(n - 1); sink++; }
int main(void) { cheap(); dear(); even(7); return 0; }
E
if ! gcc -g -O1 -no-pie app.c -o app 2>build.log || ! gcc -g -O1 -fPIE -pie app.c -o moved 2>build.log
then
    skip_all "gcc cannot build here: $(head -n 1 build.log)"
fi

# profile PROGRAM BIAS PERIOD_US "COUNT LEAF CALLER..."...: a gperftools profile of the program, as if
# it were loaded that far from where it was linked. The leaf's address is its first one, those of
# callers are return addresses; "elsewhere" is code of no file.
profile() {
    local program=$1 bias=$2 record name at
    for at in 0 3 0 "$3" 0; do number "$at" 8; done
    shift 3
    for record; do
        # shellcheck disable=SC2086
        set -- $record
        number "$1" 8
        number $(($# - 1)) 8
        shift
        at=0
        for name; do
            if [ "$name" = elsewhere ]; then
                number $((0x7f0000001000)) 8
            else
                number $((bias + $(address "$program" "$name") + at)) 8
            fi
            at=5
        done
    done
    for at in 0 1 0; do number "$at" 8; done
    at=$(($(address "$program" main) & ~4095))
    printf '%08x-%08x r-xp %08x 00:00 0 %s\n' $((bias + at)) $((bias + at + 4096)) $((at & 0xfffff)) \
        "$PWD/$program"
}

# What gprof cannot know: cheap calls 1,000 times for 10 ms in all, dear 20 times for 990 ms.
calls() {
    header
    histogram "$1" work 100
    arc "$1" main cheap 1000
    arc "$1" main dear 20
    arc "$1" cheap work 1000
    arc "$1" dear work 20
}
calls app >app.gmon
profile app 0 1000 '10 work cheap main' '990 work dear main' >app.prof

it 'shows the times of stacks beside those that gprof shares out by calls'
run pitot gprof -b app app.gmon app.prof
expect_status 0
expect_no_stderr
cat >expected.txt <<'E'
  %   cumulative   self              self     total    true            
 time   seconds   seconds    calls  us/call  us/call  seconds  name    
100.00      1.00     1.00     1020   980.39   980.39     1.00  work
  0.00      1.00     0.00     1000     0.00   980.39     0.01  cheap
  0.00      1.00     0.00       20     0.00   980.39     0.99  dear
index % time    self  children  true      called     name
                0.02    0.00    0.99      20/1020        dear [4]
                0.98    0.00    0.01    1000/1020        cheap [3]
[1]    100.0    1.00    0.00    1.00    1020         work [1]
-----------------------------------------------
                                                         <spontaneous>
[2]    100.0    0.00    1.00    1.00                 main [2]
                0.00    0.98    0.01    1000/1000        cheap [3]
                0.00    0.02    0.99      20/20          dear [4]
-----------------------------------------------
                0.00    0.98    0.01    1000/1000        main [2]
[3]     98.0    0.00    0.98    0.01    1000         cheap [3]
                0.98    0.00    0.01    1000/1020        work [1]
-----------------------------------------------
                0.00    0.02    0.99      20/20          main [2]
[4]      2.0    0.00    0.02    0.99      20         dear [4]
                0.02    0.00    0.99      20/1020        work [1]
-----------------------------------------------
E
stdout | awk '/^  %|^index/ { on = 1 } /\f/ { on = 0 } on && NF' >tables.txt
expect_same tables.txt expected.txt

it 'leaves all other columns as gprof prints them'
needs gprof && {
    without_true() { pitot gprof -b -q app app.gmon app.prof | sed -E 's/^(.{28}) .{7}/\1/'; }
    expect_equal 'rows of the graph' \
        "$(without_true | grep -E '\[[0-9]+\]$|<spontaneous>' | cksum)" \
        "$(gprof -b -q app app.gmon | grep -E '\[[0-9]+\]$|<spontaneous>' | cksum)"
}

it 'says the same whichever comes first, and of a program that is loaded elsewhere'
pitot gprof -b app app.gmon app.prof >first.txt
pitot gprof -b app app.prof app.gmon >second.txt
expect_same second.txt first.txt
calls moved >moved.gmon
profile moved $((0x555555554000)) 1000 '10 work cheap main' '990 work dear main' >moved.prof
pitot gprof -b moved moved.gmon moved.prof >second.txt
expect_same second.txt first.txt

it 'has no column for them in the layout of BSD'
pitot gprof -b -T app app.gmon app.prof >with.txt
pitot gprof -b -T app app.gmon >without.txt
expect_same with.txt without.txt

it 'explains the column'
run pitot gprof app app.gmon app.prof
expect_stdout_has 'measured rather than shared out'

it 'takes calls from stacks when there is no gmon.out, and says so'
run pitot gprof -b app app.prof
expect_status 0
expect_stderr 'gprof: no profile of these tells how often functions were called: calls are samples here (docs/gprof.md)'
expect_stdout_line 'Each sample counts as 0.001 seconds.'
expect_stdout_line '100.00 *1.00 *1.00 *1000 *1.00  work'
expect_stdout_line '\[?\] *99.0 *0.00 *0.99 *0.99 *990 *dear \[?\]'
expect_stdout_line '\[?\] *1.0 *0.00 *0.01 *0.01 *10 *cheap \[?\]'

# even and odd call each other; a sample counts once for each function, however often it is there.
it 'counts a function once a sample, and a cycle, too'
profile app 0 1000 '5 work even odd even main' '3 work odd even main' '2 work main' >cycle.prof
run pitot gprof -b app cycle.prof
expect_stdout_line '\[?\] *0.00 *0.01 *0.01 *8+13 *<cycle 1 as a whole> \[?\]'
expect_stdout_line ' *0.01 *0.00 *0.01 *5/10 *even <cycle 1> \[?\]'
needs python3 && {
    pitot gprof --json app cycle.prof >report.json
    cat >check.py <<'E'
import json
report = json.load(open('report.json'))
f = {x['name']: x for x in report['functions']}
ms = {n: round(1000 * x['true']) for n, x in f.items()}
assert ms == {'work': 10, 'even': 8, 'odd': 8, 'main': 10}, ms
arcs = {(n, c['name']): round(1000 * c['true']) for n, x in f.items() for c in x['callees']}
assert arcs == {('main', 'work'): 2, ('main', 'even'): 8, ('even', 'odd'): 8, ('odd', 'even'): 5,
                ('even', 'work'): 5, ('odd', 'work'): 3}, arcs
assert report['calls_are_samples'] is True and round(1000 * report['true_total']) == 10
assert [round(1000 * c['true']) for c in report['cycles']] == [8]
E
    run python3 check.py
    expect_status 0
}

it 'leaves out code of other files, but not who called through it'
profile app 0 1000 '7 cheap elsewhere main' '4 elsewhere dear main' >through.prof
run pitot gprof -b app through.prof
expect_stdout_line '\[?\] *0.01 *0.00 *0.01 *7 *cheap \[?\]'
expect_stdout_line ' *0.01 *0.00 *0.01 *7/7 *main \[?\]'
expect_stdout_line '\[?\] *0.00 *0.00 *0.00 *4 *dear \[?\]'
expect_no_stdout_line '*elsewhere*'

it 'hands on without a cycle just what was measured'
needs python3 && {
    profile app 0 1000 '300 work cheap main' '700 work dear main' '11 cheap main' '40 odd work dear main' \
        '9 odd work cheap main' '5 main' >deep.prof
    pitot gprof --json app deep.prof >report.json
    cat >check.py <<'E'
import json
report = json.load(open('report.json'))
assert len(report['functions']) == 5 and report['cycles'] == []
for f in report['functions']:
    assert abs(f['self'] + f['children'] - f['true']) < 1e-9, f
    for a in f['callers'] + f['callees']:
        assert abs(a['self'] + a['children'] - a['true']) < 1e-9, (f['name'], a)
E
    run python3 check.py
    expect_status 0
}

it 'names what a profile names when it has no addresses'
printf 'main;cheap;work 10\nmain;dear;work 990\n' >app.folded
run pitot gprof -b -q app app.folded
expect_status 0
expect_stdout_line '\[?\] *99.0 *0.00 *990.00 *990.00 *990 *dear \[?\]'

it 'refuses what does not go together'
run pitot gprof app app.gmon app.folded
expect_status 1
expect_stderr 'gprof: app.folded: counts samples, the others seconds: choose profiles of one kind'
run pitot gprof -s app app.gmon app.prof
expect_status 1
expect_stderr 'gprof: app.prof: has stacks; --sum adds up profiles of gprof only'
printf 'other;program 3\n' >other.folded
run pitot gprof app other.folded
expect_status 1
expect_stderr 'gprof: other.folded: no sample of it is in app; is it of another program or build?'
