"""Writes a file of simpleperf report-sample, by cmd_report_sample.proto: python3 make.py FILE"""
import struct
import sys


def varint(n):
    n &= (1 << 64) - 1
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def sample(time, tid, chain, count, event):
    frames = b''.join(message(3, number(1, at) + number(2, file) + number(3, symbol))
                      for at, file, symbol in chain)
    return message(1, number(1, time) + number(2, tid) + frames + number(4, count) + number(5, event))


MAIN, SELL, PRICE = (0x1100, 0, 0), (0x1200, 0, 1), (0x1310, 0, 2)
records = [
    sample(1000, 77, [PRICE, SELL, MAIN], 900, 0),
    sample(2000, 77, [PRICE, SELL, MAIN], 1100, 0),
    sample(3000, 78, [(0x40, 1, 0), SELL, MAIN], 500, 0),
    sample(3500, 78, [(0x1360, 0, -1), MAIN], 7, 0),
    sample(3600, 78, [SELL, MAIN], 9, 1),
    message(2, number(1, 4) + number(2, 3)),
    message(3, number(1, 0) + message(2, '/data/app/libshop.so') +
            b''.join(message(3, name) for name in ('main', 'sell', 'price'))),
    message(3, number(1, 1) + message(2, '[kernel.kallsyms]') + message(3, 'do_futex')),
    message(4, number(1, 77) + number(2, 70) + message(3, 'shop')),
    message(4, number(1, 78) + number(2, 70) + message(3, 'till')),
    message(5, message(1, 'cpu-cycles') + message(1, 'page-faults')),
]
with open(sys.argv[1], 'wb') as out:
    out.write(b'SIMPLEPERF' + struct.pack('<H', 1))
    for record in records:
        out.write(struct.pack('<I', len(record)) + record)
    out.write(struct.pack('<I', 0))
