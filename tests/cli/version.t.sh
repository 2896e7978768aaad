#!/usr/bin/env bash
# The least that a program says of itself.
. "$(dirname "$0")/lib.sh"

version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" "$PITOT_ROOT/meson.build")

it 'version prints one line with the version that meson.build names'
run pitot version
expect_status 0
expect_stdout "pitot $version"
expect_no_stderr

it 'version --features lists what is compiled in, a line each'
run pitot version --features
expect_status 0
for part in pprof folded libdeflate libzstd pcre2; do
    expect_stdout_has "$part"
done

it 'no arguments and no profile here: ten lines of help at most'
run pitot
expect_no_stderr
expect [ "$(stdout | wc -l)" -le 12 ]
expect_stdout_has 'pitot top'

it 'writing to a reader that has left is quiet'
run bash -c '"$PITOT" help | head -n 1 >/dev/null; echo "${PIPESTATUS[0]}"'
expect_no_stderr
expect_stdout_line '@(0|141)'

it 'output that cannot be written is an error'
if [ -c /dev/full ]; then
    run bash -c '"$PITOT" help >/dev/full'
    expect_status 1
    expect_stderr_line 'pitot: *'
fi
