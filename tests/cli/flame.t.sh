#!/bin/bash
# pitot flame: where it writes, what it says. What is in the files: tests/unit/test_flame.c; how they look and
# move in a browser: tests/web/flame_page.t.py.
. "$(dirname "$0")/lib.sh"

# all 100: main 75 (f 60: f 20, g 30, f itself 10; main itself 15), idle 25
cat >app.folded <<'EOF'
main;f;g 30
main;f;f 20
main;f 10
main 15
idle 25
EOF

it 'writes flame.html here and says what to do with it'
run pitot flame app.folded
expect_status 0
expect_stdout_line 'flame.html: 6 boxes, *; open it in a browser: xdg-open flame.html'
expect_no_stderr
expect grep -q '"total":100,' flame.html
expect grep -q '"title":"app.folded"' flame.html

it 'writes a picture when the name ends in .svg'
run pitot flame app.folded -o out.svg
expect_status 0
expect_stdout_line 'out.svg: 6 boxes, *'
expect grep -q '^<svg ' out.svg
expect grep -q 'total 60 (60.00%)' out.svg
if command -v xmllint >/dev/null; then expect xmllint --nonet --noout out.svg; fi

it 'streams to standard output, and says nothing else there'
run pitot flame app.folded -o - --format=svg
expect_status 0
expect_stdout_line '<svg *'
expect_stdout_line '</svg>'
expect_no_stdout_line '*xdg-open*'

it 'streams a page when no format is named'
run pitot flame app.folded -o -
expect_status 0
expect_stdout_line '<!DOCTYPE html>'

it 'takes a name without an end when the format is named'
run pitot flame app.folded --format=svg -o picture
expect_status 0
expect grep -q '^<svg ' picture

it 'refuses a name whose end tells nothing'
run pitot flame app.folded -o flame.png
expect_status 2
expect_stderr_has "'flame.png' ends in none of .html, .svg and .json; --format=html, svg or json chooses"
expect test ! -e flame.png

it 'refuses an order of time without times, and a part without an order'
run pitot flame app.folded --in-order -o order.html
expect_status 2
expect_stderr_has '--in-order: the samples have no times; pitot record --timeline keeps them'
run pitot flame app.folded --part=0,5 -o order.html
expect_status 2
expect_stderr_has '--part needs --in-order'
run pitot flame app.folded --in-order --part=5 -o order.html
expect_status 2
expect_stderr_has '--part=5: use two whole numbers, START,END'
expect test ! -e order.html

it 'has a bar where boxes in the order of time are too narrow, and a box for each thread'
awk 'BEGIN { for (i = 1; i <= 12000; i++)
    printf "app 7/%d [000] %d.%06d: 1000 cpu-clock:\n\t401000 %s+0x1 (/app)\n\t401100 main+0x1 (/app)\n\n",
        (i > 6000 ? 9 : 8), i / 1000, i % 1000 * 1000, i % 2 ? "odd" : "even" }' >narrow.txt
run pitot flame --in-order narrow.txt -o narrow.svg
expect_status 0
expect grep -q '<rect class="n narrow"' narrow.svg
expect grep -q '^<g class="b"><title>9$' narrow.svg
run pitot flame --in-order --part=1,2 narrow.txt -o part.svg
expect_status 1
expect_stderr_has 'no sample lies wholly in --part'

it 'draws what the query leaves and says what share that is'
run pitot flame app.folded --focus=g -o focus.html
expect_status 0
expect grep -q '"total":30,' focus.html
expect grep -q '"whole":100,' focus.html
expect grep -qF '"30.0% of the profile: --focus=g"' focus.html
run pitot flame app.folded --focus=g --relative -o relative.html
expect grep -q '"whole":30,' relative.html

it 'draws a difference by both sides'
# before: all 100 as above; after: main 120 (f 105: f 20, g 75, f itself 10; main itself 15), no idle, new 5
printf '%s\n' 'main;f;g 75' 'main;f;f 20' 'main;f 10' 'main 15' 'new 5' >after.folded
for base in --base --diff-base; do
    run pitot flame $base=app.folded after.folded -o difference.json
    expect_status 0
    expect_stdout_line 'difference.json: 7 boxes, *B'
    expect grep -q '"total":225,' difference.json
    expect grep -q '"base":100,' difference.json
    # all, main, f, g, f, idle, new: both sides, then before
    expect grep -qF '"self":[0,30,20,105,40,25,5],"total":[225,195,165,105,40,25,5],"self_base":[0,15,10,30,20,25,0],"total_base":[100,75,60,30,20,25,0]' difference.json
done
run pitot flame --base=app.folded after.folded -o difference.svg
expect grep -qF '</title><rect class="d16" ' difference.svg
expect_equal 'the reddest box' "$(tr -d '\n' <difference.svg | grep -o '<title>[^/]*</title><rect class="d16"' | grep -o 'self.*)')" 'self 30 -&gt; 75 (+45)'

