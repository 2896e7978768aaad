#!/usr/bin/env bash
# Whoever reads the memory of a process that does not answer waits for ever; the recorder waits for a second.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'userfaultfd for accesses of the kernel, and mounting, take root'
command -v "${CC:-cc}" >/dev/null || skip_all 'there is no C compiler'
run pitot record --engine=perf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no perf events here: $(stderr | tail -n 1)"

# A library that looks like a Java virtual machine; the recorder reads its first word first. The page must have no file.
cat >jvm.c <<'C'
#define WORD(name) long name = 8;
char gHotSpotVMStructs[1 << 16] __attribute__((aligned(1 << 16)));
WORD(gHotSpotVMStructEntryArrayStride) WORD(gHotSpotVMStructEntryTypeNameOffset) WORD(gHotSpotVMStructEntryFieldNameOffset)
WORD(gHotSpotVMStructEntryOffsetOffset) WORD(gHotSpotVMStructEntryAddressOffset) WORD(gHotSpotVMTypes)
WORD(gHotSpotVMTypeEntryArrayStride) WORD(gHotSpotVMTypeEntryTypeNameOffset) WORD(gHotSpotVMTypeEntrySizeOffset)
C
${CC:-cc} -shared -fPIC -o libjvm.so jvm.c && ${CC:-cc} -O1 -o silent_memory "$PITOT_ROOT/tests/cli/silent_memory.c" -ldl -pthread || exit 1
mkfifo line
mkdir folder

# begin MODE: the process runs, and is $target; else the test is skipped. It ends when descriptor 9 is closed.
begin() {
    rm -f said
    unshare -m sh -c 'exec ./silent_memory "$@" <line >said' sh "$@" &
    target=$!
    exec 9>line
    eventually test -s said || fail 'the process does not begin'
    [ "$(cat said)" = ready ] || skip "$(cat said)"
}
end() {
    exec 9>&-
    wait $target
}

# has_used TICKS: the process has used so much CPU time since `used` was set.
used_now() { awk '{ print $14 + $15 }' /proc/$target/stat; }
has_used() { [ $(($(used_now) - used)) -ge "$1" ]; }
has_events() { ls -l /proc/$recorder/fd 2>/dev/null | grep -q perf_event; }
has_ended() { ! kill -0 $recorder 2>/dev/null || grep -q '^State:.Z' /proc/$recorder/status; }

# record_silent OPTION...: records until the process has used half a second, then Ctrl-C.
record_silent() {
    printf '%s\n' "pitot record $*" >"$t_out/command"
    (trap - INT && exec "$PITOT" record "$@" -o silent.pb.gz) >"$t_out/stdout" 2>"$t_out/stderr" &
    recorder=$!
    eventually has_events
    used=$(used_now)
    eventually has_used 50
    kill -INT $recorder
    if ! eventually has_ended; then
        fail 'the recorder does not end'
        kill -KILL $recorder
    fi
    status=0
    wait $recorder || status=$?
}

for mode in userfaultfd fuse; do
    it "a page that does not answer ($mode) has a line, and the recording goes on and ends"
    begin $mode folder
    if [ -z "$t_skip" ]; then
        record_silent --engine=perf -p $target
        expect_status 0
        expect_stderr_line "pitot: the memory of silent_memory (pid $target) does not answer: functions of its interpreter may have no names"
        expect_stderr_line 'pitot: silent.pb.gz: * samples, *'
        run pitot top silent.pb.gz
        expect_stdout_line '*%  main'
    fi
    end
done

it 'the same when the whole machine is recorded'
begin userfaultfd
if [ -z "$t_skip" ]; then
    record_silent --engine=perf -a
    expect_status 0
    expect_stderr_line "pitot: the memory of silent_memory (pid $target) does not answer: functions of its interpreter may have no names"
    run pitot tags silent.pb.gz
    expect_stdout_has silent_memory
fi
end
