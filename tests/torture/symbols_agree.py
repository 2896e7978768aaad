#!/usr/bin/env python3
"""symbols_agree.py [OPTION...] TOOL FILE: asks `pitot symbolize` and TOOL about random addresses of
the code of FILE, and compares each answer. TOOL is

  llvm        llvm-symbolizer: the innermost line, and how many functions the chain has
  eu          eu-addr2line: the innermost line (it takes a tenth of a second for a chain)
  eu-chains   eu-addr2line -i: both; for a few hundred addresses

Prints one line: how many were asked, the share that is equal, and how the others differ, by class;
docs/symbols.md explains each class. Exit status 1 if fewer than --least percent are equal; classes
that are differences of meaning (EXPECTED) are left out of that.

  --count N         how many addresses (100000)
  --seed N          which
  --least PERCENT   (99.9)
  --show N          print N examples of each class
  --debug-path DIR  where the debug file is, by build id
  --instead FILE    ask TOOL about this file, which has the same code; where there is no line the
                    names must be the same

PITOT names the program under test, LLVM_SYMBOLIZER and EU_ADDR2LINE the tools.
"""
import argparse
import collections
import os
import random
import re
import subprocess
import sys

PITOT = os.environ.get('PITOT', 'pitot')
LLVM = os.environ.get('LLVM_SYMBOLIZER', 'llvm-symbolizer-14')
EU = os.environ.get('EU_ADDR2LINE', 'eu-addr2line')

EXPECTED = {'named by symbol only', 'no function here', 'no chain there', 'nothing there'}


def run(command, text):
    # eu-addr2line ends with 1 when it has no answer for one of the addresses.
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors='replace', check=False).stdout


def code_of(path):
    """(address, size) of .text, by readelf."""
    for line in run(['readelf', '-SW', path], '').splitlines():
        word = line.replace('[ ', '[').split()
        if len(word) > 5 and word[1] == '.text':
            return int(word[3], 16), int(word[5], 16)
    sys.exit(f'{path}: no .text')


def place(text):
    """"FILE:LINE[:COLUMN]" -> (file, line); unknown parts are '' and 0."""
    parts = text.split(' (discriminator')[0].rsplit(':', 2)
    if len(parts) > 2 and not parts[1].isdigit() and parts[1] != '?':
        parts = [':'.join(parts[:2]), parts[2]]
    name = '' if parts[0].startswith('??') else os.path.normpath(parts[0])
    line = parts[1] if len(parts) > 1 else '0'
    return name, int(line) if line.isdigit() else 0


def frames_of(lines):
    """Lines of names and places by turns -> [(name, place)]."""
    return [(lines[i], place(lines[i + 1])) for i in range(0, len(lines) - 1, 2)]


def ask_llvm_like(command, addrs):
    out = run(command, ''.join(f'{a:#x}\n' for a in addrs))
    return [frames_of(b.strip('\n').split('\n')) for b in out.split('\n\n')[:len(addrs)]]


def ask_eu(path, debug_path, chains, addrs):
    """Blocks begin with the address. "f inlined at PLACE in g" is the name line of a chain."""
    command = [EU, '-a', '-e', path] + (['-f', '-i'] if chains else [])
    command += [f'--debuginfo-path={debug_path}'] if debug_path else []
    out = run(command, ''.join(f'{a:#x}\n' for a in addrs))
    answers, lines = [], []
    for line in out.splitlines() + ['0x']:
        if line.startswith('0x'):
            if lines:
                answers.append(frames_of(lines))
            lines = []
        else:
            lines += [line.split(' inlined at ')[0]] if chains else ['', line]
    return answers


def same_name(one, other):
    """Equal, or two of the names that gcc gives the one body of a constructor or destructor."""
    variant = re.compile(r'([CD])[0-4](?=[EI])')
    return variant.sub(r'\1', one) == variant.sub(r'\1', other)


def kind_of_difference(ours, theirs, chains, names):
    """'equal', or the class of the difference."""
    own = [f for f in ours if not f[0].startswith('??')]
    other = [f for f in theirs if not f[0].startswith('??')]
    if not own:
        return 'equal' if not other else 'no function here'
    if not other and len(own) == 1 and own[0][1][1] in (0, theirs[0][1][1]):
        return 'named by symbol only'
    if theirs[0][1] == ('', 0) and own[0][1][1] != 0:
        return 'nothing there'
    if own[0][1][1] != theirs[0][1][1]:
        return 'line'
    if names and own[0][1] == ('', 0) and not same_name(own[0][0], theirs[0][0]):
        return 'name'
    if own[0][1][1] != 0 and (os.path.basename(own[0][1][0]) !=
                              os.path.basename(theirs[0][1][0])):
        return 'file'
    if chains and len(own) != len(theirs):
        if len(theirs) == 1:
            return 'no chain there'
        if len(own) == len(other):
            return 'unnamed inlined'
        return 'longer chain' if len(own) > len(theirs) else 'shorter chain'
    return 'equal'


def ask_both(options, addrs):
    debug, other = options.debug_path, options.instead or options.file
    ours = ask_llvm_like([PITOT, 'symbolize', '--no-cache', '--inlines', '--functions=linkage',
                          '--no-demangle', *([f'--debug-path={debug}'] if debug else []),
                          '-e', options.file], addrs)
    if options.tool == 'llvm':
        return ours, ask_llvm_like(
            [LLVM, '--inlines', '--functions=linkage', '--no-demangle', '--output-style=LLVM',
             *([f'--debug-file-directory={debug}'] if debug else []), '-e', other], addrs)
    return ours, ask_eu(other, debug, options.tool == 'eu-chains', addrs)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--count', type=int, default=100000)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--least', type=float, default=99.9)
    parser.add_argument('--show', type=int, default=0)
    parser.add_argument('--debug-path')
    parser.add_argument('--instead')
    parser.add_argument('tool', choices=['llvm', 'eu', 'eu-chains'])
    parser.add_argument('file')
    options = parser.parse_args()
    begin, size = code_of(options.file)
    rng = random.Random(options.seed)
    addrs = sorted(begin + rng.randrange(size) for _ in range(options.count))
    ours, theirs = ask_both(options, addrs)
    if len(ours) != len(addrs) or len(theirs) != len(addrs):
        sys.exit(f'{options.file}: {len(addrs)} asked, {len(ours)} and {len(theirs)} answered')
    kinds = collections.Counter()
    for addr, own, other in zip(addrs, ours, theirs):
        kind = kind_of_difference(own, other, options.tool != 'eu', options.instead)
        kinds[kind] += 1
        if kind != 'equal' and kinds[kind] <= options.show:
            print(f'{kind}: {addr:#x}\n  pitot {own}\n  {options.tool} {other}')
    counted = sum(n for kind, n in kinds.items() if kind not in EXPECTED)
    percent = 100 * kinds['equal'] / counted if counted else 0
    named = sum(bool(chain and not chain[0][0].startswith('??')) for chain in ours)
    frames = sum(len(chain) for chain in ours) / len(ours)
    others = ', '.join(f'{n} {kind}' for kind, n in kinds.most_common() if kind != 'equal')
    print(f'{os.path.basename(options.file)} {options.tool}: {len(addrs)} asked, {named} named, '
          f'{frames:.2f} frames each; {percent:.3f} % of {counted} equal; '
          f'{others or "no difference"}')
    sys.exit(percent < options.least)


if __name__ == '__main__':
    main()
