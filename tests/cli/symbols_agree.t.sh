#!/usr/bin/env bash
# Random addresses of programs that are built here: line and chain of inlined calls are those of
# llvm-symbolizer, lines those of eu-addr2line. tests/torture/symbols_agree.sh is the large
# form, of more compilers and options.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

export PITOT
command -v g++ >/dev/null || skip_all 'g++ is not installed'
command -v python3 >/dev/null || skip_all 'python3 is not installed'
cp "$PITOT_ROOT/tests/cli/symbols_agree.cc" prog.cc

# agree TOOL FILE...: at least 99.9 % of the addresses, by the script's measure.
agree() {
    run python3 "$PITOT_ROOT/tests/torture/symbols_agree.py" --count 2000 "$@"
    [ "$status" = 0 ] || fail "$(stdout)$(stderr)"
}

# with_gcc NAME: a copy of the program that gcc -O2 makes, which is made once.
with_gcc() {
    [ -e gcc-O2 ] || expect g++ -g -O2 prog.cc -o gcc-O2
    [ "$1" = gcc-O2 ] || cp gcc-O2 "$1"
}

it 'gcc -O2: as llvm-symbolizer and eu-addr2line'
if needs llvm-symbolizer-14 eu-addr2line; then
    with_gcc gcc-O2
    agree llvm gcc-O2
    agree eu gcc-O2
fi

it 'clang, split units in a package: as llvm-symbolizer'
if needs clang++-14 llvm-dwp-14 llvm-symbolizer-14; then
    expect clang++-14 -std=c++17 -gdwarf-5 -gsplit-dwarf -O2 -c prog.cc -o split.o
    expect clang++-14 split.o -o clang-split
    expect llvm-dwp-14 split.dwo -o clang-split.dwp
    rm split.dwo
    agree llvm clang-split
fi

it 'what dwz shared in another file is found, lines are as eu-addr2line has them'
if needs dwz llvm-symbolizer-14 eu-addr2line; then
    with_gcc plain
    with_gcc dwz-a
    with_gcc dwz-b
    expect dwz -m dwz-common dwz-a dwz-b
    agree eu dwz-a
    agree llvm --instead plain dwz-a
fi

it 'a stripped program with .gnu_debugdata: names as llvm-symbolizer has them from the symbol table'
if needs xz llvm-symbolizer-14 && "$PITOT" version --features | grep -q liblzma; then
    with_gcc whole
    expect strip -g -o symbols whole
    expect objcopy --only-keep-debug symbols mini
    expect xz -kf mini
    expect strip -o stripped whole
    expect objcopy --add-section .gnu_debugdata=mini.xz stripped
    agree llvm --instead symbols stripped
fi

it 'gcc, strict DWARF 2, whose entries have one range each: as llvm-symbolizer'
if needs gcc llvm-symbolizer-14; then
    cp "$PITOT_ROOT/tests/cli/symbols_strict.c" strict.c
    expect gcc -gdwarf-2 -gstrict-dwarf -O2 strict.c -o strict
    agree llvm strict
fi
