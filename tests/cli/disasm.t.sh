# disasm.t.sh: instructions with their values. What objdump says of the same code is the judge.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

cat >work.cc <<'C'
static inline double square(double x)
{
    double y = 0;
    for (int i = 0; i < 50; i++) y += x * i;
    return y;
}
__attribute__((noinline)) double run(int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += square(i);
    return s;
}
int main()
{
    return run(2000000) < 0;
}
C
can_record() { needs g++ objdump python3; }
if command -v g++ >/dev/null; then
    g++ -g -O1 -o work work.cc
    pitot record -o work.pb.gz -- ./work 2>/dev/null
fi

it 'shows the instructions of a function with self and total'
can_record && {
    run pitot disasm '^run$' work.pb.gz
    expect_status 0
    expect_stdout_line '*run  */work  0x*-0x*'
    expect_stdout_line '*; work.cc:10 > square work.cc:4*y += x \* i;'
    expect_stdout_line '*addsd*'
}

it 'names what is inlined there without template arguments, so that a place fits its line'
can_record && {
    cat >bag.cc <<'C'
#include <map>
std::map<int, long> bag;
__attribute__((noinline)) long look(int n)
{
    auto found = bag.find(n & 1023);
    return found == bag.end() ? 0 : found->second;
}
int main()
{
    long sum = 0;
    for (int i = 0; i < 1000; i++) bag[i] = i;
    for (int i = 0; i < 3000000; i++) sum += look(i);
    return sum < 0;
}
C
    expect g++ -g -O2 -o bag bag.cc
    pitot record -o bag.pb.gz -- ./bag 2>/dev/null
    run pitot disasm '^look$' --whole bag.pb.gz
    expect_status 0
    expect_stdout_line '*; bag.cc:5 > std::map::find stl_map.h:*'
}

it 'covers the function as objdump does, and self adds up to the function'"'"'s'
can_record && {
    run pitot disasm '^(run|main)$' --whole --json work.pb.gz
    stdout >capstone.json
    run pitot disasm '^(run|main)$' --whole --json --with=objdump work.pb.gz
    stdout >objdump.json
    expect python3 - <<'P'
import json, re, subprocess
said = subprocess.run(['objdump', '-d', '--no-show-raw-insn', 'work'], capture_output=True, text=True).stdout
addresses = [int(m.group(1), 16) for m in re.finditer(r'^\s+([0-9a-f]+):', said, re.M)]
for name in 'capstone.json', 'objdump.json':
    functions = json.load(open(name))['functions']
    assert {f['name'] for f in functions} == {'run', 'main'}, name
    for f in functions:
        start, end = int(f['start'], 16), int(f['end'], 16)
        got = [int(i['address'], 16) for i in f['instructions']]
        assert got == [a for a in addresses if start <= a < end], (name, f['name'])
        assert sum(i['self'] for i in f['instructions']) == f['self'], name
        assert sum(i['size'] for i in f['instructions']) == end - start, name
main = [f for f in json.load(open('capstone.json'))['functions'] if f['name'] == 'main'][0]
call = [i for i in main['instructions'] if 'call' in i['text'] and '<run' in i['text']]
assert len(call) == 1 and call[0]['self'] == 0, call
# By chance a sample is in what main does before or after that.
assert sum(i['total'] for i in main['instructions']) == main['total'] and call[0]['total'] > 0.9 * main['total'], main
P
}

it 'shows the function that a matching one was inlined into'
can_record && {
    run pitot disasm square work.pb.gz
    expect_status 0
    expect_stdout_line '*run  */work  0x*'
}

it 'takes an address of the function for its name'
can_record && {
    address=0x$(nm work | sed -n 's/ [tT] _Z3runi$//p')
    run pitot disasm "$address" work.pb.gz
    expect_status 0
    expect_stdout_line '*run  */work  0x*'
    expect_no_stdout_line '*main  */work*'
    run pitot disasm 0x1 work.pb.gz
    expect_status 3
}

it 'knows both syntaxes of x86'
[ "$(uname -m)" = x86_64 ] || skip 'not an x86-64'
pitot version --features | grep -q 'capstone' || skip 'built without capstone'
can_record && {
    run pitot disasm '^main$' --whole work.pb.gz
    expect_stdout_has '%edi'
    run pitot disasm '^main$' --whole --intel work.pb.gz
    expect_stdout_line '*mov    edi, 0x1e8480'
    run pitot disasm '^main$' --whole --intel --with=objdump work.pb.gz
    expect_stdout_line '*mov * edi,*'
    expect_no_stdout_line '*%edi*'
}

it 'leaves out what is far from samples, and says so'
can_record && {
    run pitot disasm '^(run|main)$' -C0 work.pb.gz
    expect_stdout_line '* ...'
}

it 'says when the program is another build, and disassembles nothing of it'
can_record && {
    mkdir other && cp work.pb.gz other/ && mv work work.old
    sed 's/50/51/' work.cc >work2.cc && g++ -g -O1 -o work work2.cc
    run pitot disasm '^run$' work.pb.gz
    expect_status 3
    expect_stderr_line '*build id*'
    mv work.old work
}

it 'says when nothing matches'
can_record && {
    run pitot disasm zebra work.pb.gz
    expect_status 3
    expect_stderr_line "*'zebra' matches no function*"
}
