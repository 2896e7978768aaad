#!/usr/bin/env bash
# What the recorder's memory grows by, for 100,000 short processes: what it holds after the first 1,000
# is compared with what it holds after the last.
. "$(dirname "$0")/../cli/lib.sh"

run pitot record --engine=perf -o probe.pb.gz true
[ "$status" = 0 ] || skip_all "no perf events here: $(stderr | tail -n 1)"
count=${GROWTH_PROCESSES:-100000}
cat >none.c <<'C'
int main(void) { return 0; }
C
# Another with functions of Python, which are read from its memory.
printf '#!%s\nimport argparse, inspect, json\n' "$(python3 -c 'import sys; print(sys.executable)')" >python
chmod +x python
# Says the number of processes so far after the first of them and after the last, and waits for a line.
cat >many.c <<'C'
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
extern char **environ;
int main(int argc, char **argv)
{
    const int count = atoi(argv[1]), first = atoi(argv[2]);
    char *const none[] = {argv[3], NULL};
    for (int i = 1; i <= count; i++) {
        pid_t pid;
        if (posix_spawn(&pid, none[0], NULL, NULL, none, environ) != 0) return 1;
        waitpid(pid, NULL, 0);
        if (i != first && i != count) continue;
        printf("%d\n", i);
        fflush(stdout);
        getchar();
    }
    return 0;
}
C
${CC:-cc} -O2 -static none.c -o none && ${CC:-cc} -O2 many.c -o many || exit 1
mkfifo said go

held() { sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; } # KB

# grows COUNT FIRST PROGRAM OPTION...: records ./many, which is started by itself for -p; says what the
# recorder's memory grew by after the first processes.
grows() {
    local recorder target='' first last many=(./many "$1" "$2" "$3")
    shift 3
    if [ "$1" = -p ]; then
        "${many[@]}" <go >said &
        target=$!
        exec 8>go 9<said
        "$PITOT" record -q -p "$target" -o x.pb.gz 2>record.err &
    else
        "$PITOT" record -q "$@" -o x.pb.gz "${many[@]}" <go >said 2>record.err &
    fi
    recorder=$!
    [ -n "$target" ] || exec 8>go 9<said
    read -r -u 9 _
    sleep 2 # until its rings are read
    first=$(held $recorder)
    echo >&8
    read -r -u 9 _
    sleep 2
    last=$(held $recorder)
    echo >&8
    exec 8>&- 9<&-
    wait $recorder $target
    echo "# $t_name: $first KB, then $last KB"
    [ $((last - first)) -le 5120 ] || fail "$first KB after the first processes, $last KB after all: $(cat record.err)"
}

for options in --engine=perf --engine=bpf -p -a; do
    it "$count short processes grow the recorder by at most 5 MB: $options"
    # shellcheck disable=SC2086
    grows "$count" 1000 ./none $options
done
it "$((count / 100)) processes of Python, too"
grows $((count / 100)) 50 ./python --engine=bpf
