#!/usr/bin/env bash
# The page that the binary carries is checked in built, so that a build needs no node.
. "$(dirname "$0")/../cli/lib.sh"

it 'web/dist is what web/build makes of its sources'
if needs esbuild tsc node; then
    run "$PITOT_ROOT/web/build" "$PWD/built"
    expect_status 0
    for file in "$PITOT_ROOT"/web/dist/*; do
        expect_same "$file" "built/${file##*/}"
    done
    expect_equal 'the files built' "$(ls built)" "$(ls "$PITOT_ROOT/web/dist")"
fi
