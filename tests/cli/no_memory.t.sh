#!/usr/bin/env bash
# Each allocation of a small run fails once: the program ends with one line and status 1.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'the sanitizers have an allocator of their own'
command -v gcc >/dev/null || skip_all 'gcc is not installed'
gcc -O1 -shared -fPIC -w -o fail_alloc.so "$PITOT_ROOT/tests/cli/fail_alloc.c" || skip_all 'the wrapper cannot be built here'
printf '%s\n' 'main;parse;read 3' 'main;write 2' 'main 1' >a.folded
printf '%s\n' 'main;parse;read 1' 'main;wait 2' >b.folded
"$PITOT" convert -o a.pb.gz a.folded

# each_fails COMMAND...: every allocation of it, or of the library $from in it, fails in a child of its own. At least $least of them.
from='' least=100
each_fails() {
    rm -f log
    [ -z "$from" ] || export FAIL_ALLOC_FROM=$from
    FAIL_ALLOC_LOG=$PWD/log LD_PRELOAD=$PWD/fail_alloc.so run "$PITOT" "$@"
    expect_status 0
    local last
    last=$(tail -n 1 log)
    [[ $last =~ ^([0-9]+)\ allocations$ ]] || fail "no count at the end: $last"
    [ "${BASH_REMATCH[1]:-0}" -ge "$least" ] || fail "only $last were counted"
    grep -q '^allocation ' log && fail "$(grep -c '^allocation ' log) of $last end wrong: $(head -n 5 log)"
    return 0
}

it 'ends top with one line, whichever allocation fails'
each_fails top -j1 a.pb.gz
it 'ends flame with one line, whichever allocation fails'
each_fails flame -j1 -o - a.pb.gz
it 'ends convert with one line, whichever allocation fails'
each_fails convert -j1 --to=pprof -o - a.folded
it 'ends merge with one line, whichever allocation fails'
each_fails merge -j1 -o - a.folded b.folded a.pb.gz

it 'ends disasm with one line, whichever allocation of capstone fails'
if pitot version --features | grep -q 'disassembly *capstone'; then
    echo 'int main(void) { volatile int x = 3; for (long i = 0; i < 50000000; i++) x += i; return 0; }' >tiny.c
    gcc -g -O1 -o tiny tiny.c
    pitot record --engine=preload -o tiny.pb.gz ./tiny 2>/dev/null
    from=libcapstone least=3
    each_fails disasm '^main$' tiny.pb.gz
else
    skip 'capstone is not installed'
fi
