# gprof.t.sh: pitot gprof beside GNU gprof, on programs that gcc -pg builds and runs here.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/gmon.sh"

for tool in gcc gprof nm; do
    command -v $tool >/dev/null || skip_all "$tool is not installed"
done

# Calls from one to the next, a function that calls itself, and three circles: even and odd; b and c,
# where b calls itself, too; and x, y, z, w with two ways in.
cat >calls.c <<'E'
static volatile long sink;
#define APART __attribute__((noinline, noclone))
void even(int n);
void b(int n);
void x(int n);
void w(int n);
APART static void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
APART static void cheap(void) { leaf(500); }
APART void dear(void)
{
    leaf(800000);
    for (int i = 0; i < 300000; i++) sink ^= i;
}
APART void odd(int n) { if (n > 0) even(n - 1); leaf(20000); }
APART void even(int n) { if (n > 0) odd(n - 1); leaf(30000); }
APART void c(int n) { if (n > 0) b(n - 1); leaf(9000); }
APART void b(int n) { if (n > 0) c(n - 1); leaf(9000); if (n > 3) b(n - 3); }
APART void z(int n) { if (n > 0) x(n - 1); leaf(5000); if (n > 2) w(n - 2); }
APART void y(int n) { if (n > 0) z(n - 1); sink += n; }
APART void x(int n) { if (n > 0) y(n - 1); leaf(4000); }
APART void w(int n) { if (n > 0) z(n - 1); leaf(3000); }
APART int fact(int n) { leaf(1000); return n < 2 ? 1 : n * fact(n - 1); }
void _under(void) { leaf(10); }
void _over(void) { leaf(10); }
int main(void)
{
    for (int i = 0; i < 100; i++) cheap();
    for (int i = 0; i < 30; i++) dear();
    for (int i = 0; i < 7; i++) even(20);
    b(8);
    x(9);
    w(5);
    fact(30);
    _under();
    _over();
    return 0;
}
E
cat >threads.c <<'E'
#include <pthread.h>
static volatile long sink[4];
__attribute__((noinline)) static void spin(long *at, int n) { for (int i = 0; i < n; i++) *at += i; }
__attribute__((noinline)) static void step(int t) { spin((long *)&sink[t], 20000); }
static void *run(void *arg) { for (int i = 0; i < 500; i++) step((int)(long)arg); return 0; }
int main(void)
{
    pthread_t t[4];
    for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    return 0;
}
E
cat >classes.cc <<'E'
#include <map>
#include <string>
#include <vector>
#define APART __attribute__((noinline))
namespace shapes {
template <class T> struct box {
    std::vector<T> items;
    APART void add(T v) { items.push_back(v); }
    APART T sum() const { T s = 0; for (auto &i : items) s += i; return s; }
};
struct base { virtual ~base() {} virtual double area(int n) const = 0; };
struct square : base { APART double area(int n) const override { double s = 0; for (int i = 0; i < n; i++) s += i * 0.5; return s; } };
}
APART static double work(const shapes::base &s) { return s.area(400000); }
APART int operator+(const shapes::square &, const std::string &t) { return (int)t.size(); }
int main()
{
    shapes::box<long> longs;
    shapes::box<double> doubles;
    for (int i = 0; i < 100000; i++) { longs.add(i); doubles.add(i); }
    std::map<std::string, int> m;
    for (int i = 0; i < 20000; i++) m[std::to_string(i % 977)]++;
    shapes::square s;
    double t = 0;
    for (int i = 0; i < 50; i++) t += work(s);
    return t + longs.sum() + doubles.sum() + (s + std::string("abc")) < 0;
}
E
cat >lib.c <<'E'
static volatile long sink;
void in_library(void (*back)(int), int n) { for (int i = 0; i < n; i++) { sink += i; if (i % 1000 == 0) back(i); } }
E
cat >uses.c <<'E'
#include <stdlib.h>
static volatile long sink;
void in_library(void (*back)(int), int n);
__attribute__((noinline)) static void back(int n) { for (int i = 0; i < 3000; i++) sink += n; }
__attribute__((noinline)) static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
int main(void)
{
    static int v[50000];
    in_library(back, 8000000);
    for (int i = 0; i < 50000; i++) v[i] = (i * 7919) % 50021;
    qsort(v, 50000, sizeof v[0], compare);
    return 0;
}
E

