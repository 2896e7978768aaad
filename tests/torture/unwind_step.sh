#!/usr/bin/env bash
# Programs run instruction by instruction: at each one the walk by unwind tables is what was really
# called. Takes a minute or two for each way to compile them, most of it in the loader.
. "$(dirname "$0")/../cli/lib.sh"

src=$PITOT_ROOT/src
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I"$src" -I"$PITOT_ROOT/tests/unit" -o step \
    "$PITOT_ROOT/tests/torture/unwind_step.c" "$PITOT_ROOT/src/machine/machine.c" "$PITOT_ROOT/tests/unit/unwind_maker.c" \
    "$src"/unwind/*.c "$src/elf/image.c" || exit 1
export LD_BIND_NOW=1

for options in -O0 '-O2 -fomit-frame-pointer' '-O3 -flto'; do
    it "walks are right at every instruction of a program made with $options"
    # shellcheck disable=SC2086
    ${CXX:-c++} -std=c++17 $options "$PITOT_ROOT/tests/torture/unwind_program.cc" -o program || exit 1
    run ./step ./program
    [ "$status" = 0 ] || fail "$(stdout)$(stderr)"
done
