"""hostile_profile.py TEXT...: a profile.proto with one sample, on standard output.

Each string of it (event, unit, functions, files, mapping, label) is one of the texts, in turn.
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
texts = itertools.cycle(sys.argv[1:])


def text():
    strings.append(next(texts).encode())
    return len(strings) - 1


profile = field(1, field(1, text()) + field(2, text()))  # sample_type
profile += field(2, field(1, bytes([1, 2])) + field(2, bytes([7])) +  # sample
                 field(3, field(1, text()) + field(2, text())))
profile += field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x9000) + field(5, text()))
for i in (1, 2):
    profile += field(4, field(1, i) + field(2, 1) + field(3, 0x1000 * i) +
                     field(4, field(1, i) + field(2, 5)))
    profile += field(5, field(1, i) + field(2, text()) + field(4, text()))
for string in strings:
    profile += field(6, string)
sys.stdout.buffer.write(profile)