# make NAME COMMAND...: builds NAME and runs it for NAME.gmon; false if that cannot be done here.
make_program() {
    local name=$1
    shift
    "$@" -pg -o "$name" 2>build.log && "./$name" >/dev/null && mv gmon.out "$name.gmon"
}

# alike NAME OPTIONS...: both print the same for the program and have the same status.
alike() {
    local name=$1
    shift
    local theirs=0 ours=0
    gprof "$@" "$name" "$name.gmon" >theirs.txt 2>/dev/null || theirs=$?
    pitot gprof "$@" "$name" "$name.gmon" >ours.txt 2>ours.err || ours=$?
    expect_equal "status with $*" $ours $theirs
    cmp -s theirs.txt ours.txt || fail "gprof $*: $(diff theirs.txt ours.txt | head -12)"
}

programs='
O0      gcc -g -O0 calls.c
O1      gcc -g -O1 calls.c
O2      gcc -g -O2 calls.c
O3      gcc -g -O3 calls.c
plain   gcc -O1 calls.c
pie     gcc -g -O1 -fPIE -pie calls.c
fixed   gcc -g -O1 -no-pie calls.c
static  gcc -g -O1 -static calls.c
staticpie gcc -O1 -static-pie calls.c
apart   gcc -O2 -ffunction-sections -falign-functions=64 calls.c
threads gcc -g -O1 threads.c -lpthread
classes g++ -g -O1 classes.cc
classes2 g++ -O2 classes.cc
library gcc -g -O1 uses.c ./lib.so -Wl,-rpath,.
'
gcc -O1 -fPIC -shared -pg lib.c -o lib.so 2>/dev/null
made=
while read -r name command; do
    [ -n "$name" ] || continue
    it "prints gprof's flat profile and call graph: $name ($command)"
    # shellcheck disable=SC2086
    if ! make_program "$name" $command; then
        skip "it cannot be built here: $(head -n 1 build.log)"
        continue
    fi
    made="$made $name"
    alike "$name" -b
    alike "$name" -b -z
    alike "$name" -b -T
    alike "$name" -b -p --no-demangle
done <<<"$programs"

it 'compared functions that call themselves or each other, and three cycles'
if [ -e O1.gmon ]; then
    gprof -b -q -z O1 O1.gmon >theirs.txt
    expect_equal cycles "$(grep -c 'as a whole' theirs.txt)" 3
    expect grep -qE '^\[.* 1\+29 +fact \[' theirs.txt
    expect grep -qE '^\[.* 7\+140 +<cycle [1-3] as a whole>' theirs.txt
else
    skip 'O1 could not be built here'
fi

have() {
    for name; do
        [ -e "$name.gmon" ] || { skip "$name could not be built here"; return 1; }
    done
}

it 'answers all options as gprof does'
if have O1; then
    nm O1 >O1.syms
    while read -r options; do
        # shellcheck disable=SC2086
        alike O1 $options
    done <<'E'
-b -q
-b -p -P
-b -P -p
-b -Q
-b -a
-b -D
-b -e leaf
-b -E leaf
-b -f dear
-b -F dear
-b -n leaf
-b -N leaf
-b -k main/dear
-b -qmain/dear
-b -Qmain/dear
-b -q/leaf
-b -pleaf
-b -Pleaf
-b -qmain
-b -Qmain
-b -pcalls.c
-b -qcalls.c:8
-b -p:leaf
-b -L
-b --inline-file-names
-b -l
-b -l -z
-b -l -L -p
-b -w 120
-b -w 1
-i
-i -b -p
-C
-C -z
-C -l
-Cleaf
-Zleaf
-A
-A -z
-A -x
-A -l -x
-A -t3 -m 50
-Aleaf
-Jleaf
-r
-r -z
-b -B
-b -S O1.syms
--brief --flat-profile --gra
-b -O auto
-O prof
-O x
-b -p -A -C
-b -T -z
E
fi

