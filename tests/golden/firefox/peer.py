"""The figures of the Firefox Profiler's own command line: python3 peer.py FILE FUNCTIONS.json >NAME.expected

FUNCTIONS.json: `profiler-cli thread functions --include-idle --json` of the package @firefox-devtools/profiler-cli, with
PROFILER_CLI_NO_SYMBOLICATE=1. Left out: (root), which stands above every stack there, and code without a name, which is
"(root scope) FILE" there and FILE:LINE:COLUMN here."""
import collections
import json
import re
import sys

libs = json.load(open(sys.argv[1]))['libs']
sums = collections.defaultdict(lambda: [0, 0])
for f in json.load(open(sys.argv[2]))['functions']:
    name = f['name']
    if name == '(root)' or name.startswith('(root scope)'):
        continue
    if re.fullmatch('0x[0-9a-f]+', name):
        at = int(name, 16)
        lib = [x for x in libs if x['start'] <= at < x['end']]
        name = '[%s+0x%x]' % (lib[0]['name'], at - lib[0]['start'] + lib[0]['offset']) if lib else '[%s]' % name
    sums[name][0] += f['selfSamples']
    sums[name][1] += f['totalSamples']
for name, (own, total) in sorted(sums.items(), key=lambda row: (-row[1][0], row[0])):
    print('samples', own, total, name)
