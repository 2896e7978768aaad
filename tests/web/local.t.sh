#!/usr/bin/env bash
# Profiles that the page reads by itself: web/src/app/local, run by node.
. "$(dirname "$0")/../cli/lib.sh"

ready=1
for tool in esbuild node python3; do command -v $tool >/dev/null || ready=0; done
[ $ready = 1 ] || skip_all 'esbuild, node and python3 are not installed'
cat >all.ts <<END
export { LocalAnswers } from "$PITOT_ROOT/web/src/app/local/answers";
export { Pattern } from "$PITOT_ROOT/web/src/app/local/pattern";
export { readProfile } from "$PITOT_ROOT/web/src/app/local/profile";
END
esbuild --bundle --format=esm --target=es2020 --log-level=warning all.ts --outfile=all.mjs

# script FILE... <SOURCE: a script that has all that all.ts has.
script() { timeout 600 node --input-type=module -e "import * as fs from 'node:fs';
    import { Blob } from 'node:buffer';
    import * as all from '$PWD/all.mjs';
    const { LocalAnswers, Pattern, readProfile } = all;
    globalThis.Blob = Blob;
    const read = (name) => readProfile(new Blob([fs.readFileSync(name)]));
    const top = (p) => new LocalAnswers('', p, p.event, false).answer('top', '').rows.map((r) => r.self + ' ' + r.name);
    $(cat)" -- "$@"; }

# proto FILE NAME...: a profile.proto; lines of standard input are locations, "ID MAPPING ADDRESS [FUNCTION...]", each
# the only frame of a sample, whose value is its number; DROP is its drop_frames.
proto() { DROP=${DROP:-} python3 -c '
import os, sys
def number(n):
    n &= 2**64 - 1
    made = b""
    while n > 127:
        made += bytes([n & 127 | 128])
        n >>= 7
    return made + bytes([n])
def field(k, n): return number(k << 3) + number(n)
def message(k, data): return number(k << 3 | 2) + number(len(data)) + data
names = [b"", b"samples", b"count", b"/usr/bin/prog", b"[kernel.kallsyms]", os.environ["DROP"].encode()]
out = message(1, field(1, 1) + field(2, 2))
for value, line in enumerate(sys.stdin, 1):
    id, mapping, address, *functions = line.split()
    out += message(2, message(1, number(int(id, 0))) + field(2, value))
    body = field(1, int(id, 0)) + field(2, int(mapping, 0)) + field(3, int(address, 0))
    for name in functions:
        names.append(name.encode())
        out += message(5, field(1, 2**63 + len(names)) + field(2, len(names) - 1))
        body += message(4, field(1, 2**63 + len(names)))
    out += message(4, body)
out += message(3, field(1, 1) + field(2, 2**63) + field(3, 2**63 + 65536) + field(4, 4096) + field(5, 3))
out += message(3, field(1, 2) + field(2, 0xffffffff81000000) + field(3, 2**64 - 1) + field(5, 4))
for name in names: out += message(6, name)
if names[5]: out += field(7, 5)
open(sys.argv[1], "wb").write(out)' "$1"; }

it 'addresses and ids of 64 bits are exact, and named as by pitot'
proto wide.pb <<'END'
1 0 0xffffffff81000000
2 0 0xffffffff81000001
3 0 0x20000000000001
4 0 0x20000000000000
0x8000000000000001 1 0x8000000000001234
0x8000000000000002 1 0x8000000000001235
7 0 0
8 2 0xffffffff81000003
9 1 0
10 2 0xffffffff81000004 main
11 2 0xffffffff81000004 parse
END
script wide.pb <<'END' >shown
top(await read(process.argv[1])).forEach((row) => console.log(row));
END
run sort shown
"$PITOT" top --csv --rows=0 wide.pb 2>said | python3 -c 'import csv, sys
for row in sorted(r["self"] + " " + r["name"] for r in csv.DictReader(sys.stdin)): print(row)' | LC_ALL=C sort >meant
run env LC_ALL=C sort shown
expect_stdout "$(cat meant)"

it 'a pattern of a profile takes work that is linear in a name'
printf '1 0 0 %s\n2 0 0 main\n' "$(printf 'a%.0s' {1..3000})" >rows
for DROP in '(a+)+b' '(a|a)*b' '(.*a.*)*b' 'a*a*a*a*a*a*b'; do
    proto slow.pb <rows
    run script slow.pb <<'END'
const p = await read(process.argv[1]);
console.log(top(p).length, p.notes.length);
END
    expect_stdout '2 0'
done

it 'a pattern that is too large, or of another language, is not used, as a sentence says'
DROP='(((a{1000}){1000}){1000})' proto large.pb <rows
DROP='(?=main)main' proto ahead.pb <rows
run script large.pb ahead.pb <<'END'
for (const name of process.argv.slice(1)) console.log(...(await read(name)).notes);
END
expect_stdout "The pattern of the profile's drop_frames or keep_frames is not used: it is too large.
The pattern of the profile's drop_frames or keep_frames is not used: it has a group that looks around."

it 'drop_frames drops what pitot drops'
for DROP in 'malloc|free' '(?i)MALLOC' 'm.l[^a-k]+c' '(?:^|::)?(mal)?loc' '\Qmalloc\E' 'operator\(\)|x(y|z){2,3}' '[[:alpha:]]+' 'm\w{5}' '^malloc$' '\x6dalloc'; do
    proto drop.pb <<'END'
1 0 0 malloc main
2 0 0 main
3 0 0 malloc(int) f
4 0 0 operator()(int) g
5 0 0 xyz h
6 0 0 xyzyz h
END
    script drop.pb <<'END' | LC_ALL=C sort >shown
const p = await read(process.argv[1]);
top(p).forEach((row) => console.log(row));
END
    "$PITOT" top --csv --rows=0 drop.pb 2>/dev/null | python3 -c 'import csv, sys
for r in csv.DictReader(sys.stdin): print(r["self"], r["name"])' | sed 's/ (inlined)$//' | LC_ALL=C sort >meant
    expect_equal "the rows with drop_frames $DROP" "$(cat shown)" "$(cat meant)"
done

it 'expressions mean what those of JavaScript mean'
run script <<'END'
const texts = ['', 'a', 'ab', 'aab', 'abab', 'a b', 'a.b', 'a\nb', 'B', '7', 'x-y', ']', 'foo::bar', '日本', '_'];
const patterns = ['a', '^a', 'a$', '^$', 'a|b', '(ab)+', '^(ab){2}$', 'a*b', 'a?b', '.', 'a.b', '[ab]', '[^ab]', '[a-c-]',
  '\\d', '\\W', '\\ba', 'a\\B', '(a|)b', '(?:a(?:b|c))', '\\.', '[\\]]', 'b{0,1}$', '(a*)*$', '(|a)+b', '::', '[^\\w\\s]', '日.', 'a{2}b'];
for (const p of patterns) {
  const [theirs, whole] = [new RegExp(p), new RegExp(`^(?:${p})$`)];
  const [ours, all] = [new Pattern(p, false), new Pattern(p, true)];
  for (const t of texts) {
    if (theirs.test(t) !== ours.matches(t)) console.log('part', p, t);
    if (whole.test(t) !== all.matches(t)) console.log('whole', p, t);
  }
}
for (const bad of ['(', ')', '[', 'a**b(', '*a', '(?<=a)', '\\1', 'a++', '[z-a]', '\\', '('.repeat(500), 'a{2,1}']) {
  try { new Pattern(bad, true); console.log('taken', bad); } catch (e) { if (!(e instanceof Error) || e instanceof RangeError) console.log(bad, e); }
}
END
expect_stdout ''

it 'a tree that is short in a file has no stacks without bound'
python3 - <<'END'
import json
n = 12000
nodes = [{'id': i, 'callFrame': {'functionName': 'f', 'url': '', 'lineNumber': 1}, 'hitCount': 1, 'children': [i + 1]} for i in range(n)]
json.dump({'nodes': nodes}, open('deep.json', 'w'))
json.dump({'shared': {'frames': [{'name': 'f'}]}, 'profiles': [{'type': 'evented', 'unit': 'none', 'startValue': 0, 'endValue': n,
    'events': [{'type': 'O', 'frame': 0, 'at': i} for i in range(n)]}]}, open('open.json', 'w'))
ring = [{'id': i, 'callFrame': {'functionName': '(root)', 'url': '', 'lineNumber': 1}, 'hitCount': 1, 'children': [1 - i]} for i in range(2)]
json.dump({'nodes': ring}, open('ring.json', 'w'))
json.dump({'nodes': [{'id': 1}, {'id': 2, 'callFrame': {}}]}, open('bare.json', 'w'))
END
run script deep.json open.json ring.json bare.json <<'END'
for (const name of process.argv.slice(1)) await read(name).then((p) => console.log(name), (e) => console.log(name, e instanceof TypeError || e.message));
END
expect_stdout 'deep.json its stacks have too many frames for the page. pitot serve opens it.
open.json its stacks have too many frames for the page. pitot serve opens it.
ring.json
bare.json true'

it 'a function is found by its name, or else by an expression'
printf 'main;[prog+0x1150..] 3\nmain;p 4\n' >names.folded
run script names.folded <<'END'
const p = await read(process.argv[1]);
const answers = new LocalAnswers('', p, 0, false);
for (const name of ['[prog+0x1150..]', 'm.in', '(a+)+b', '(']) {
  try { console.log(answers.answer('peek', name).functions.map((f) => f.name).join(' ')); } catch (e) { console.log(e.message); }
}
END
expect_stdout '[prog+0x1150..]
main
No function matches (a+)+b.
( is no regular expression that the page knows: it lacks a closing parenthesis.'
