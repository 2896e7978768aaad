#!/bin/bash -eu
# Builds the fuzz targets as OSS-Fuzz wants them: its projects/pitot/build.sh. OSS-Fuzz sets CC, CFLAGS
# (with the sanitizer), LIB_FUZZING_ENGINE, SRC, WORK and OUT; the sources are $SRC/pitot.
#
# PITOT_FUZZ_ONLY, if set, names the targets to build, separated by blanks.

# Programs run where none of the libraries is installed: they are linked statically. What is loaded
# while a program runs (libcurl, capstone, libmicrohttpd) is left out.
meson setup "$WORK/build" "$SRC/pitot" --buildtype=plain --default-library=static \
    -Dprefer_static=true -Dfuzzers=true -Dfuzz_engine="$LIB_FUZZING_ENGINE" -Db_lundef=false \
    -Dcurl=disabled -Dcapstone=disabled -Dmicrohttpd=disabled -Dlibedit=disabled

targets=()
for name in ${PITOT_FUZZ_ONLY:-}; do
    targets+=("fuzz/fuzz_$name")
done
ninja -C "$WORK/build" "${targets[@]:-fuzzers}"

# fuzz_NAME, fuzz_NAME_seed_corpus.zip, fuzz_NAME.dict and fuzz_NAME.options
python3 "$SRC/pitot/fuzz/oss-fuzz/package.py" "$WORK/build" "$OUT"
