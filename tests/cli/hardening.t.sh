#!/usr/bin/env bash
# What compiler and linker add against exploits is in both binaries. The handler's archive has no
# stack protector and no checked copies: tests/abi/tick-undefined.txt lists all that it calls.
. "$(dirname "$0")/lib.sh"

[ "$PITOT_SANITIZED" = 0 ] || skip_all 'sanitizers check memory their own way'
for tool in readelf objdump; do
    command -v $tool >/dev/null || skip_all "$tool is not installed"
done

for name in pitot libprofiler.so.0; do
    file=$PITOT_BUILD/$name
    [ $name != pitot ] || file=$PITOT
    readelf -W -h -l -d "$file" >headers
    readelf -W --dyn-syms "$file" >symbols

    it "$name is position independent, its relocations are done and read-only before it runs"
    expect_equal 'type' "$(awk '$1 == "Type:" {print $2; exit}' headers)" DYN
    [ $name != pitot ] || grep -q 'FLAGS_1.*PIE' headers || fail 'not a PIE'
    grep -q 'GNU_RELRO' headers || fail 'no RELRO'
    grep -qE '\((FLAGS|FLAGS_1)\).*(BIND_)?NOW' headers || fail 'functions are bound lazily'
    ! grep -q 'TEXTREL' headers || fail 'text is relocated'

    it "$name has no memory that is written and executed, nor an executable stack"
    expect_equal 'the stack' "$(awk '$1 == "GNU_STACK" {print $7}' headers)" RW
    ! grep -qE '^ +LOAD.* RWE ' headers || fail 'a segment is written and executed'

    it "$name checks its stack frames and copies"
    grep -q ' __stack_chk_fail' symbols || fail 'no stack protector'
    # The library has checked copies of its own (agent/checked.c).
    { cat symbols && nm "$file" 2>/dev/null; } | grep -vE '__(stack|fdelt)_chk' |
        grep -qE ' __[a-z]+_chk(@|$)' || fail 'no _FORTIFY_SOURCE'
    grep -q -e '-fstack-clash-protection' "$PITOT_BUILD/build.ninja" || fail 'no stack clash protection'

    it "$name marks where indirect branches may go"
    case $(uname -m) in
    x86_64) landing=endbr64 ;;
    aarch64) landing='paciasp|bti' ;;
    *) landing='' ;;
    esac
    # The library's first export; the program's functions have no names that are sure to be there.
    if [ -z "$landing" ]; then
        skip "no such marks on $(uname -m)"
    elif [ $name = pitot ]; then
        count=$(objdump -d -j .text --no-show-raw-insn "$file" | head -n 20000 | grep -cE "$landing")
        [ "$count" -gt 20 ] || fail "$count marks in the first 20,000 instructions"
    else
        objdump -d --no-show-raw-insn --disassemble=ProfilerStart "$file" | grep -qE "$landing" || fail 'ProfilerStart has none'
    fi
done
