# gprof_differs.t.sh: the rows of docs/gprof.md, "What differs from gprof": what GNU gprof does, and
# what pitot gprof does.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/gmon.sh"

for tool in gcc gprof nm strip; do
    command -v $tool >/dev/null || skip_all "$tool is not installed"
done

cat >calls.c <<'E'
static volatile long sink;
#define APART __attribute__((noinline, noclone))
APART static void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
APART void cheap(void) { leaf(1); sink++; }
APART void dear(void) { leaf(1000); sink++; }
APART void odd(void) { leaf(7); sink++; }
int main(void) { cheap(); dear(); odd(); return 0; }
E
cat >other.c <<'E'
static volatile long sink;
void second(int n) { for (int i = 0; i < n; i++) sink += i; }
E
cat >files.c <<'E'
static volatile long sink;
void second(int n);
__attribute__((noinline)) void first(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void third(int n) { for (int i = 0; i < n; i++) sink += i; }
int main(void) { first(1); third(1); second(1); return 0; }
E
if ! gcc -g -O1 calls.c -o calls 2>build.log || ! gcc -g -O1 files.c other.c -o files 2>build.log; then
    skip_all "gcc cannot build here: $(head -n 1 build.log)"
fi
{ header; histogram calls dear 1 0; arc calls main dear 1; } >one.gmon
{
    header
    histogram calls leaf 100
    for callee in dear cheap odd; do
        arc calls main $callee 10
        arc calls $callee leaf 10
    done
} >all.gmon

it 'explains its tables in its own words; the tables are those of gprof'
gprof calls all.gmon >theirs.txt
pitot gprof calls all.gmon >ours.txt
expect_equal 'explanations of gprof' "$(grep -c 'This table describes the call tree' theirs.txt)" 1
expect_equal 'the same in ours' "$(grep -c 'This table describes the call tree' ours.txt)" 0
expect grep -qF 'which the calls are of all calls of the callee' ours.txt
# The title says whether an explanation follows.
gprof -b calls all.gmon | grep -v -e '^$' -e 'Call graph$' >tables.txt
for side in theirs ours; do
    while IFS= read -r line; do
        grep -qxF -e "$line" $side.txt || echo "$line"
    done <tables.txt >missing
    expect_equal "rows missing in $side" "$(cat missing)" ''
done

it 'has help and version of its own, and lists every option of gprof'
run pitot gprof --version
expect_stdout_line 'pitot *, answering as GNU gprof 2.40'
expect_equal "gprof's" "$(gprof --version | head -n 1 | cut -c 1-9)" 'GNU gprof'
run pitot gprof --help
expect_status 0
gprof --help | grep -oE '\-\-(\[no-\])?[a-z-]+' | sed 's/\[no-\]//' | sort -u |
    while read -r option; do
        stdout | grep -qF -e "$option" || echo "$option"
    done >missing
expect_equal 'options that it does not list' "$(cat missing)" ''

it 'splits a sum that is too large for a bin, which gprof lets wrap around'
seconds() { awk '$NF == "dear" { print $3 }'; }
{ header; histogram calls dear 40000 0; } >a.gmon
gprof -s calls a.gmon a.gmon
expect_equal "gprof's sum" "$(gprof -b -p calls gmon.sum | seconds)" 144.64
run pitot gprof -s calls a.gmon a.gmon
expect_equal 'our sum' "$(gprof -b -p calls gmon.sum | seconds)" 800.00
expect_equal 'our sum, by us' "$(pitot gprof -b -p calls gmon.sum | seconds)" 800.00

it 'splits the calls of an arc that are too many for 32 bits, which gprof lets wrap around'
counted() { awk '$NF == "dear" { print $4 }'; }
{ header; histogram calls dear 1 0; arc calls main dear 4000000000; } >a.gmon
gprof -s calls a.gmon a.gmon
expect_equal "gprof's sum" "$(gprof -b -p calls gmon.sum | counted)" $((8000000000 & 0xffffffff))
run pitot gprof -s calls a.gmon a.gmon
expect_equal 'our sum' "$(gprof -b -p calls gmon.sum | counted)" 8000000000
expect_equal 'our sum, by us' "$(pitot gprof -b -p calls gmon.sum | counted)" 8000000000

it 'keeps addresses of arcs in a sum, where gprof writes those of the lines they lie in'
caller() { tail -c 21 gmon.sum | od -An -tx8 -j 1 -N 8 | tr -d ' '; }
pitot gprof -s calls one.gmon
expect_equal ours $((0x$(caller))) $(($(address calls main) + 1))
gprof -s calls one.gmon
expect_equal "gprof's" $((0x$(caller))) "$(address calls main)"

it 'finds calls backward in the code with -c, which gprof misses on 64-bit machines'
[ "$(uname -m)" = x86_64 ] || skip 'not an x86-64'
pitot gprof -b -q -c -z calls one.gmon >ours.txt
gprof -b -q -c -z calls one.gmon >theirs.txt
# cheap calls leaf, which lies before it.
expect grep -qE '^ +0\.00 +0\.00 +0/0 +leaf ' ours.txt
expect_equal "gprof's" "$(grep -cE '^ +0\.00 +0\.00 +0/0 +leaf ' theirs.txt)" 0

it 'leaves out both arcs when -k or -Q names two from one function, of which gprof forgets one'
for option in -k -Q; do
    arcs="${option}main/dear ${option}main/cheap"
    # shellcheck disable=SC2086
    expect_equal "ours with $arcs" "$(pitot gprof -b -q $arcs calls all.gmon | callees main)" 'odd '
    # shellcheck disable=SC2086
    expect_equal "gprof's" "$(gprof -b -q $arcs calls all.gmon | callees main)" 'dear odd '
done

it 'counts a spec of a function and one of its file both, where gprof hides what lies behind it'
{ header; histogram files first 100; histogram files third 100; } >a.gmon
named() { awk 'NR > 4 { printf "%s ", $NF }'; }
expect_equal ours "$(pitot gprof -b -p -z -pfiles.c -pfirst files a.gmon | named)" \
    'name first third main '
expect_equal "gprof's" "$(gprof -b -p -z -pfiles.c -pfirst files a.gmon | named)" 'name first '

it 'names functions once in an order when arcs are left out, where gprof names some twice'
expect_equal ours "$(pitot gprof -r -k main/dear calls all.gmon | sort | uniq -d)" ''
expect_equal "gprof's" "$(gprof -r -k main/dear calls all.gmon | sort | uniq -d | tr '\n' ' ')" 'dear main '

it 'leaves out static functions of C++ with -l -a, where gprof counts the lines of their cold parts twice and ends'
cat >cold.cc <<'C'
volatile int sink;
__attribute__((noinline, cold)) void rare(int n) { sink = n; }
__attribute__((noipa)) static int work(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += i ^ sink;
        if (__builtin_expect(sum == 12345, 0)) rare(sum), rare(sum + n), sum -= sink;
    }
    return sum;
}
int main() { return work(100) == 1; }
C
if needs g++; then
    expect g++ -g -O2 cold.cc -o cold
    { header; histogram cold main 5; } >cold.gmon
    if ! nm cold | grep -q 'work.*\.cold'; then
        skip 'this compiler made no cold part'
    else
        run gprof -b -l -a cold cold.gmon
        expect_status 1
        expect_stderr_has 'somebody miscounted'
        run pitot gprof -b -l -a -p cold cold.gmon
        expect_status 0
        expect_stdout_has 'main (cold.cc:12 @ '
        expect_no_stdout_line '.*work.*'
    fi
