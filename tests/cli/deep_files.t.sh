#!/usr/bin/env bash
# A tree of calls is short in a file: a node names its caller only, and compresses well. Its stacks, one a node, would be
# as long as all nodes together: what a reader makes of a file is bounded by the bytes of the file.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'

# Files of all formats that have trees, "deep.NAME.gz": DEPTH functions, each called by the one before, each with a sample
# of its own. The frames of all their stacks would take 800 MB.
cat >make.py <<'END'
import gzip, json
DEPTH = 20000
def put(name, text):
    with gzip.GzipFile(f'deep.{name}.gz', 'wb', mtime=0) as f:
        f.write(text.encode())
call = {'functionName': 'f', 'url': 'a.js', 'lineNumber': 1}
nodes = [{'id': i, 'callFrame': {**call, 'lineNumber': i}, 'hitCount': 1, 'parent': i - 1} for i in range(1, DEPTH)]
put('cpuprofile', json.dumps({'nodes': nodes}))
chunk = {'cpuProfile': {'nodes': nodes, 'samples': list(range(1, DEPTH))}, 'timeDeltas': [1] * (DEPTH - 1)}
put('samples.chrome-trace', json.dumps({'traceEvents': [{'name': 'ProfileChunk', 'ph': 'P', 'id': '1', 'pid': 1, 'tid': 1, 'args': {'data': chunk}}]}))
put('whole.chrome-trace', json.dumps({'traceEvents': [{'name': 'f', 'ph': 'X', 'ts': i, 'dur': 2 * DEPTH - 2 * i, 'pid': 1, 'tid': 1} for i in range(DEPTH)]}))
put('begun.chrome-trace', json.dumps({'traceEvents': [{'name': 'f', 'ph': 'B', 'ts': i, 'pid': 1, 'tid': 1} for i in range(DEPTH)]}))
events = [{'type': 'O', 'frame': 0, 'at': i} for i in range(DEPTH)] + [{'type': 'C', 'frame': 1, 'at': DEPTH} for i in range(DEPTH)]
put('speedscope', json.dumps({'$schema': 'https://www.speedscope.app/file-format-schema.json', 'shared': {'frames': [{'name': 'f'}, {'name': 'g'}]},
    'profiles': [{'type': 'evented', 'name': 'x', 'unit': 'none', 'startValue': 0, 'endValue': DEPTH, 'events': events}]}))
put('firefox', json.dumps({'meta': {'version': 24, 'preprocessedProfileVersion': 40, 'interval': 1}, 'libs': [], 'threads': [{'name': 'x', 'pid': 1, 'tid': 1,
    'stringArray': ['f'], 'samples': {'stack': list(range(DEPTH)), 'time': list(range(DEPTH)), 'length': DEPTH},
    'stackTable': {'frame': [0] * DEPTH, 'prefix': [None] + list(range(DEPTH - 1)), 'length': DEPTH},
    'frameTable': {'func': [0], 'length': 1}, 'funcTable': {'name': [0], 'length': 1}}]}))
put('macos-sample', 'Analysis of sampling shop (pid 812) every 1 millisecond\nCall graph:\n    99999 Thread_1\n' +
    ''.join('    + ' + ' ' * i + f'{DEPTH - i} f  (in shop) + 1  [0x{i:x}]\n' for i in range(2500)))
row = '{"id": 1, "entries": 1, "alloc": 8, "ticks": 1, "children": ['
put('ghc', '{"program": "p", "total_time": 1.0, "total_ticks": 7, "tick_interval": 1000, "total_alloc": 8, "cost_centres": [\n'
    '{"id": 1, "label": "f", "module": "M", "src_loc": "a.hs:1:1-2", "is_caf": false}],\n"profile": ' + row * 200 + ']}' * 200 + '}')
END
python3 make.py

it 'a tree of calls takes memory and time by the bytes of its file'
for file in deep.*.gz; do
    run bash -c 'ulimit -t $((2 + 30 * PITOT_SANITIZED)); PITOT_MAX_MEMORY=$((80 + 400 * PITOT_SANITIZED))M exec "$PITOT" info "$1"' - "$file"
    expect [ "$status" = 0 ] || stderr
    expect_no_stderr_line 'memory'
done

it 'what is cut keeps its innermost frames, and a line says so'
for file in deep.{begun.chrome-trace,cpuprofile,firefox,macos-sample,speedscope}.gz; do
    run pitot info "$file"
    expect_stderr_has 'stacks cut to their innermost frames: all together have more than 32 frames for each byte of the file'
done
