#!/usr/bin/env bash
# What a sample costs the program, above the event itself: a page fault is the event, so that no timer
# is in it. Beside perf with frame pointers, interleaved; the least of seven runs of each.
. "$(dirname "$0")/../cli/lib.sh"

run pitot record --engine=perf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no perf events here: $(stderr | tail -n 1)"
needs perf || skip_all 'perf is not installed'
${CC:-cc} -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls "$PITOT_ROOT/tests/torture/record_faults.c" \
    -o faults || exit 1

for depth in 10 30 100; do
    it "whole stacks of $depth frames cost at most 1.5 times what frame pointers cost perf"
    least() { python3 -c 'import sys; print(min(float(x) for x in sys.argv[2:] + [sys.argv[1]] if x))' "$@"; }
    bare=1e9 perf=1e9 ours=1e9 cpus=1e9
    for _ in 1 2 3 4 5 6 7; do
        bare=$(least $bare "$(./faults $depth 100)")
        perf=$(least $perf "$(perf record -q -e page-faults:u -c 1 --call-graph fp -o perf.data ./faults $depth 100 2>/dev/null | tail -n 1)")
        run pitot record --engine=perf --each-thread --user -e page-faults -c 1 -F 20000 -o x.pb.gz ./faults $depth 100
        expect_status 0
        expect_no_stderr_line '*samples lost*'
        expect_stderr_line '* 100 % of the stacks complete*'
        ours=$(least $ours "$(stdout)")
        run pitot record --engine=perf --user -e page-faults -c 1 -F 20000 -o x.pb.gz ./faults $depth 100
        cpus=$(least $cpus "$(stdout)")
    done
    said=$(python3 - $bare $perf $ours $cpus <<'PY'
import sys
bare, perf, ours, cpus = map(float, sys.argv[1:])
print(f'fault {bare:.0f} ns, perf fp +{perf - bare:.0f}, by threads +{ours - bare:.0f}, by cpus +{cpus - bare:.0f}')
sys.exit(not (ours - bare <= 1.5 * (perf - bare) and cpus - bare <= 1.5 * (perf - bare)))
PY
    ) || fail "$said"
    echo "# $t_name: $said"
done

it 'at 10 kHz on all cpus for a minute nothing is lost, and no stack is stored'
cat >spin.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static double cpu(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) static int down(int depth, double end)
{
    volatile char room[64];
    room[0] = depth;
    if (depth > 0) return down(depth - 1, end) + room[0];
    volatile unsigned x = 1;
    do for (int i = 0; i < 20000; i++) x = x * 3 + 1; while (cpu(CLOCK_MONOTONIC) < end);
    return x;
}
static void *work(void *end) { for (int i = 0;; i++) { const double now = cpu(CLOCK_MONOTONIC); if (now >= *(double *)end) return NULL; down(20 + i % 40, now + 0.001); } }
int main(int argc, char **argv)
{
    double end = cpu(CLOCK_MONOTONIC) + atof(argv[1]);
    pthread_t t[256];
    const int count = atoi(argv[2]);
    for (int i = 0; i < count; i++) pthread_create(&t[i], NULL, work, &end);
    for (int i = 0; i < count; i++) pthread_join(t[i], NULL);
}
C
${CC:-cc} -O2 -pthread -fno-optimize-sibling-calls -o spin spin.c
mkdir -p private && before=$(df --output=used -k . | tail -n 1)
run env TMPDIR="$PWD/private" "$PITOT" record --engine=perf -F 10000 -o minute.pb.gz ./spin "${PITOT_SECONDS:-60}" "$(nproc)"
expect_status 0
expect_no_stderr_line '*samples lost*'
expect_stderr_line '* 100 % of the stacks complete*'
samples=$(stderr | sed -n 's/.*: \([0-9,]*\) samples, .*/\1/p' | tr -d ,)
bytes=$(stat -c %s minute.pb.gz)
expect_equal 'files that were left' "$(find private -type f | wc -l)" 0
python3 -c "import sys; sys.exit(not $bytes <= 4 * $samples)" || fail "$bytes bytes for $samples samples"
echo "# $t_name: $(stderr | tail -n 1), $bytes bytes on disk"
