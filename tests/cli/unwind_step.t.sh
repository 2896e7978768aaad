#!/usr/bin/env bash
# Programs that have no call frame information, run instruction by instruction: each walk is what was
# really called. What has call frame information is in tests/torture/unwind_step.sh, for it takes
# minutes.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'what it runs is made here, and not sanitized'

src=$PITOT_ROOT/src
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I"$src" -I"$PITOT_ROOT/tests/unit" -o step \
    "$PITOT_ROOT/tests/torture/unwind_step.c" "$PITOT_ROOT/src/machine/machine.c" "$PITOT_ROOT/tests/unit/unwind_maker.c" \
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

it 'what is written by hand in a stripped program has whole walks, and what begins and ends it'
if [ "$(uname -m)" != x86_64 ]; then
    skip 'code is followed on x86-64 only'
else
    cat >hand.c <<'C'
#include <stdio.h>
__asm__(".text\n.p2align 4\n"
        "copy_words:\n" /* rdi to, rsi from, rdx words: realigns its stack */
        "  push %rbx\n  push %rbp\n  mov %rsp, %rbp\n  sub $144, %rsp\n  and $-64, %rsp\n"
        "  xor %ecx, %ecx\n"
        "1: cmp %rdx, %rcx\n  jae 2f\n"
        "  mov (%rsi,%rcx,8), %rax\n  mov %rax, (%rsp)\n  mov (%rsp), %rbx\n"
        "  mov %rbx, (%rdi,%rcx,8)\n  inc %rcx\n  jmp 1b\n"
        "2: call add_words\n"
        "  mov %rbp, %rsp\n  pop %rbp\n  pop %rbx\n  ret\n"
        ".p2align 4\n"
        "add_words:\n"
        "  push %r12\n  mov %rsi, %r12\n  xor %eax, %eax\n"
        "1: add (%r12), %rax\n  add $8, %r12\n  dec %rdx\n  jnz 1b\n"
        "  pop %r12\n  ret\n"
        ".p2align 4\n"
        "square:\n"
        "  push %rdi\n  imul %rdi, %rdi\n  mov %rdi, %rax\n  pop %rdi\n  ret\n"
        ".p2align 4\n.fill 2048, 1, 0xc3\n");
extern long copy_words(long *to, const long *from, long words) __attribute__((visibility("hidden")));
extern long square(long) __attribute__((visibility("hidden")));
static long (*volatile by_pointer)(long) = square;
int main(void)
{
    long from[20], to[20], sum = 0;
    for (int i = 0; i < 20; i++) from[i] = i;
    for (int i = 0; i < 5; i++) sum += copy_words(to, from, 20) + by_pointer(i);
    printf("%ld\n", sum);
    return sum != 5 * 190 + 30;
}
C
    ${CC:-cc} -O2 -static -o hand hand.c && strip hand || exit 1
    run ./step ./hand
    expect_status 0
    expect_stdout_line './hand: * whole, 0 early, 0 installing, 0 wrong'
fi

it 'a program whose symbols the loader binds at their first call has whole walks'
if [ "$(uname -m)" != x86_64 ]; then
    skip 'the resolver of other machines keeps its caller in the usual way'
else
    for ((i = 1; i <= 12; i++)); do echo "long made_$i(long at) { return at * $i + 1; }"; done >many.c
    {
        for ((i = 1; i <= 12; i++)); do echo "long made_$i(long);"; done
        echo 'int main(void) { long sum = 0;'
        for ((i = 1; i <= 12; i++)); do echo "sum += made_$i(sum);"; done
        echo 'return sum == 3; }'
    } >lazy.c
    # shellcheck disable=SC2016
    ${CC:-cc} -O2 -shared -fPIC -o libmany.so many.c && ${CC:-cc} -O2 -Wl,-z,lazy,-rpath,'$ORIGIN' -o lazy lazy.c ./libmany.so || exit 1
    run ./step ./lazy
    expect_status 0
    expect_stdout_line './lazy: * whole, 0 early, 0 installing, 0 wrong'
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
