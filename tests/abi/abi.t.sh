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
