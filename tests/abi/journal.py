#!/usr/bin/env python3
"""journal.py FILE...: counts what a crash journal holds, by the drawing in src/wire/journal.h and
nothing else of pitot. Prints "name value" lines, sums over all files:

  ticks     handler runs           weight    of the samples that were published
  folded    weight in stacks       pending   weight in rings that was not folded
  dropped   weight without room    filtered  weight that the program's filter refused
  samples   folded + pending       stacks    distinct ones, folded
  own_ns    CPU time of the library's thread, used_ns that of the program while it was profiled
"""
import os
import struct
import sys

HEADER = struct.Struct('=8s12I13Q2I16s1024s2048s')  # pt_journal_header
AREA = struct.Struct('=IIQQQ')                      # pt_journal_area
RING = struct.Struct('=8Q')                         # pt_journal_ring
STACK = struct.Struct('=QIHBB')                     # pt_journal_stack
STACKS, RINGS = 2, 3

total = dict.fromkeys('ticks weight folded pending dropped filtered stacks own_ns used_ns rings'.split(), 0)


def read_stacks(data, at, end):
    while at < end:
        count, depth, _, _, _ = STACK.unpack_from(data, at)
        assert 0 < depth <= 512, 'depth of a stack'
        total['folded'] += count
        total['stacks'] += 1
        at += STACK.size + 8 * depth
    assert at == end, 'a record crosses what is committed'


def read_ring(data, at):
    words, _, head, tail, ticks, weight, dropped, filtered = RING.unpack_from(data, at)
    assert head - tail <= words, 'a ring that holds more than it can'
    total['ticks'] += ticks
    total['weight'] += weight
    total['dropped'] += dropped
    total['filtered'] += filtered
    total['rings'] += 1
    while tail != head:
        word, = struct.unpack_from('=Q', data, at + RING.size + 8 * (tail % words))
        depth = word >> 8 & 0xffffff
        assert 0 < depth <= 512 and tail + 1 + depth <= head, 'a sample of a ring'
        total['pending'] += word >> 32
        tail += 1 + depth


def read(path):
    with open(path, 'rb') as f:
        fields = HEADER.unpack(f.read(HEADER.size))
        assert fields[0] == b'PITOTJNL' and fields[1] == 0x01020304 and fields[2] == 1, 'header'
        # period, start and start, last, cpu before, used, own, fold_dropped, ...
        numbers = fields[13:26]
        total['used_ns'] += numbers[5]
        total['own_ns'] += numbers[6]
        total['dropped'] += numbers[7]
        at = fields[3]
        size = os.fstat(f.fileno()).st_size
        while at + AREA.size <= size:
            f.seek(at)
            magic, kind, bytes_, used, _ = AREA.unpack(f.read(AREA.size))
            if magic != 0x61544a50:
                break
            assert bytes_ % 4096 == 0 and at + bytes_ <= size, 'an area'
            f.seek(at)
            data = f.read(bytes_)
            if kind == STACKS:
                read_stacks(data, AREA.size, AREA.size + used)
            elif kind == RINGS:
                read_ring(data, AREA.size)
            at += bytes_


for path in sys.argv[1:]:
    read(path)
total['samples'] = total['folded'] + total['pending']
for name, value in total.items():
    print(name, value)
