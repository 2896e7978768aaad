# gprof.t.sh: pitot gprof beside GNU gprof, on programs that gcc -pg builds and runs here.
. "$(dirname "$0")/lib.sh"

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
