"""hostile_profile.py TEXT...: a profile.proto with one sample, on standard output.

Each string of it is one of the texts, in turn: types and units of values (as many as there are texts) and of the
period, functions (as many, each called by the one before it) with their files, mapping and build id, keys, values and
units of labels, comments, the address of its documentation. One frame has no name but its mapping's.
"""
import itertools
import sys


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """A number as a varint, bytes with their length before them."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


strings = [b'']
texts = sys.argv[1:]
count = len(texts)
roles = {}


def text(role):
    """The next text of a role, as an id: what has as many strings of a role as there are texts has all of them."""
    if role not in roles:
        first = len(roles) % count
        roles[role] = itertools.cycle(texts[first:] + texts[:first])
    strings.append(next(roles[role]).encode(errors='surrogateescape'))
    return len(strings) - 1


profile = b''
for _ in range(count):
    profile += field(1, field(1, text('type')) + field(2, text('unit')))
sample = field(1, bytes(range(1, count + 2))) + field(2, bytes([7] * count))
for _ in range(count):
    sample += field(3, field(1, text('key')) + field(2, text('value')))
sample += field(3, field(1, text('number')) + field(3, 7) + field(4, text('number unit')))
profile += field(2, sample)
profile += field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x900000) + field(5, text('mapping')) +
                 field(6, text('build id')))
profile += field(4, field(1, 1) + field(2, 1) + field(3, 0x1000))
for i in range(2, count + 2):
    profile += field(4, field(1, i) + field(2, 1) + field(3, 0x1000 * i) + field(4, field(1, i) + field(2, 5)))
    profile += field(5, field(1, i) + field(2, text('function')) + field(3, text('system name')) +
                     field(4, text('file')))
profile += field(11, field(1, text('period type')) + field(2, text('period unit'))) + field(12, 1)
for _ in range(count):
    profile += field(13, text('comment'))
profile += field(15, text('documentation'))
for string in strings:
    profile += field(6, string)
sys.stdout.buffer.write(profile)
