#!/usr/bin/env bash
# pitot record of what runs already, by the kernel's perf events. Nothing here waits for a time: what
# is recorded begins when the recorder is there, and ends by itself.
. "$(dirname "$0")/lib.sh"

command -v "${CC:-cc}" >/dev/null || skip_all 'there is no C compiler'
run pitot record --engine=perf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no perf events here: $(stderr | tail -n 1)"
level=$(cat /proc/sys/kernel/perf_event_paranoid)

# burn SECONDS [THREADS]: waits for a line, uses so much CPU time in each thread, and prints what all
# have used.
cat >burn.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double cpu(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) static double spin(double s)
{
    const double end = cpu(CLOCK_THREAD_CPUTIME_ID) + s;
    volatile unsigned x = 1;
    do for (int i = 0; i < 20000; i++) x = x * 3 + 1; while (cpu(CLOCK_THREAD_CPUTIME_ID) < end);
    return x;
}
static void *work(void *s) { spin(*(double *)s); return NULL; }
int main(int argc, char **argv)
{
    double s = atof(argv[1]);
    pthread_t threads[16];
    const int count = argc > 2 ? atoi(argv[2]) : 1;
    getchar();
    for (int i = 1; i < count; i++) pthread_create(&threads[i], NULL, work, &s);
    spin(s);
    for (int i = 1; i < count; i++) pthread_join(threads[i], NULL);
    printf("%.6f\n", cpu(CLOCK_PROCESS_CPUTIME_ID));
}
C
${CC:-cc} -O2 -g -fomit-frame-pointer -pthread burn.c -o burn || exit 1

# begin COMMAND...: runs in the background, waiting for `go`; its number is in $target.
mkfifo line
begin() {
    "$@" <line >truth 2>target-said &
    target=$!
    exec 9>line
}
go() {
    echo >&9
    exec 9>&-
}

# is_recording: the recorder $recorder has opened all its events, and waits for samples.
is_recording() {
    until grep -qs -e poll /proc/$recorder/wchan /proc/$recorder/stack || [ "$(awk '{ print $3 }' /proc/$recorder/stat 2>/dev/null)" = S ] &&
        ls -l /proc/$recorder/fd 2>/dev/null | grep -q perf_event; do
        kill -0 $recorder 2>/dev/null || return 1
        sleep 0.02
    done
}

# attached OPTION...: records $target until it ends.
attached() {
    printf '%s\n' "pitot record $*" >"$t_out/command"
    "$PITOT" record "$@" >"$t_out/stdout" 2>"$t_out/stderr" &
    recorder=$!
    is_recording && go
    status=0
    wait $recorder || status=$?
}

# summary FIELD: of the last line: samples, rate, seen, used, complete.
summary() {
    python3 - "$1" "$t_out/stderr" <<'PY'
import re, sys
last = [l for l in open(sys.argv[2]) if ' samples, ' in l][-1]
m = re.search(r': ([\d,]+) samples, (\d+) a second of CPU; ([\d.]+) of ([\d.]+) CPU seconds seen, '
              r'([\d.]+) % of the stacks complete', last)
print(dict(zip(('samples', 'rate', 'seen', 'used', 'complete'),
               (g.replace(',', '') for g in m.groups())))[sys.argv[1]])
PY
}
within() { python3 -c 'import sys; a, b, s = map(float, sys.argv[1:]); sys.exit(abs(a - b) > s * b + 0.03)' "$@"; }
at_least() { python3 -c 'import sys; a, b = map(float, sys.argv[1:]); sys.exit(a < b)' "$@"; }

it 'attaches to a process, sees its CPU time and whole stacks, and ends when it does'
begin ./burn 0.5 3
attached -p $target -o a.pb.gz
expect_status 0
expect_stderr_lines 1
expect_stderr_line 'pitot: a.pb.gz: * samples, *; next: pitot top a.pb.gz'
expect within "$(summary seen)" "$(cat truth)" 0.05
expect within "$(summary used)" "$(cat truth)" 0.05
expect at_least "$(summary complete)" 99.5
run pitot top a.pb.gz
expect_stdout_line '*  spin  burn.c:*'

it 'does so with events of its threads, too'
begin ./burn 0.5 3
attached --each-thread -p $target -o a.pb.gz
expect_status 0
expect within "$(summary seen)" "$(cat truth)" 0.05
expect within "$(summary used)" "$(cat truth)" 0.05
expect at_least "$(summary complete)" 99.5
