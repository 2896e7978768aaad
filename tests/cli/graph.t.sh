#!/usr/bin/env bash
# Graphs as pictures: pitot graph, and the formats and viewers of both pprofs.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

cat >a.folded <<'F'
main;parse;read 300
main;parse 200
main;emit;write 400
main;emit 100
F
pitot convert a.folded -o a.pb.gz 2>/dev/null

# A PATH without dot.
mkdir bin
for tool in sh cat; do ln -s "$(command -v $tool)" bin/; done
without_dot() { PATH=$t_dir/bin "$PITOT" "$@"; }

it 'draws without Graphviz, and says who drew'
run without_dot graph a.pb.gz
expect_status 0
expect_stdout "graph.svg: 5 boxes, drawn by pitot's own layout"
expect_equal 'boxes' "$(grep -c '<g class="node">' graph.svg)" 6
expect_equal 'arrows' "$(grep -c '<g class="edge">' graph.svg)" 4
grep -q 'id="viewport"' graph.svg || fail 'it cannot be moved'
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("graph.svg")' || fail 'no XML'

it 'writes PDF and PostScript without Graphviz, and says what needs it'
run without_dot graph -o a.pdf a.pb.gz
expect_status 0
expect_equal 'pdf' "$(head -c 5 a.pdf)" %PDF-
run without_dot graph -o a.ps a.pb.gz
expect_status 0
expect_equal 'ps' "$(head -c 4 a.ps)" '%!PS'
run without_dot graph -o a.png a.pb.gz
expect_status 1
expect_stderr_line '*png pictures need Graphviz*'
if needs gs; then
    expect gs -q -dNOPAUSE -dBATCH -sDEVICE=bbox a.pdf
    expect gs -q -dNOPAUSE -dBATCH -sDEVICE=bbox a.ps
fi

it 'lets Graphviz draw where it is installed'
if needs dot; then
    run pitot graph -o a.svg a.pb.gz
    expect_stdout "a.svg: 5 boxes, drawn by Graphviz's dot"
    run pitot graph -o a.png a.pb.gz
    expect_status 0
    run pitot graph --engine=own -o a.svg a.pb.gz
    expect_stdout "a.svg: 5 boxes, drawn by pitot's own layout"
fi

it 'says how much passes through hidden functions'
printf 'main;wrapper;leaf 900\nmain;other 100\n' >h.folded
pitot convert h.folded -o h.pb.gz 2>/dev/null
run without_dot graph -n 3 h.pb.gz -o h.svg
expect_stdout_line '*; 900 (90.00%) in samples with hidden functions between boxes (dotted arrows)'
grep -q 'stroke-dasharray' h.svg || fail 'no arrow is dotted'
grep -q 'with hidden functions between boxes' h.svg || fail 'the legend does not say it'

it 'writes dot'
run pitot graph -o - --format=dot a.pb.gz
expect_stdout_line 'N1 -> *'
run pitot graph -o a.xyz a.pb.gz
expect_status 2

it 'keeps the file and says so where there is no display'
run env -u DISPLAY -u WAYLAND_DISPLAY -u BROWSER PATH="$t_dir/bin" TMPDIR="$t_dir" "$PITOT" pprof -web -symbolize=none a.pb.gz
[ "$status" != 0 ] || fail 'exit status 0'
expect_stderr_line '*no display*the file is *'
kept=$(stderr | sed -n 's/.*the file is //p')
grep -q '</svg>' "$kept" || fail "$kept is no picture"
run env -u DISPLAY -u WAYLAND_DISPLAY PATH="$t_dir/bin" TMPDIR="$t_dir" "$PITOT" google-pprof --gv /bin/true a.pb.gz
expect_status 1
expect_stderr_line '*the file is *.ps'

it 'shows a picture in $BROWSER, waits for it and removes the file'
cat >viewer <<'V'
#!/bin/sh
cp "$1" "$HOME/seen.svg"
echo "$1" >"$HOME/name"
V
chmod +x viewer
run env BROWSER="$t_dir/viewer" TMPDIR="$t_dir" "$PITOT" pprof -web -symbolize=none a.pb.gz
expect_status 0
grep -q '</svg>' seen.svg || fail 'no picture was shown'
[ ! -e "$(cat name)" ] || fail 'the file is still there'
run env BROWSER="$t_dir/viewer" TMPDIR="$t_dir" "$PITOT" google-pprof --web /bin/true a.pb.gz
expect_status 0

# The name of each attribute, with all quoted strings taken away.
attributes_of() {
    perl -0pe 's/"(?:[^"\\]|\\.)*"/S/gs' | grep -o '[a-zA-Z_]*=' | sort
}

it 'writes any text of a profile as text: no quote ends a string, no backslash joins its end'
python3 "$PITOT_ROOT/tests/cli/hostile_profile.py" one two three four >plain.pb
python3 "$PITOT_ROOT/tests/cli/hostile_profile.py" 'x"];stylesheet="y\"?><script>"; N9[label="' 'a\' '"' \
    'x" URL="javascript:alert(1)" y="\' >attack.pb
cp attack.pb 'x" URL="y.pb'
for by in function file line function-and-file address; do
    pitot graph --engine=dot --format=dot --labels --by=$by -o - plain.pb 2>/dev/null | attributes_of >expected
    for file in attack.pb 'x" URL="y.pb'; do
        pitot graph --engine=dot --format=dot --labels --by=$by -o - "$file" 2>/dev/null | attributes_of >got
        run diff expected got
        expect_status 0
        run pitot graph --engine=own --labels --by=$by -o a.svg "$file"
        expect_status 0
    done
done

it 'writes any text as text in the graphs of the Perl pprof, too'
pitot google-pprof --dot /bin/true plain.pb 2>/dev/null | attributes_of >expected
pitot google-pprof --dot /bin/true attack.pb 2>/dev/null | attributes_of >got
run diff expected got
expect_status 0
expect_equal 'labels' "$(grep -c '^label=' got)" 2
printf -- '--- symbol\nbinary=x"];stylesheet="y\n0x0000000000401000 f"];URL="z\\\n---\n--- profile\n' >brings.raw
cat "$PITOT_ROOT/fuzz/corpus/formats/gperftools64le" >>brings.raw
pitot google-pprof --dot brings.raw 2>/dev/null | attributes_of >got
expect_equal 'attributes of the profile' "$(grep -c 'stylesheet\|URL' got)" 0
run test -s expected
expect_status 0
pitot pprof -dot plain.pb 2>/dev/null | attributes_of >expected
pitot pprof -dot attack.pb 2>/dev/null | attributes_of >got
run diff expected got
expect_status 0

it 'has at most 1,000 bytes of a name, and whole characters of it'
printf 'main;%s 1\n' "$(printf 'é%.0s' {1..20000})" >long.folded
run pitot graph --engine=own -o long.svg long.folded
expect_status 0
expect grep -q '^<svg ' long.svg
expect grep -qF ">$(printf 'é%.0s' {1..500})…<" long.svg
run grep -qF "$(printf 'é%.0s' {1..501})" long.svg
expect_status 1