fi

it 'lets the first function of a file stand for it with -R, where gprof asks what nobody wrote'
for row in 'one dear' 'one leaf' 'one cheap' 'two odd' 'two main'; do
    echo "${row% *}.o:0000000000000000 T ${row#* }"
done >map
for filling in 0 170; do
    MALLOC_PERTURB_=$filling gprof -R map calls all.gmon >theirs.$filling
    MALLOC_PERTURB_=$filling pitot gprof -R map calls all.gmon >ours.$filling
done
cmp -s theirs.0 theirs.170 && fail "gprof's order no longer depends on the memory it is given"
expect_same ours.0 ours.170
expect_equal ours "$(sort ours.0 | tr '\n' ' ')" 'one.o two.o '

# at RATE: the profile on standard input at another rate than 100.
at() { sed "s/d\\x00\\x00\\x00seconds/\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8)))\\x00\\x00seconds/"; }

it 'takes ticks of each file by its own rate, where gprof takes all by that of the first'
seconds() { awk '$NF == "leaf" { print $3 }'; }
at 1000 <all.gmon >fast.gmon
expect_equal 'alone' "$(gprof -b -p calls fast.gmon | seconds)" 0.10
expect_equal ours "$(pitot gprof -b -p calls all.gmon fast.gmon | seconds)" 1.10
expect_equal "gprof's" "$(gprof -b -p calls all.gmon fast.gmon | seconds)" 2.00

