#!/usr/bin/env bash
# Every report on some small files of each format, out of a generator: nothing that is quadratic in
# what a kilobyte inflates to gets through. tests/torture/small_files.sh runs more of them, with
# tighter bounds.
. "$(dirname "$0")/lib.sh"
[ "$PITOT_SANITIZED" = 0 ] || skip_all 'what the sanitizers add is not measured'

it 'no report on a file of a kilobyte takes more than a second of CPU time, or 100 MB'
run "$PITOT_BUILD/tests/small_files" --count="${PITOT_CASES:-2}" --cpu-ms=1000 --peak-mb=100 \
    "$PITOT_ROOT/tests/golden" "$PITOT_ROOT/fuzz/corpus"
[ "$status" = 0 ] || fail "$(stdout)"

# What follows was quadratic, in files that gzip makes small: each took 3 to 40 seconds. A second of
# CPU time is their limit.
bounded() {
    run bash -c 'ulimit -t 1; exec "$PITOT" "$@"' bounded "$@"
}

# COUNT times the line.
repeated() {
    yes "$2" | head -n "$1"
}

it 'a stack of one address in the original pprof: each frame goes, none is copied'
{
    printf 'threadcreate profile: total 6\n6 @ 0x20'
    repeated 60000 '0x10' | tr '\n' ' ' | sed 's/^/ /'
    echo
} >deep
bounded google-pprof --text "$PITOT_BUILD/tests/small_program" deep
expect_status 0
expect_stdout_line 'Total: 6 samples'
[ "$(grep -c '^Removing .* from all stack traces.$' $t_out/stderr)" = 60000 ] || fail "$(head -3 $t_out/stderr)"

dcpicat_begin='text_start  0x120000000
text_size   0x1000
event       3 cycles:62000:10000'

it 'a hundred thousand equal header lines in merge'
{ echo "$dcpicat_begin"; repeated 100000 'other x'; echo '0x120000010 3'; } >headers
bounded merge -o headers.pb.gz headers headers
expect_status 0
run pitot info headers.pb.gz
expect_stdout_line 'samples    1, 1 distinct stack'

it 'thirty thousand mappings without a name in diff'
{ echo "$dcpicat_begin"; echo '0x120000010 3'; repeated 60000 '0 9
0x120000014 3'; } >mappings
bounded diff mappings mappings
expect_status 4 # lines that are not understood

it 'a name of a hundred thousand newlines in a picture of a graph'
{
    printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f'
    repeated 300000 '\n' | tr -d '\n'
    printf '"}]},"profiles":[{"type":"sampled","name":"t","unit":"none","startValue":0,"endValue":1,'
    printf '"samples":[[0]],"weights":[1]}]}'
} >lines.speedscope.json
bounded graph --engine=own -o lines.svg lines.speedscope.json
expect_status 0
[ "$(wc -c <lines.svg)" -lt 2000000 ] || fail "$(wc -c <lines.svg) bytes"
[ "$(grep -c '>\.\.\.</text>' lines.svg)" = 1 ] || fail 'the label does not end in "..."'

it 'JFR whose constants are used again and again: long texts, names of functions, fields, numbers'
if needs python3; then
    mkdir jfr
    expect env PYTHONDONTWRITEBYTECODE=1 python3 "$PITOT_ROOT/tests/golden/jfr/odd.py" costly jfr
    for file in texts names symbol fields digits thread-names; do
        bounded info jfr/$file.jfr
        [[ $status = [04] ]] || fail "$file: status $status: $(head -c 300 "$t_out/stderr")"
    done
fi
