#!/usr/bin/env bash
# Java's methods in stacks that the kernel copies: each right in name, file and line, among native ones.
. "$(dirname "$0")/lib.sh"
java=$(command -v java) || skip_all 'java is not installed'
"$java" --list-modules 2>/dev/null | grep -q '^jdk.compiler' || skip_all 'this java has no compiler'
case $("$java" -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p') in
1[1-9] | 2[0-2] | 25) ;;
*) skip_all 'this java is none of the versions that pitot knows' ;;
esac
pitot record --engine=perf -o probe.pb.gz true 2>probe || skip_all "no perf events here: $(tail -n 1 probe)"
language=Java
# Compiled code describes all its places, and hidden frames are in its own traces of the stack, too.
program=("$java" -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints -XX:+ShowHiddenFrames "$PITOT_ROOT/tests/cli/java_stacks.java")

it 'each method is right in name, file and line, in each way that a stack can go: interpreted, compiled, inlined'
run pitot record --engine=perf -F 2000 -o stacks.pb.gz "${program[@]}" expected.json 2
expect_status 0
expect_equal 'what is said of Java' "$(stderr | grep -c 'Java functions in [0-9.]* %')" 1
pitot traces -n 0 --lines --json stacks.pb.gz >traces.json 2>/dev/null
run python3 "$PITOT_ROOT/tests/cli/stacks_check.py" java expected.json traces.json
expect_status 0
read -r _ stacks _ frames _ wrong _ places _ all < <(stdout)
[ "$wrong" = 0 ] || fail "$wrong of $stacks stacks are wrong: $(stderr | cut -c1-2000 | head -n 12)"
expect [ "$frames" -ge 100 ]
expect [ "$((places * 2))" -ge "$all" ]
expect_equal 'methods without a name' "$(pitot top -n 0 --csv stacks.pb.gz 2>/dev/null | grep -c '\[Java code\]')" 0
share=$(pitot info stacks.pb.gz 2>/dev/null | sed -n 's/^ends *root \([0-9]*\).*/\1/p')
expect [ "$share" -ge 97 ]

it 'a library that lies about itself does no harm'
if needs cc; then
    cat >jvm.c <<'C'
#define WORD(name, value) unsigned long name = value
unsigned long table[64] = {1, 2, 3, -1, 5};
WORD(gHotSpotVMStructs, (unsigned long)table);
WORD(gHotSpotVMTypes, (unsigned long)table);
WORD(gHotSpotVMStructEntryArrayStride, 48);
WORD(gHotSpotVMStructEntryTypeNameOffset, 0);
WORD(gHotSpotVMStructEntryFieldNameOffset, 8);
WORD(gHotSpotVMStructEntryOffsetOffset, 32);
WORD(gHotSpotVMStructEntryAddressOffset, 40);
WORD(gHotSpotVMTypeEntryArrayStride, 40);
WORD(gHotSpotVMTypeEntryTypeNameOffset, 0);
WORD(gHotSpotVMTypeEntrySizeOffset, 32);
int work(void) { volatile int n = 0; while (n < 200000000) n++; return 3; }
C
    echo 'int work(void); int main(void) { return work(); }' >main.c
    cc -w -shared -fPIC -o libjvm.so jvm.c && cc -o main main.c -L. -ljvm -Wl,-rpath,"$PWD"
    run pitot record --engine=perf -o lie.pb.gz ./main
    expect_status 3
    expect [ "$(pitot top --csv lie.pb.gz 2>/dev/null | grep -c ,work,)" -ge 1 ]
fi
