#!/usr/bin/env bash
# Symbols that the loader binds at their first call: stacks below its resolver, whose frame is realigned,
# are whole.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the library is not loaded into sanitized runs'
[ "$(uname -m)" = x86_64 ] || skip_all 'the resolver of other machines keeps its caller in the usual way'
for tool in "${CC:-cc}" python3; do
    command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done

# binds SECONDS: so much CPU time, nearly all of it in the loader: it calls many functions of a library, makes their
# entries of the table of bound symbols what they were at the start, and begins again.
count=400
for ((i = 1; i <= count; i++)); do echo "long made_for_a_test_of_lazy_binding_$i(long at) { return at + $i; }"; done >many.c
{
    echo '#include <stdlib.h>'
    echo '#include <time.h>'
    for ((i = 1; i <= count; i++)); do echo "long made_for_a_test_of_lazy_binding_$i(long);"; done
    echo 'extern void *volatile _GLOBAL_OFFSET_TABLE_[] __attribute__((visibility("hidden")));'
    echo '__attribute__((noinline)) static long call_all(long sum) {'
    for ((i = 1; i <= count; i++)); do echo "    sum += made_for_a_test_of_lazy_binding_$i(sum);"; done
    cat <<C
    return sum;
}
/* Behind three words of the loader lie the entries of all functions. */
int main(int argc, char **argv)
{
    static void *entries[$count];
    long sum = 0;
    for (int i = 0; i < $count; i++) entries[i] = _GLOBAL_OFFSET_TABLE_[3 + i];
    const clock_t end = (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC);
    while (clock() < end) {
        sum = call_all(sum);
        for (int i = 0; i < $count; i++) _GLOBAL_OFFSET_TABLE_[3 + i] = entries[i];
    }
    return sum == 12345;
}
C
} >binds.c
# shellcheck disable=SC2016
"${CC:-cc}" -O1 -fno-builtin -shared -fPIC -o libmany.so many.c &&
    "${CC:-cc}" -O1 -fno-builtin -fomit-frame-pointer -Wl,-z,lazy,-rpath,'$ORIGIN' -o binds binds.c ./libmany.so || exit 1

# Of the samples in the loader: those with the functions that called it, and those that have lost them. What runs before
# main and behind it is neither.
cat >check.py <<'PY'
import json, sys
below = lost = 0
for sample in json.load(open(sys.argv[1]))['samples']:
    names, count = [f.get('function') for f in sample['frames']], sample['values'][0]
    if '/ld-linux' not in sample['frames'][0].get('object', ''):
        continue
    if sample['end'] == 'root':
        below += count if 'call_all main' in ' '.join(filter(None, names)) else 0
    else:
        lost += count
        print(sample['end'], names, file=sys.stderr)
print(below, lost)
PY

# binds_whole ENGINE
binds_whole() {
    run pitot record --engine="$1" -F 2000 -o "$1.pb.gz" ./binds 0.5
    expect_status 0
    pitot dump --json "$1.pb.gz" >dump.json 2>/dev/null
    run python3 check.py dump.json
    echo "# $1: $(stdout)"
    expect_stdout_line '[1-9][0-9]* *'
    expect awk '{ exit !($1 >= 100 && $2 * 20 <= $1) }' "$t_out/stdout"
}

it 'stacks that the library walks are whole'
binds_whole preload

# The kernel may refuse its events; and BPF programs.
for engine in perf bpf; do
    it "stacks of --engine=$engine are whole"
    run pitot record --engine=$engine -o probe.pb.gz true
    [ "$status" = 0 ] || { skip "no $engine here: $(stderr | tail -n 1)" && continue; }
    binds_whole $engine
done

it 'and the kernel walks them'
if [ -e bpf.pb.gz ]; then
    run pitot info bpf.pb.gz
    stdout | sed -n 's/.*, \([0-9]*\) of \([0-9]*\) stacks walked in the kernel.*/\1 \2/p' >walked
    expect awk '{ exit !($1 * 100 >= $2 * 90) }' walked
else
    skip 'no BPF here'
fi
