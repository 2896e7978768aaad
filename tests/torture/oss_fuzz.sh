#!/usr/bin/env bash
# fuzz/oss-fuzz/build.sh with the variables that OSS-Fuzz sets, as far as that goes without its images.
. "$(dirname "$0")/../cli/lib.sh"

CC=$(command -v clang-14 || command -v clang) || skip_all 'clang is not installed'
CXX=${CC/clang/clang++}
export CC CXX SRC=$PWD/src WORK=$PWD/work OUT=$PWD/out LIB_FUZZING_ENGINE=-fsanitize=fuzzer
export CFLAGS='-O1 -fno-omit-frame-pointer -gline-tables-only -fsanitize=address -fsanitize=fuzzer-no-link'
mkdir "$SRC" "$WORK" "$OUT"
ln -s "$PITOT_ROOT" "$SRC/pitot"

it 'builds targets with their seeds, dictionary and options'
PITOT_FUZZ_ONLY='json peel read_folded read_pprof' "$PITOT_ROOT/fuzz/oss-fuzz/build.sh" >build.log 2>&1 || {
    tail -20 build.log | sed 's/^/# /'
    expect_equal 'exit status of build.sh' 1 0
}
for name in json peel read_folded read_pprof; do
    [ -x "out/fuzz_$name" ] || expect_equal "out/fuzz_$name" 'missing' 'there'
    [ -s "out/fuzz_${name}_seed_corpus.zip" ] || expect_equal "the seeds of $name" 'missing' 'there'
    expect_equal "options of $name" "$(sed -n 2p "out/fuzz_$name.options")" 'max_len = 4096'
done
cmp -s out/fuzz_json.dict "$PITOT_ROOT/fuzz/dict/json.dict" || expect_equal 'fuzz_json.dict' 'differs' 'the same'

it 'links them so that they run where none of our libraries is'
for name in json peel read_folded read_pprof; do
    expect_equal "libraries of $name" "$(ldd "out/fuzz_$name" | grep -c 'deflate\|zstd\|pcre2\|lzma')" 0
    python3 -m zipfile -e "out/fuzz_${name}_seed_corpus.zip" "seeds-$name"
    "out/fuzz_$name" -runs=0 "seeds-$name" >"$name.log" 2>&1
    expect_equal "exit status of fuzz_$name" $? 0
done