it 'adds up files with bins of different widths, which gprof refuses'
{ header; histogram calls leaf 60 40; } >pair.gmon
low=$(address calls leaf)
{
    header
    printf '\0'
    number "$low" 8
    number $((low + 4)) 8
    number 1 4
    number 100 4
    printf 'seconds\0\0\0\0\0\0\0\0s'
    number 50 2
} >wide.gmon
expect_equal ours "$(pitot gprof -b -p calls pair.gmon wide.gmon | seconds)" 1.50
run gprof -b -p calls pair.gmon wide.gmon
expect_status 1
expect_stderr_has 'different scales'

it 'refuses files that count different things, as gprof does'
sed 's/seconds\x00\x00/misses\x00\x00\x00/' <all.gmon >misses.gmon
run gprof -b -p calls all.gmon misses.gmon
expect_status 1
run pitot gprof -b -p calls all.gmon misses.gmon
expect_status 1
expect_stderr 'gprof: misses.gmon: counts misses, the others seconds: choose profiles of one kind'

it 'shows what a damaged file still holds and says where it is cut; gprof ends at once'
head -c $(($(wc -c <all.gmon) - 30)) all.gmon >cut.gmon
run pitot gprof -b calls cut.gmon
expect_status 1
expect_stderr_line 'gprof: *claims*'
expect_stdout_has 'Flat profile:'
run gprof -b calls cut.gmon
expect_status 1
expect_no_stdout

it 'says with -d in one line what was left out, where gprof says what it does'
run pitot gprof -d -b -p calls one.gmon
expect_stderr_line 'gprof: * symbols, * arcs, * in no symbol: *'
expect_stderr_lines 1
run gprof -d -b -p calls one.gmon
expect_stdout_has '[main] debug-level='

it 'names what a stripped program exports, in which gprof finds nothing'
gcc -g -O1 -rdynamic calls.c -o stripped
{ header; histogram stripped dear 100; } >stripped.gmon
strip stripped
run pitot gprof -b -p stripped stripped.gmon
expect_status 0
expect_stdout_line '100.00 * dear'
run gprof -b -p stripped stripped.gmon
expect_status 1
expect_stderr_has 'has no symbols'

it 'reads profiles with stacks, which gprof refuses'
printf 'main;dear;leaf 3\n' >stacks.folded
run pitot gprof -b -p calls stacks.folded
expect_status 0
expect_stdout_line '100.00 * leaf'
run gprof -b -p calls stacks.folded
expect_status 1
expect_no_stdout

it 'prints JSON, which gprof does not know'
run pitot gprof --json calls all.gmon
expect_status 0
expect_stdout_line '{'
run gprof --json calls all.gmon
expect_status 1
expect_no_stdout
