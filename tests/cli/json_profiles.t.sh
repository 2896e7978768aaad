#!/usr/bin/env bash
# json_profiles.t.sh: .cpuprofile and Firefox's profiles, against what speedscope's importer (npm)
# makes of them, and against the rules that the Firefox Profiler has for its tables.
. "$(dirname "$0")/lib.sh"

here=$PITOT_ROOT/tests/cli
golden=$PITOT_ROOT/tests/golden

# importer FILE: the frames of the first profile. (idle) it leaves out; what runs when the program
# does nothing of its own it puts on top of the stack before.
importer() {
    node "$here/speedscope_import.js" "$package" "$1" |
        awk -F '\t' -v OFS='\t' '!/^profile / { print $1, $3, $4, $5 }' |
        grep -v -e '(program)' -e '(garbage collector)' | awk '$1 != 0' | sort
}

# ours FILE: what each frame costs by itself, in microseconds.
ours() {
    pitot dump --raw "$1" 2>/dev/null | python3 "$here/profile_sums.py" time |
        awk -F '\t' -v OFS='\t' '$1 != 0 { print $1 / 1000, $3, $4, $5 }' |
        grep -v -e '(program)' -e '(idle)' -e '(garbage collector)' | sort
}

it 'has the times of the importer for each function of each .cpuprofile'
if corpus cpuprofile && npm_package speedscope && needs node python3; then
    for file in "$corpus"/* "$corpus"/../firefox-fixtures/*.cpuprofile \
        "$golden/cpuprofile/node.cpuprofile"; do
        importer "$file" | sed 's/(anonymous [^)]*)/(anonymous)/' >expected
        ours "$file" >got
        expect_same expected got
        expect test -s got
    done
fi

it 'writes a .cpuprofile in which the importer finds the same times'
if npm_package speedscope && needs node python3; then
    for file in "$golden/cpuprofile/node.cpuprofile" "$golden/pprof/cpu.pb.gz"; do
        pitot convert "$file" -o out.cpuprofile 2>/dev/null
        importer out.cpuprofile | sed 's/(anonymous [^)]*)/(anonymous)/' >expected
        ours out.cpuprofile >got
        expect_same expected got
        expect test -s got
    done
    expect_equal 'the total' "$(awk -F '\t' '{ s += $1 } END { print s }' got)" 250000
fi

it 'takes what node records'
if needs node && [ "$PITOT_SANITIZED" != 1 ]; then
    echo 'function f(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
        const end = Date.now() + 100; while (Date.now() < end) f(100000);' >spin.js
    node --cpu-prof --cpu-prof-name=spin.cpuprofile spin.js
    run pitot top spin.cpuprofile
    expect_status 0
    expect_stdout_has ' f  '
fi

it 'has the times of the importer for the functions of the page in the profile of Firefox'
if corpus firefox && npm_package speedscope && needs node python3; then
    file=$corpus/speedscope__simple-firefox.json
    node "$here/speedscope_import.js" "$package" "$file" |
        awk -F '\t' '!/^profile / { printf "%.3f %s\n", $2, $3 }' | sort >expected
    # The importer knows frames of pages only, and a sample stands for the time to the next one.
    pitot dump --raw "$file" 2>/dev/null | python3 -c '
import json, sys
rows, table = {}, None
for line in sys.stdin:
    words = line.rstrip("\n").split("\t")
    if words[0] and words[0][0].isdigit():
        rows[table].append(words)
    elif words[0] and words[0][0] != "#":
        table = words[0].split()[0]
        rows[table] = []
samples = [s for s in rows["sample"] if json.loads(s[8]) == "GeckoMain"]
sums = {}
for i, sample in enumerate(samples[:-1]):
    names = set()
    for location in rows["stack"][int(sample[1])][1].split():
        line = rows["location"][int(location)][3].split()[0]
        f = rows["function"][int(rows["line"][int(line)][1])]
        file = json.loads(f[3])
        if file and not file.startswith(("resource:", "self-hosted")):
            names.add(json.loads(f[1]))
    for name in names:
        sums[name] = sums.get(name, 0) + int(samples[i + 1][4]) - int(sample[4])
for name in sums:
    print("%.3f %s" % (sums[name] / 1e6, name))' | sort >got
    expect_same expected got
    expect test -s got
fi

it 'writes tables for the Firefox Profiler that keep its rules'
if needs python3; then
    printf 'main;run;f 3\nmain;g 1\n' >a.folded
    pitot convert "$golden/pprof/cpu.pb.gz" -o cpu.firefox.json 2>/dev/null
    pitot convert "$golden/firefox/v70.json" -e samples -o v70.firefox.json 2>/dev/null
    pitot convert a.folded -o folded.firefox.json 2>/dev/null
    run python3 - cpu.firefox.json v70.firefox.json folded.firefox.json <<'EOF'
import json, sys

def rows(table, name, columns, optional=()):
    """All columns are there and as long as the table says."""
    for column in columns:
        assert len(table[column]) == table['length'], (name, column)
    return table['length']

def within(column, count, none):
    for cell in column:
        assert cell in none or (type(cell) is int and 0 <= cell < count), (cell, count)

for path in sys.argv[1:]:
    p = json.load(open(path))
    meta = p['meta']
    assert meta['preprocessedProfileVersion'] == 48 and meta['version'] == 29
    assert any(c['color'] == 'grey' and c['subcategories'][0] == 'Other' for c in meta['categories'])
    assert type(meta['interval']) in (int, float) and meta['processType'] == 0
    for lib in p['libs']:
        assert set(lib) == {'arch', 'name', 'path', 'debugName', 'debugPath', 'breakpadId', 'codeId'}
    weight = 0
    for t in p['threads']:
        assert type(t['pid']) is str and t['processType'] == 'default'
        assert type(t['isMainThread']) is bool and t['pausedRanges'] == []
        strings = len(t['stringArray'])
        resources = rows(t['resourceTable'], 'resource', ['lib', 'name', 'host', 'type'])
        within(t['resourceTable']['lib'], len(p['libs']), (None,))
        within(t['resourceTable']['name'], strings, ())
        funcs = rows(t['funcTable'], 'func', ['name', 'isJS', 'relevantForJS', 'resource',
                                              'fileName', 'lineNumber', 'columnNumber'])
        within(t['funcTable']['name'], strings, ())
        within(t['funcTable']['fileName'], strings, (None,))
        within(t['funcTable']['resource'], resources, (-1,))
        frames = rows(t['frameTable'], 'frame', ['address', 'inlineDepth', 'category', 'subcategory',
                                                 'func', 'nativeSymbol', 'innerWindowID',
                                                 'implementation', 'line', 'column'])
        within(t['frameTable']['func'], funcs, ())
        within(t['frameTable']['category'], len(meta['categories']), ())
        stacks = rows(t['stackTable'], 'stack', ['prefix', 'frame', 'category', 'subcategory'])
        within(t['stackTable']['frame'], frames, ())
        for i, prefix in enumerate(t['stackTable']['prefix']):
            assert prefix is None or 0 <= prefix < i
        s = t['samples']
        rows(s, 'samples', ['stack', 'time'])
        within(s['stack'], stacks, (None,))
        assert s['time'] == sorted(s['time'])
        assert s['weightType'] in ('samples', 'tracing-ms', 'bytes')
        assert s['weight'] is None or len(s['weight']) == s['length']
        weight += s['length'] if s['weight'] is None else sum(s['weight'])
        rows(t['markers'], 'markers', ['data', 'name', 'startTime', 'endTime', 'phase', 'category'])
        rows(t['nativeSymbols'], 'symbols', ['libIndex', 'address', 'name', 'functionSize'])
    print(path, round(weight, 3), len(p['threads']))
EOF
    expect_status 0
    expect_stdout 'cpu.firefox.json 250 1
v70.firefox.json 2 1
folded.firefox.json 4 1'
fi

# The Firefox Profiler's own reader: its command line, whose process loads one file and answers.
firefox_profiler() {
    export PROFILER_CLI_SESSION_DIR=$PWD/sessions PROFILER_CLI_NO_SYMBOLICATE=1
    local cli=$package/dist/profiler-cli.js pid tries=0
    node "$cli" --daemon "$1" --session one >daemon.log 2>&1 &
    pid=$!
    until node "$cli" thread functions --json --session one >functions.json 2>ask.log; do
        sleep 0.2
        tries=$((tries + 1))
        [ $tries -lt 1500 ] && kill -0 $pid 2>/dev/null || break
    done
    kill $pid 2>/dev/null
    wait $pid 2>/dev/null
    rm -rf sessions
    python3 -c '
import json
for f in json.load(open("functions.json"))["functions"]:
    print("%.6g %.6g %s" % (f["selfSamples"], f["totalSamples"], f["name"]))' | sort
}

it 'writes a profile that the Firefox Profiler loads, with the same weights for each function'
if npm_package @firefox-devtools/profiler-cli && needs node python3; then
    printf 'main;run;f 3\nmain;g 1\nmain;run;main;f 2\n' >a.folded
    pitot convert a.folded -o folded.firefox.json 2>/dev/null
    firefox_profiler folded.firefox.json >got
    printf '%s\n' '0 5 run' '0 6 main' '1 1 g' '5 5 f' >expected
    expect_same expected got
    pitot convert "$golden/pprof/cpu.pb.gz" -o cpu.firefox.json 2>/dev/null
    firefox_profiler cpu.firefox.json >got
    # By function: one that has samples on several lines is one all the same.
    pitot dump --raw "$golden/pprof/cpu.pb.gz" 2>/dev/null |
        python3 "$here/profile_sums.py" --by=name cpu |
        awk -F '\t' '{ printf "%.6g %.6g %s\n", $1 / 1e6, $2 / 1e6, $3 }' | sort >expected
    expect_same expected got
    expect test "$(wc -l <got)" -ge 5
fi
