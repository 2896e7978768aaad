#!/usr/bin/env python3
"""journal.py FILE...: counts what a crash journal holds, by the drawing in src/wire/journal.h and
nothing else of pitot. Prints "name value" lines, sums over all files:

  ticks     handler runs           weight    of their samples
  samples   weight in stacks and copies       stacks    distinct ones
  own       weight of ticks that fell into the library in a recording, which are in no stack
  dropped   weight without room    filtered  weight that the program's filter refused
  own_ns    CPU time of the library's thread, used_ns that of the program while it was profiled
  cpu_ns    CPU time of the process when the file was written last
"""
import os
import struct
import sys

HEADER = struct.Struct('=8s12I14Q2I16s1024s2048s2Q')  # pt_journal_header
AREA = struct.Struct('=IIQQQ')                      # pt_journal_area
STACK = struct.Struct('=QIHBB')                     # pt_journal_stack
COPY = struct.Struct('=IIHHI')                      # pt_journal_copy
STACKS, COPIES = 2, 4

total = dict.fromkeys('ticks weight own samples dropped filtered stacks own_ns used_ns cpu_ns'.split(), 0)


def read_stacks(data, at, end):
    while at < end:
        count, depth, _, _, _ = STACK.unpack_from(data, at)
        assert 0 < depth <= 1024, 'depth of a stack'
        total['samples'] += count
        total['stacks'] += 1
        at += STACK.size + 8 * depth
    assert at == end, 'a record crosses what is committed'


def read_copies(data, at, end):
    while at < end:
        weight, words, registers, _, _ = COPY.unpack_from(data, at)
        assert registers == 33, 'registers of a copy'
        total['samples'] += weight
        at += COPY.size + 8 * (registers + words)
    assert at == end, 'a record crosses what is committed'


def read(path):
    with open(path, 'rb') as f:
        fields = HEADER.unpack(f.read(HEADER.size))
        assert fields[0] == b'PITOTJNL' and fields[1] == 0x01020304 and fields[2] == 3, 'header'
        # period, two starts, last, CPU time before, used, own; lost by the folder, threads and those without
        # a timer, ticks, their weight, lost by rings, filtered
        numbers = fields[13:27]
        total['used_ns'] += numbers[5]
        total['own_ns'] += numbers[6]
        total['cpu_ns'] += sum(numbers[4:7])
        total['ticks'] += numbers[10]
        total['weight'] += numbers[11]
        total['dropped'] += numbers[7] + numbers[12]
        total['filtered'] += numbers[13]
        total['own'] += fields[-2]
        at = fields[3]
        size = os.fstat(f.fileno()).st_size
        while at + AREA.size <= size:
            f.seek(at)
            magic, kind, bytes_, used, _ = AREA.unpack(f.read(AREA.size))
            if magic != 0x61544a50:
                break
            assert bytes_ % 4096 == 0 and at + AREA.size + used <= size and AREA.size + used <= bytes_, 'an area'
            if kind == STACKS:
                read_stacks(f.read(used), 0, used)
            elif kind == COPIES:
                read_copies(f.read(used), 0, used)
            at += bytes_


for path in sys.argv[1:]:
    read(path)
for name, value in total.items():
    print(name, value)
