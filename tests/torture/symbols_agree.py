#!/usr/bin/env python3
"""symbols_agree.py [--count N] [--seed N] [--least PERCENT] [--show N] TOOL FILE: asks `pitot
symbolize` and TOOL (llvm or eu) about N random addresses of the code of FILE, and compares each
answer: the innermost line, and how many functions the chain of inlined calls has.

Prints one line: how many were compared, how many are equal, and how the others differ, by class
(docs/symbols.md explains each). Exit status 1 if fewer than PERCENT are equal, classes that are
known to be differences of meaning left out.

PITOT names the program under test, LLVM_SYMBOLIZER and EU_ADDR2LINE the tools.
"""
import argparse
import collections
import os
import random
import subprocess
import sys

PITOT = os.environ.get('PITOT', 'pitot')
LLVM = os.environ.get('LLVM_SYMBOLIZER', 'llvm-symbolizer-14')
EU = os.environ.get('EU_ADDR2LINE', 'eu-addr2line')

# Not counted against the percentage; docs/symbols.md says why each is no disagreement.
EXPECTED = {'no function here', 'named by symbol only'}


def run(command, text):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors='replace', check=True).stdout


def code_of(path):
    """(address, size) of .text, by readelf."""
    for line in run(['readelf', '-SW', path], '').splitlines():
        word = line.replace('[ ', '[').split()
        if len(word) > 5 and word[1] == '.text':
            return int(word[3], 16), int(word[5], 16)
    sys.exit(f'{path}: no .text')


def place(text):
    """"FILE:LINE[:COLUMN]" -> (file, line, column); unknown parts are '' and 0."""
    text = text.split(' (discriminator')[0]
    parts = text.rsplit(':', 2)
    while len(parts) < 3:
        parts.append('0')
    name = '' if parts[0].startswith('??') else os.path.normpath(parts[0])
    number = [int(p) if p.isdigit() else 0 for p in parts[1:]]
    return (name, *number)


def frames_of(lines):
    """Lines of names and places by turns -> [(name, place)]."""
    return [(lines[i], place(lines[i + 1])) for i in range(0, len(lines) - 1, 2)]


def ask_llvm_like(command, addrs):
    out = run(command, ''.join(f'{a:#x}\n' for a in addrs))
    blocks = out.split('\n\n')
    return [frames_of(b.strip('\n').split('\n')) for b in blocks[:len(addrs)]]


def ask_eu(path, addrs):
    """Its blocks begin with the address. "f inlined at PLACE in g" is a chain's name line."""
    out = run([EU, '-a', '-f', '-i', '-e', path], ''.join(f'{a:#x}\n' for a in addrs))
    answers = []
    lines = []
    for line in out.splitlines() + ['0x']:
        if line.startswith('0x'):
            if lines:
                answers.append(frames_of(lines))
            lines = []
        else:
            lines.append(line.split(' inlined at ')[0])
    return answers


def kind_of_difference(ours, theirs):
    named = [f for f in theirs if not f[0].startswith('??')]
    our_named = [f for f in ours if not f[0].startswith('??')]
    if not our_named and not named:
        return 'equal'
    if not our_named:
        return 'no function here'
    if not named and len(our_named) == 1:
        return 'named by symbol only'
    if len(our_named) != len(theirs):
        return 'longer chain' if len(our_named) > len(theirs) else 'shorter chain'
    mine, other = our_named[0][1], theirs[0][1]
    if mine[1] != other[1]:
        return 'line' if other[1] != 0 else 'line unknown there'
    if mine[1] != 0 and os.path.basename(mine[0]) != os.path.basename(other[0]):
        return 'file'
    return 'equal'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--count', type=int, default=100000)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--least', type=float, default=99.9)
    parser.add_argument('--show', type=int, default=0, help='examples of each class')
    parser.add_argument('tool', choices=['llvm', 'eu'])
    parser.add_argument('file')
    options = parser.parse_args()
    begin, size = code_of(options.file)
    rng = random.Random(options.seed)
    addrs = sorted(begin + rng.randrange(size) for _ in range(options.count))
    ours = ask_llvm_like([PITOT, 'symbolize', '--no-cache', '--inlines', '--functions=linkage',
                          '--no-demangle', '-e', options.file], addrs)
    if options.tool == 'llvm':
        theirs = ask_llvm_like([LLVM, '--inlines', '--functions=linkage', '--no-demangle',
                                '--output-style=LLVM', '-e', options.file], addrs)
    else:
        theirs = ask_eu(options.file, addrs)
    if len(ours) != len(addrs) or len(theirs) != len(addrs):
        sys.exit(f'{options.file}: {len(addrs)} asked, {len(ours)} and {len(theirs)} answered')
    kinds = collections.Counter()
    for addr, mine, other in zip(addrs, ours, theirs):
        kind = kind_of_difference(mine, other)
        kinds[kind] += 1
        if kind != 'equal' and kinds[kind] <= options.show:
            print(f'{kind}: {addr:#x}\n  pitot {mine}\n  {options.tool} {other}')
    counted = sum(n for kind, n in kinds.items() if kind not in EXPECTED)
    percent = 100 * kinds['equal'] / counted if counted else 0
    named = sum(bool(chain and not chain[0][0].startswith('??')) for chain in ours)
    frames = sum(len(chain) for chain in ours) / len(ours)
    others = ', '.join(f'{n} {kind}' for kind, n in kinds.most_common() if kind != 'equal')
    print(f'{os.path.basename(options.file)} {options.tool}: {len(addrs)} asked, {named} named, '
          f'{frames:.2f} frames each; {percent:.3f} % of {counted} equal; {others or "no difference"}')
    sys.exit(percent < options.least)


if __name__ == '__main__':
    main()
