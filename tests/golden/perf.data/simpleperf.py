"""Writes a perf.data as Android's simpleperf does: python3 simpleperf.py NAME 1|2

By record_file_format.h, record.h and record_file.proto of simpleperf: symbols in the feature "file" (1, until Android 12) or
"file2" (2)."""
import struct
import sys


def varint(n):
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


def record(kind, misc, body):
    body += bytes(-len(body) % 8)
    size = len(body) + 8
    if kind > 32768:  # the upper half of the size in place of misc
        misc = size >> 16
    return struct.pack('<IHH', kind, misc, size & 0xffff) + body


KERNEL, USER, CONTEXT_KERNEL, CONTEXT_USER = 1, 2, 2**64 - 128, 2**64 - 512
TYPES = 1 | 2 | 4 | 32 | 256  # IP, TID, TIME, CALLCHAIN, PERIOD


def mmap(misc, pid, start, size, offset, path):
    return record(1, misc, struct.pack('<IIQQQ', pid & 0xffffffff, pid & 0xffffffff, start, size, offset) + path.encode() + bytes(1) +
                  bytes(-(len(path) + 1) % 8) + struct.pack('<IIQ', pid & 0xffffffff, pid & 0xffffffff, 1))


def sample(tid, time, period, kernel, user):
    chain = ([CONTEXT_KERNEL] + kernel if kernel else []) + [CONTEXT_USER] + user
    body = struct.pack('<QIIQQQ', (kernel or user)[0], 70, tid, time, period, len(chain))
    return record(9, KERNEL if kernel else USER, body + struct.pack('<%dQ' % len(chain), *chain))


# libshop.so: code from 0x1000 of its addresses, at 0x800 of the file, mapped at 0x7000000000 from 0 on.
LIB, IMAGE = 0x7000000000, 0xffffffc008000000
MAIN, SELL, PRICE = LIB + 0x900, LIB + 0xa40, LIB + 0xb10  # 0x1100, 0x1240, 0x1310 there
JIT = 0x6000000020
data = b''.join([
    record(32769, 0, struct.pack('<I', 5) + b'kallsyms is here'),
    mmap(KERNEL, -1, IMAGE, 0x100000, IMAGE, '[kernel.kallsyms]'),
    mmap(USER, 70, LIB, 0x4000, 0, '/data/app/libshop.so'),
    mmap(USER, 70, 0x6000000000, 0x1000, 0, '/data/app/jit_app_cache:0-100'),
    record(3, 0, struct.pack('<II', 70, 77) + b'shop\0\0\0\0' + struct.pack('<IIQ', 70, 77, 2)),
    sample(77, 1000, 900, [], [PRICE, SELL + 1, MAIN + 4]),
    sample(77, 2000, 1100, [], [PRICE + 8, SELL + 1, MAIN + 4]),
    sample(78, 3000, 500, [IMAGE + 0x4010], [SELL + 1, MAIN + 4]),
    sample(78, 3500, 7, [], [LIB + 0x3000, MAIN + 4]),  # in no symbol
    sample(78, 3600, 30, [], [JIT, MAIN + 4]),
    record(32774, 0, struct.pack('<QQQ', 1, 0, 5)),
])
FILES = [  # path, kind, lowest address, where it lies, symbols
    ('[kernel.kallsyms]', 0, 0, None, [(IMAGE + 0x4000, 0x100, 'do_futex')]),
    ('/data/app/libshop.so', 2, 0x1000, 0x800, [(0x1100, 0x80, 'main'), (0x1200, 0x100, 'sell'), (0x1300, 0x40, 'price')]),
    ('/data/app/jit_app_cache:0-100', 4, 0, None, [(JIT - 0x20, 0x100, 'shop.Till.count')]),
]
if sys.argv[2] == '1':
    feature, files = 128, b''
    for path, kind, low, offset, symbols in FILES:
        body = path.encode() + bytes(1) + struct.pack('<IQI', kind, low, len(symbols))
        body += b''.join(struct.pack('<QI', start, size) + name.encode() + bytes(1) for start, size, name in symbols)
        body += struct.pack('<Q', offset) if offset is not None else b''
        files += struct.pack('<I', len(body)) + body
else:
    feature, files = 132, b''
    for path, kind, low, offset, symbols in FILES:
        body = message(1, path) + number(2, kind) + number(3, low)
        body += b''.join(message(4, number(1, start) + number(2, size) + message(3, name)) for start, size, name in symbols)
        body += message(6, number(1, offset)) if offset is not None else b''
        files += struct.pack('<I', len(body)) + body
info = b'simpleperf_version\x001.build.7848450\0event_type_info\0cpu-cycles:u,0,0\0'
features = {129: info, feature: files}

attr = struct.pack('<IIQQQQQ', 0, 112, 0, 1000, TYPES, 4, 1 << 18).ljust(112, b'\0') + struct.pack('<QQ', 0, 0)
at = 104 + len(attr)
bits = sum(1 << f for f in features).to_bytes(32, 'little')
out = struct.pack('<8sQQQQQQQQ', b'PERFILE2', 104, len(attr), 104, len(attr), at, len(data), 0, 0) + bits + attr + data
at = len(out) + 16 * len(features)
for f in sorted(features):
    out += struct.pack('<QQ', at, len(features[f]))
    at += len(features[f])
with open(sys.argv[1], 'wb') as file:
    file.write(out + b''.join(features[f] for f in sorted(features)))
