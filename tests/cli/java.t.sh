#!/usr/bin/env bash
# Java's methods in stacks that the library walks and in those that the kernel copies: each right in name, file and line, among
# native ones.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"
java=$(command -v java) || skip_all 'java is not installed'
"$java" --list-modules 2>/dev/null | grep -q '^jdk.compiler' || skip_all 'this java has no compiler'
case $("$java" -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p') in
1[1-9] | 2[0-2] | 25) ;;
*) skip_all 'this java is none of the versions that pitot knows' ;;
esac
pitot record --engine=perf -o probe.pb.gz true 2>probe
has_perf=$?
# Compiled code describes all its places, and hidden frames are in its own traces of the stack, too.
program=("$java" -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints -XX:+ShowHiddenFrames "$PITOT_ROOT/tests/cli/java_stacks.java")

# needs_perf: else the test is skipped.
needs_perf() {
    [ "$has_perf" = 0 ] || skip "no perf events here: $(tail -n 1 probe)"
    return "$has_perf"
}

# check_java COMMAND...: what it records of the program has each frame of the known stacks.
check_java() {
    local stacks frames wrong places all share
    run "$@" -F 2000 -o stacks.pb.gz "${program[@]}" expected.json 2
    expect_status 0
    expect_equal 'what is said of Java' "$(stderr | grep -c 'Java functions in [0-9.]* %')" 1
    pitot dump --json stacks.pb.gz >dump.json 2>/dev/null
    run python3 "$PITOT_ROOT/tests/cli/stacks_check.py" java expected.json dump.json
    expect_status 0
    read -r _ stacks _ frames _ wrong _ places _ all < <(stdout)
    [ "$wrong" = 0 ] || fail "$wrong of $stacks stacks are wrong: $(stderr | cut -c1-2000 | head -n 12)"
    expect [ "$frames" -ge 100 ]
    expect [ "$((places * 2))" -ge "$all" ]
    expect_equal 'methods without a name' "$(pitot top -n 0 --csv stacks.pb.gz 2>/dev/null | grep -c '\[Java code\]')" 0
    share=$(pitot info stacks.pb.gz 2>/dev/null | sed -n 's/^ends *root \([0-9]*\).*/\1/p')
    expect [ "$share" -ge 97 ]
}

it 'each method is right in name, file and line, in each way that a stack can go: interpreted, compiled, inlined'
if needs_perf; then check_java pitot record --engine=perf; fi

it 'the same by the library'
check_java pitot record --engine=preload

it 'the same where the kernel refuses perf events, without an option'
# refuse COMMAND...: runs it where perf_event_open and bpf are refused by a filter of system calls.
if needs cc; then
    cat >refuse.c <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)
int main(int argc, char **argv)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_perf_event_open), REFUSE(SYS_bpf), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 99;
    execvp(argv[1], argv + 1);
    return 127;
}
C
    cc -O1 refuse.c -o refuse
    if ./refuse true; then check_java ./refuse "$PITOT" record; else skip 'this kernel has no seccomp filters'; fi
fi

it 'a library that lies about itself does no harm'
if needs_perf && needs cc; then
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
    for engine in perf preload; do
        run pitot record --engine=$engine -o lie.pb.gz ./main
        expect_status 3
        expect [ "$(pitot top --csv lie.pb.gz 2>/dev/null | grep -c ,work,)" -ge 1 ]
    done
fi

it 'a virtual thread that goes on after a wait has its own frames, and the last line says where its callers are'
virtual=
for candidate in "$java" /usr/lib/jvm/*/bin/java; do
    [ -x "$candidate" ] || continue
    case $("$candidate" -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p') in
    21 | 22 | 25) virtual=$candidate ;;
    esac
done
if [ -n "$virtual" ]; then
    cat >Virtual.java <<'J'
class Virtual {
    static volatile long sink;
    static void burn() { long s = 1; for (long i = 0; i < 60000; i++) s = s * 31 + (s >>> 7) + i; sink += s; }
    static void outer() throws Exception { burn(); middle(); burn(); }
    static void middle() throws Exception { inner(); burn(); }
    static void inner() throws Exception { Thread.sleep(1); burn(); }
    static void task() { try { for (int i = 0; i < 800; i++) outer(); } catch (Exception e) { throw new RuntimeException(e); } }
    public static void main(String[] args) throws Exception {
        java.util.List<Thread> all = new java.util.ArrayList<>();
        for (int i = 0; i < 20; i++) all.add(Thread.ofVirtual().start(Virtual::task));
        for (Thread t : all) t.join();
    }
}
J
    run pitot record --engine=preload -F 2000 -o virtual.pb.gz "$virtual" -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints Virtual.java
    expect_status 0
    expect_stderr_has 'a virtual thread that goes on after a wait has its callers in the heap'
    pitot traces -n 0 --json virtual.pb.gz >traces.json 2>/dev/null
    python3 - <<'P' || fail 'a stack has a wrong caller'
import json, sys
callers = {'burn': ('outer', 'middle', 'inner'), 'inner': ('middle',), 'middle': ('outer',), 'outer': ('task',)}
seen = wrong = 0
for trace in json.load(open('traces.json'))['traces']:
    names = [f['name'] for f in trace['frames']]
    for inner, outer in zip(names, names[1:]):
        if inner.startswith('Virtual.') and inner[8:] in callers:
            seen += 1
            wrong += not outer.startswith('[') and outer[8:] not in callers[inner[8:]]
sys.exit(wrong > 0 or seen < 20)
P
else
    skip 'no java of version 21 or later is installed'
fi
