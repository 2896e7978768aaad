#!/usr/bin/env bash
# speedscope.t.sh: speedscope's JSON, against what speedscope's own importer (npm) makes of it.
. "$(dirname "$0")/lib.sh"

here=$PITOT_ROOT/tests/cli
golden=$PITOT_ROOT/tests/golden

# importer FILE [NAME]: the frames of the first profile, or of the profile NAME.
importer() {
    node "$here/speedscope_import.js" "$package" "$1" |
        awk -F '\t' -v name="${2:-}" '
            /^profile / { n++; on = name == "" ? n == 1 : $1 == "profile " name; next }
            on' | sort
}

# ours FILE [EVENT]
ours() { pitot dump --raw "$1" 2>/dev/null | python3 "$here/profile_sums.py" "${@:2}" | sort; }

it 'has the weights of the importer for each frame of each file of the corpus'
if corpus speedscope && npm_package speedscope && needs node python3; then
    importer "$corpus/speedscope__simple.speedscope.json" >expected
    ours "$corpus/speedscope__simple.speedscope.json" >got
    expect_same expected got
    # Seconds there, nanoseconds here.
    importer "$corpus/speedscope__simple-sampled.speedscope.json" |
        awk -F '\t' -v OFS='\t' '{ $1 = sprintf("%.0f", $1 * 1e9); $2 = sprintf("%.0f", $2 * 1e9); print }' >expected
    ours "$corpus/speedscope__simple-sampled.speedscope.json" >got
    expect_same expected got
    expect test -s got
fi

it 'has the weights of the importer for each frame of the folded stacks of the corpus'
if corpus folded && npm_package speedscope && needs node python3; then
    for file in "$corpus"/*; do
        # A frame whose name is a blank has none here.
        importer "$file" | awk -F '\t' -v OFS='\t' '$3 == " " { $3 = "[unknown]" } 1' | sort >expected
        ours "$file" >got
        expect_same expected got
        expect test -s got
    done
fi

it 'has the weights of the importer for each thread of the goldens'
if npm_package speedscope && needs node python3; then
    for thread in first second; do
        importer "$golden/speedscope/sampled.speedscope.json" $thread |
            awk -F '\t' -v OFS='\t' '{ $1 = sprintf("%.0f", $1 * 1e6); $2 = sprintf("%.0f", $2 * 1e6); print }' | sort >expected
        ours "$golden/speedscope/sampled.speedscope.json" --only=thread=$thread >got
        expect_same expected got
        expect test -s got
    done
fi

it 'writes what the importer reads, a profile an event, with the same weights'
if npm_package speedscope && needs node python3; then
    for file in cpu.pb.gz heap.pb.gz; do
        run pitot convert "$golden/pprof/$file" -o out.speedscope.json
        expect_status 0
        node "$here/speedscope_import.js" "$package" out.speedscope.json | sed -n 's/^profile //p' |
            cut -f1,3 >expected
        pitot info --json "$golden/pprof/$file" | python3 -c '
import json, sys
for e in json.load(sys.stdin)["events"]:
    if e["total"] != 0:
        print(e["type"], e["total"], sep="\t")' >got
        expect_same expected got
        for event in $(cut -f1 got); do
            importer out.speedscope.json "$event" >expected
            ours out.speedscope.json "$event" >got.frames
            expect_same expected got.frames
        done
    done
fi

it 'finds again what it wrote'
run bash -c 'printf "a;b 3\na 4\n" | "$PITOT" convert - --to=speedscope | "$PITOT" convert - --to=folded'
expect_status 0
expect_stdout 'a;b 3
a 4'
