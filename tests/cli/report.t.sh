#!/usr/bin/env bash
# pitot report: the page with its reports inside; how it looks and moves: tests/web/app_page.t.py.
. "$(dirname "$0")/lib.sh"

cat >app.folded <<'EOF'
main;f;g 30
main;f;f 20
main;f 10
main 15
idle 25
EOF

it 'writes report.html here and says what to do with it'
run pitot report app.folded
expect_status 0
expect_stdout_line 'report.html: *; open it in a browser: xdg-open report.html'
expect_no_stderr
expect grep -q '"answers":{"flame":{"schema":1,' report.html

it 'holds what the commands say of the same query'
if needs python3; then
    run pitot report --focus=f app.folded -o f.html
    cat >same.py <<'EOF'
import json, subprocess, sys
pitot = sys.argv[1]
data = json.loads(open('f.html').read().split('id="data" type="application/json">')[1].split('</script>')[0])
said = lambda *words: json.loads(subprocess.run([pitot, *words, '--json', '--focus=f', 'app.folded'],
                                                stdout=subprocess.PIPE, check=True).stdout)
answers = data['answers']
assert data['query'] == '--focus=f', data['query']
assert answers['top'] == said('top', '-n', '300')
assert answers['tree'] == said('tree')
assert answers['tree inverted'] == said('tree', '--inverted', '--min=1%')
assert sorted(answers['peek']) == ['f', 'g', 'main'], answers['peek'].keys()
assert answers['peek']['f'] == said('peek', 'f')
assert 'disasm' not in answers
EOF
    expect python3 same.py "$PITOT"
fi

it 'takes each option of a query, choices among them'
printf 'main;f;f 1\n' >again.folded
run pitot report --recursion=all -o again.html again.folded
expect_status 0
expect grep -q -e '--recursion=all' again.html

it 'leaves out what would make it larger than a megabyte'
for i in $(seq 1500); do printf 'main;%s;leaf%s %s\n' "a_function_with_a_rather_long_name_$((i % 100))" "$i" "$((i + 5))"; done >large.folded
run pitot report -n 150 large.folded -o large.html
expect_status 0
expect test "$(wc -c <large.html)" -lt 1000000

it 'holds the first hundred levels of a tree that is larger than all else'
{
    printf 'main'
    for i in $(seq 9000); do printf ';f%d' "$i"; done
    echo ' 5'
} >deep.folded
run pitot report deep.folded -o deep.html
expect_status 0
expect test "$(wc -c <deep.html)" -lt 1000000
expect grep -q '"tree":{.*{"depth":101,"folded":1,' deep.html

it 'lets no name end its element'
printf '%s 5\n' 'main;</script><script>alert(1)</script>' >hostile.folded
run pitot report hostile.folded -o hostile.html
expect_equal scripts "$(grep -o '<script' hostile.html | wc -l)" 2
