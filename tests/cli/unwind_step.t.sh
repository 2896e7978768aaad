#!/usr/bin/env bash
# Programs that have no call frame information, run instruction by instruction: each walk is what was
# really called. What has call frame information is in tests/torture/unwind_step.sh, for it takes
# minutes.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'what it runs is made here, and not sanitized'

src=$PITOT_ROOT/src
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I"$src" -I"$PITOT_ROOT/tests/unit" -o step \
    "$PITOT_ROOT/tests/torture/unwind_step.c" "$PITOT_ROOT/tests/unit/unwind_maker.c" \
    "$src"/unwind/*.c "$src/elf/image.c" || exit 1

cat >plain.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile int got;
static void on(int s) { char b[64]; snprintf(b, sizeof b, "%d", s); got += (int)strlen(b); }
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
    int v[50];
    char text[256];
    signal(SIGUSR1, on);
    for (int i = 0; i < 50; i++) v[i] = i * 7919 % 101;
    qsort(v, 50, sizeof *v, cmp);
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%d %s %f %g %x|", v[i], "hello", v[i] / 3.0, 1e10 * v[i], i);
        char *p = malloc(1000 + (size_t)i * 3000);
        memcpy(p, text, 200);
        free(realloc(p, 9000));
    }
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
    return strtol("42", NULL, 10) != 42;
}
C

it 'a static program of musl has whole walks at every instruction'
if [ "$(uname -m)" != x86_64 ]; then
    skip 'code is followed on x86-64 only'
elif needs musl-gcc; then
    musl-gcc -static -O2 -o plain plain.c
    run ./step ./plain
    expect_status 0
    expect_stdout_line './plain: * whole, 0 early, 0 installing, 0 wrong'
fi

it 'and so has it when it is stripped'
if [ "$(uname -m)" != x86_64 ]; then
    skip 'code is followed on x86-64 only'
elif needs musl-gcc; then
    strip -o stripped plain
    run ./step ./stripped
    expect_status 0
    expect_stdout_line './stripped: * whole, 0 early, 0 installing, 0 wrong'
fi

it 'a stripped Go program has no wrong frame'
go=$(command -v go || ls -d /usr/lib/go-1.*/bin/go 2>/dev/null | tail -n 1)
if [ -z "$go" ]; then
    skip 'go is not installed'
else
    cat >main.go <<'G'
package main

import (
	"fmt"
	"sort"
	"strings"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}
func main() {
	m := map[string]int{}
	var keys []string
	for i := 0; i < 50; i++ {
		k := fmt.Sprintf("x%d", i*7919%101)
		m[k] += fib(6)
		keys = append(keys, strings.Repeat(k, 2))
	}
	sort.Strings(keys)
	c := make(chan int)
	go func() { c <- fib(8) }()
	fmt.Println(len(m), <-c)
}
G
    GOCACHE=$PITOT_ROOT/build-test/go-cache CGO_ENABLED=0 GO111MODULE=off "$go" build -ldflags='-s -w' -o main main.go
    GOMAXPROCS=1 run ./step ./main 600000 switches
    expect_status 0
    expect_stdout_line './main: [1-9]* whole, * early, 0 installing, 0 wrong'
fi