it 'writes annotated files of their own with -y'
if have O1; then
    mkdir theirs ours
    (cd theirs && gprof -A -y ../O1 ../O1.gmon >out)
    (cd ours && pitot gprof -A -y ../O1 ../O1.gmon >out)
    expect diff -r theirs ours
fi

it 'finds source in the folders of -I and of GPROF_PATH'
if have O1; then
    mkdir away
    mv calls.c away/calls.c
    alike O1 -A -I nowhere:away
    GPROF_PATH=away alike O1 -A
    alike O1 -A
    mv away/calls.c calls.c
fi

it 'waits for no FIFO that debug information calls a source file'
if have O1; then
    mv calls.c away/calls.c
    mkfifo calls.c
    run pitot gprof -A O1 O1.gmon
    expect_status 0
    expect_stderr_has 'could not locate'
    rm calls.c
    mv away/calls.c calls.c
fi

it 'adds up several profiles, and what it sums up in gmon.sum reads alike'
if have O1; then
    cp O1.gmon twice.gmon
    expect_equal 'the sum of two' "$(pitot gprof -b O1 O1.gmon twice.gmon | cksum)" \
        "$(gprof -b O1 O1.gmon twice.gmon | cksum)"
    run pitot gprof -s O1 O1.gmon twice.gmon
    expect_status 0
    expect_equal 'ours, read by gprof' "$(gprof -b O1 gmon.sum | cksum)" \
        "$(gprof -b O1 O1.gmon twice.gmon | cksum)"
    expect_equal 'ours, read by us' "$(pitot gprof -b O1 gmon.sum | cksum)" \
        "$(gprof -b O1 O1.gmon twice.gmon | cksum)"
    # gprof writes arcs in an order of its own, which shows where functions took equally long.
    gprof -s O1 O1.gmon twice.gmon
    expect_equal 'theirs, flat' "$(gprof -b -p O1 gmon.sum | sort | cksum)" \
        "$(gprof -b -p O1 O1.gmon twice.gmon | sort | cksum)"
fi

it 'does as well what a link called gprof is asked'
if have O1; then
    ln -s "$PITOT" gprof
    gprof -b O1 O1.gmon >theirs.txt
    run ./gprof -b O1 O1.gmon
    expect_status 0
    expect_same "$t_out/stdout" theirs.txt
    rm gprof
fi

it 'shows shares above 100 % where bins are rounded as gprof rounds them'
if have O1; then
    # 11 units of two bytes in 4 bins: 2.75 units wide on average, and the second is 3 wide.
    low=$(address O1 dear)
    {
        header
        printf '\0'
        number "$low" 8
        number $((low + 22)) 8
        number 4 4
        number 100 4
        printf 'seconds\0\0\0\0\0\0\0\0s'
        for ticks in 0 100 0 0; do number $ticks 2; done
    } >a.gmon
    alike_file() { gprof -b -p O1 a.gmon >theirs.txt && pitot gprof -b -p O1 a.gmon >ours.txt; }
    expect alike_file
    expect_same ours.txt theirs.txt
    expect_equal share "$(awk '$NF == "dear" { print $1 }' ours.txt)" 109.09
fi

it 'names the lines of a clone, and the padding behind it, as gprof does'
cat >clone.c <<'E'
static volatile long sink;
#define APART __attribute__((noinline))
APART static int odd(int n, int k) { for (int i = 0; i < n; i++) sink += i * k; if (n > 3) sink++; return n; }
APART int other(int n) { for (int i = 0; i < n; i++) sink += i; return n; }
int main(int argc, char **argv)
{
    int s = argv == 0;
    for (int i = 0; i < 2000; i++) s += odd(20000 + argc, 3) + other(argc);
    return s == 7;
}
E
if ! make_program clone gcc -g -O2 clone.c; then
    skip "it cannot be built here: $(head -n 1 build.log)"
elif ! nm clone | grep -q ' odd\.constprop\.0$'; then
    skip 'this compiler makes no clone of it'
else
    alike clone -b -l
    alike clone -b -l -z
    expect grep -qF ' odd.constprop.0 (clone.c:' theirs.txt