it 'draws callers below what runs, and a box that was too narrow'
run pitot flame app.folded --inverted -o inverted.json
expect grep -qF '"total":[100,30,20,20,10,30,30,30,25,15]' inverted.json
run pitot flame app.folded --under='main;f' -o under.json
expect grep -qF '"self":[10,30,20],"total":[60,30,20]' under.json
run pitot flame app.folded --under='main;g'
expect_status 1
expect_stderr_line "pitot: no stack begins with 'main;g'"

it 'leaves out boxes below half a pixel of --width'
run pitot flame app.folded --width=2 -o narrow.json # a quarter of 100
expect grep -qF '"total":[100,75,60,30,25]' narrow.json
expect grep -qF '"cut":{"nodes":1,"total":20}' narrow.json

it 'counts samples as every other report does'
# profile.proto: one event, type hits, unit samples: work 500, main 7
printf '\012\004\010\001\020\002\022\010\012\002\001\002\022\002\364\003\022\006\012\001\002\022\001\007"\006\010\001"\002\010\001"\006\010\002"\002\010\002*\006\010\001\020\004 \005*\006\010\002\020\003 \0052\0002\004hits2\007samples2\004main2\004work2\003a.c' >hits.pb
run pitot top hits.pb
expect_stdout_line 'hits.pb: hits, 507, 507 samples'
run pitot flame hits.pb -o hits.svg
expect grep -q 'hits: 507 · 507 samples in 2 distinct stacks · unnamed 0%</text>' hits.svg
run pitot flame hits.pb -o hits.html
expect grep -qF '"facts":["507 samples in 2 distinct stacks","unnamed 0%"]' hits.html
expect grep -qF '"samples":507,' hits.html

it 'writes no file when nothing matches'
run pitot flame app.folded --focus=nowhere -o none.html
expect_status 3
expect test ! -e none.html

it 'says when there is no room to write'
run pitot flame app.folded --format=html -o /dev/full
expect_status 1
expect_stderr_has '/dev/full'
expect_no_stdout

it 'says which folder is not there'
run pitot flame app.folded -o nowhere/flame.html
expect_status 1
expect_stderr_has 'nowhere/flame.html'

it 'makes the same bytes each time'
run pitot flame app.folded -o one.html
run pitot flame app.folded -o two.html
expect_same one.html two.html

it 'draws hostile names without markup of theirs'
printf '%s 5\n' 'main;</script><script>alert(1)</script>;]]></style><img src=x>' >hostile.folded
run pitot flame hostile.folded -o hostile.html
expect_status 0
run pitot flame hostile.folded -o hostile.svg
expect_status 0
expect_equal 'scripts in the page' "$(grep -o '<script' hostile.html | wc -l)" 2
expect_equal 'scripts in the picture' "$(grep -o '<script' hostile.svg | wc -l)" 1
expect_equal 'images' "$(cat hostile.html hostile.svg | grep -c '<img')" 0
if command -v xmllint >/dev/null; then expect xmllint --nonet --noout hostile.svg; fi

# sums PROFILE: whether the boxes of each function add up to its row in pitot top. A function inside itself
# counts once.
cat >sums.py <<'EOF'
import json, subprocess, sys
pitot, profile = sys.argv[1:]
run = lambda *args: subprocess.run([pitot, *args, profile], stdout=subprocess.PIPE, check=True).stdout
page = run('flame', '-o', '-').decode()
data = json.loads(page.split('type="application/json">')[1].split('</script>')[0])
assert data['cut'] == {'nodes': 0, 'total': 0}, data['cut']
nodes, strings, frames = data['nodes'], data['strings'], data['frames']
own, whole, above = {}, {}, [frozenset()]
for i in range(1, len(nodes['parent'])):
    name, under = strings[frames['name'][nodes['frame'][i]]], above[nodes['parent'][i]]
    own[name] = own.get(name, 0) + nodes['self'][i]
    whole[name] = whole.get(name, 0) + (0 if name in under else nodes['total'][i])
    above.append(under | {name})
rows = json.loads(run('top', '--json', '-n', '0'))['rows']
assert len(rows) == len(own) > 0, (len(rows), len(own))
for row in rows:
    boxes = own[row['name']], whole[row['name']]
    assert boxes == (row['self'], row['total']), (row, boxes)
EOF

it 'has boxes that add up to what pitot top says'
if needs python3; then expect python3 sums.py "$PITOT" app.folded; fi

it 'has boxes that add up to what pitot top says of a real Go profile with inlined frames'
if needs python3 && corpus pprof/mtg__default.pgo; then
    expect python3 sums.py "$PITOT" "$corpus"
fi
