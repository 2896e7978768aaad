#!/usr/bin/env bash
# What libprofiler.so.0 shows to the program it is loaded into, and what its signal handler may call.
# The lists beside this file give each name with its reason; a `#` begins a comment.
. "$(dirname "$0")/../cli/lib.sh"

here=$PITOT_ROOT/tests/abi
library=$PITOT_BUILD/libprofiler.so.0
tick=$(find "$PITOT_BUILD/src/agent" -name 'libpt_tick.a' -o -name 'libpt_agent_tick.a' 2>/dev/null |
    head -n 1)

# listed FILE: the names of a list, sorted.
listed() { sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$1" | awk '{ print $1 }' | sort -u; }

# ready FILE...: false, and the test is skipped, while one of these is not there.
ready() {
    local file
    for file; do
        if [ ! -e "$file" ]; then
            skip "${file##*/} is not there"
            return 1
        fi
    done
}

it 'libprofiler.so.0 exports exactly the symbols of exports.txt'
if ready "$library" "$here/exports.txt" && needs nm; then
    listed "$here/exports.txt" >expected
    nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >exported
    expect_same expected exported
fi

it 'libprofiler.so.0 needs no library but libc'
if ready "$library" && needs readelf; then
    LC_ALL=C readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -v -x -e libc.so.6 -e 'ld-linux.*' >others
    expect_equal 'what it needs beside libc' "$(cat others)" ''
fi

it 'libprofiler.so.0 is called so, and binds its symbols when it is loaded'
if ready "$library" && needs readelf; then
    LC_ALL=C readelf -dW "$library" >dynamic
    expect grep -qF '[libprofiler.so.0]' dynamic
    expect grep -qE 'BIND_NOW|\(FLAGS_1\).*NOW' dynamic
fi

it 'libprofiler.so.0 has no executable stack and no text relocations'
if ready "$library" && needs readelf; then
    LC_ALL=C readelf -lWd "$library" >headers
    expect grep -qE 'GNU_STACK .* RW ' headers
    expect [ "$(grep -c TEXTREL headers)" = 0 ]
fi

it 'the signal handler calls nothing but what tick-undefined.txt names'
if ready "${tick:-libpt_tick.a}" "$here/tick-undefined.txt" && needs nm; then
    # What one object of the archive leaves undefined and another defines is its own affair.
    nm --defined-only "$tick" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >defined
    nm --undefined-only "$tick" 2>/dev/null | awk '$1 == "U" || $1 == "w" { print $2 }' | sort -u |
        comm -23 - defined >undefined
    listed "$here/tick-undefined.txt" >allowed
    comm -23 undefined allowed >offences
    expect_equal 'what it calls beside those' "$(cat offences)" ''
fi

it "libprofiler.so.0 does not ask glibc for the process's id: before 2.25 it has none for a thread made by clone"
if ready "$library" && needs nm; then
    nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $2); print $2 }' >wanted
    expect grep -qx memcpy wanted
    expect [ "$(grep -cx getpid wanted)" = 0 ]
fi

it 'libprofiler.so.0 asks for no glibc newer than 2.17'
if ready "$library" && needs objdump; then
    objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sort -u >versions
    expect_equal 'versions above 2.17' "$({ cat versions; echo GLIBC_2.17; } | sort -uV | sed '1,/^GLIBC_2.17$/d')" ''
fi

it 'a program of musl is profiled like any other, with threads and without'
if ready "$library" && needs musl-gcc && needs python3; then
    cat >burn.c <<'BURN'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static void *burn(void *arg)
{
    volatile unsigned x = 1;
    struct timespec t;
    do {
        for (int i = 0; i < 20000; i++) x = x * 3 + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 100000000);
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    if (argc > 1 && pthread_create(&thread, NULL, burn, NULL) != 0) return 1;
    burn(NULL);
    if (argc > 1) pthread_join(thread, NULL);
    puts("burnt");
    return 7;
}
BURN
    musl-gcc -O1 -o burn burn.c -pthread
    for threads in '' 2; do
        rm -f prof
        CPUPROFILE=prof LD_PRELOAD=$library run ./burn $threads
        expect_status 7
        expect_stdout burnt
        expect_no_stderr
        samples=$(python3 "$here/prof.py" prof | awk '$1 == "samples" { print $2 }')
        expect [ "${samples:-0}" -ge $((7 * ${threads:-1})) ]
    done
fi