fi

it 'names the cold part of a static C++ function by the function, as gprof does'
cat >cold.cc <<'E'
static volatile long sink;
__attribute__((cold, noinline)) void far(int n) { sink += n; }
__attribute__((noinline)) static int near(int n) { for (int i = 0; i < n; i++) sink += i; if (n > 30000) { far(n); sink += 3; } return n; }
int main(int argc, char **)
{
    int s = 0;
    for (int i = 0; i < 2000; i++) s += near(20000 + argc);
    return s == 7;
}
E
if ! make_program cold g++ -g -O2 cold.cc; then
    skip "it cannot be built here: $(head -n 1 build.log)"
elif ! nm cold | grep -q ' _ZL4neari\.cold$'; then
    skip 'this compiler makes no cold part of it'
else
    alike cold -b -l -z
fi

it 'refuses the profile of a shared object by name, and files that do not fit'
printf 'gmon\377\377\1\0%32s' '' >shared.gmon
if have O1; then
    run pitot gprof O1 shared.gmon
    expect_status 1
    expect_stderr_line '*LD_PROFILE*sprof*'
    run pitot gprof O1 nowhere.gmon
    expect_status 1
    expect_stderr 'nowhere.gmon: No such file or directory'
    run pitot gprof calls.c O1.gmon
    expect_status 1
    expect_stderr_line 'gprof: calls.c: not in executable format*'
fi

it 'says which file it is that cannot be read'
: >empty
run pitot gprof absent gmon.out
expect_status 1
expect_stderr 'absent: no such file'
if have O1; then
    run pitot gprof O1 empty
    expect_status 1
    expect_stderr 'gprof: empty: is empty'
    run pitot gprof O1 calls.c
    expect_status 1
    expect_stderr_has 'gprof: calls.c: '
fi

it 'says what a profile lacks for a report'
if have O1; then
    { header; histogram O1 dear 1 0; } >ticks.gmon
    { header; arc O1 main dear 1; } >calls.gmon
    run pitot gprof -q O1 ticks.gmon
    expect_status 1
    expect_stderr 'gprof: gmon.out file is missing call-graph data'
    run pitot gprof -p O1 calls.gmon
    expect_status 1
    expect_stderr 'gprof: gmon.out file is missing histogram'
fi

it 'reads BSD profiles as gprof does'
if have fixed; then
    run pitot convert --to=gmon-bsd fixed.gmon -o fixed.bsd
    for options in '-b' '-b -O 4.4bsd' '-b -O bsd'; do
        # shellcheck disable=SC2086
        expect_equal "$options" "$(pitot gprof $options fixed fixed.bsd | cksum)" \
            "$(gprof $options fixed fixed.bsd | cksum)"
    done
fi

it 'puts object files in order, those of a map first that call each other most'
if have plain; then
    {
        echo 'one.o:0000000000000000 T leaf'
        echo 'two.o:0000000000000000 T dear'
        echo 'three.o:0000000000000000 D data'
    } >map
    run pitot gprof -R map plain plain.gmon
    expect_status 0
    expect_stdout_lines 2
fi

it 'prints both tables as JSON with the numbers of the text'
needs python3 && if have O1; then
    pitot gprof --json O1 O1.gmon >report.json
    pitot gprof -b O1 O1.gmon >ours.txt
    cat >check.py <<'E'
import json, re
report = json.load(open('report.json'))
text = open('ours.txt').read()
flat = {m[4]: (float(m[1]), int(m[2])) for m in re.finditer(
    r'^ *[\d.]+ +[\d.]+ +([\d.]+) +(\d+) +([\d.]+) +[\d.]+  (\w+)$', text, re.M)}
assert flat
for f in report['functions']:
    if f['name'] in flat:
        assert (float('%.2f' % f['self']) if f['self'] else 0.0) == flat[f['name']][0] or 'cycle' in f, f
        assert f['calls'] == flat[f['name']][1], f
    assert '[%d]' % f['number'] in text, f
assert len(report['cycles']) == text.count('as a whole>'), report['cycles']
E
    run python3 check.py
    expect_status 0
fi
