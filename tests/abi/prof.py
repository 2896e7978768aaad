#!/usr/bin/env python3
"""prof.py FILE [FUNCTION...]: reads a gperftools CPU profile by the letter of its specification and
prints what is in it, a "name value" a line. Knows nothing of pitot. For each FUNCTION of the first
mapped program (by nm) it prints how many samples have a frame in it.
"""
import struct
import subprocess
import sys

data = open(sys.argv[1], 'rb').read()
words = struct.unpack(f'={len(data) // 8}Q', data[:len(data) // 8 * 8])
assert words[0] == 0 and words[1] >= 3 and words[2] == 0, 'header'
period_us = words[3]
at = 2 + words[1]
stacks = []
while True:
    count, depth = words[at], words[at + 1]
    pcs = words[at + 2:at + 2 + depth]
    at += 2 + depth
    if count == 0:
        assert depth == 1 and pcs == (0,), 'trailer'
        break
    assert depth >= 1 and pcs[0] != 0, 'record'
    stacks.append((count, pcs))
text = data[at * 8:].decode('utf-8', 'surrogateescape')
maps = [line.split(None, 5) for line in text.splitlines() if line[:1] in '0123456789abcdef']
samples = sum(count for count, _ in stacks)
print('header', *words[:5])
print('period_us', period_us)
print('samples', samples)
print('seconds', f'{samples * period_us / 1e6:.6f}')
print('distinct', len({pcs for _, pcs in stacks}) == len(stacks))
print('maps', len(maps))
print('ids', text.count('# build-id '))
print('executable', all(m[1][2] == 'x' for m in maps))
for m in maps:
    print('file', m[5] if len(m) > 5 else '')

if len(sys.argv) > 2:
    program = maps[0]
    low, high = (int(x, 16) for x in program[0].split('-'))
    bias = low - int(program[2], 16)
    symbols = {}
    for line in subprocess.run(['nm', '-S', program[5]], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.splitlines():
        part = line.split()
        if len(part) == 4:
            symbols[part[3]] = (int(part[0], 16) + bias, int(part[1], 16))
    for name in sys.argv[2:]:
        start, size = symbols[name]
        print(name, sum(count for count, pcs in stacks
                        if any(start <= pc - (i > 0) < start + size for i, pc in enumerate(pcs))))
