"""proto_random.py: small profile.proto files with all that the format allows, from a seed.

  random_profile(rng, shape) -> bytes

Profiles of one Shape share names, mappings and (unless it is mixed) events, as runs of one program
do, so that they can be merged.
"""


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n) if n else b''


def message(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


NAMES = ['main', 'parse', 'read', 'std::vector<int>::push_back(int const&)', 'operator()',
         '(anonymous namespace)::emit(int)', '.dot', 'net/http.(*conn).serve', 'alloc', 'free',
         'malloc', '', 'runtime.main', 'tcmalloc::Allocate', 'read']
FILES = ['a.c', 'dir/b.c', '/src/c.cc', '', 'read.h']
OBJECTS = ['/bin/prog', '/lib/libz.so.1', '[vdso]', '', '/lib/libc.so']
KEYS = ['thread', 'bytes', 'request', 'pid', 'key', 'alignment']
TEXTS = ['main', 'worker', '32kb', 'x', '']
UNITS = ['', '', 'bytes', 'kilobytes', 'ms', 'seconds', 'count', 'widgets']
EVENTS = [('samples', 'count'), ('cpu', 'nanoseconds'), ('alloc_space', 'bytes'),
          ('inuse_space', 'kilobytes'), ('wall', 'ms')]


class Shape:
    """What profiles of one program have in common."""

    def __init__(self, rng):
        self.events = rng.sample(EVENTS, rng.randint(1, 3))
        self.functions = [(rng.choice(NAMES), rng.choice(NAMES), rng.choice(FILES),
                           rng.choice([0, 0, 3, 10])) for _ in range(rng.randint(3, 10))]
        self.mappings = []
        for i in range(rng.randint(0, 3)):
            start = 0x400000 + i * 0x100000
            self.mappings.append((start, start + rng.choice([0x1000, 0x1800, 0x8000]),
                                  rng.choice([0, 0x1000]), rng.choice(OBJECTS),
                                  rng.choice(['', 'abcd01', 'ffee'])))
        self.locations = []
        for _ in range(rng.randint(3, 14)):
            lines = [(rng.randrange(len(self.functions)), rng.choice([0, 5, 17]),
                      rng.choice([0, 0, 0, 2, 7])) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]
            self.locations.append((rng.randrange(-1, len(self.mappings)), rng.randrange(0x900),
                                   lines, rng.random() < 0.05))
        self.period = rng.choice([None, ('cpu', 'nanoseconds'), ('cpu', 'ms'), ('space', 'bytes')])
        self.drop = rng.choice(['', '', 'malloc|alloc', '.*Allocate', 'free'])
        self.keep = rng.choice(['', 'malloc'])
        self.odd_ids = rng.random() < 0.3
        self.mixed = rng.random() < 0.2  # events and units differ from profile to profile


def random_profile(rng, shape):
    strings = ['']

    def text(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)

    def id_of(row):
        return (row + 1) * 7 % 97 + 3 if shape.odd_ids else row + 1

    slide = rng.choice([0, 0, 0x7000000])
    out = b''
    events = list(shape.events)
    if shape.mixed and rng.random() < 0.3 and len(events) > 1:
        rng.shuffle(events)
    if shape.mixed and rng.random() < 0.3 and len(events) > 1:
        events.pop()
    finer = {'nanoseconds': 'microseconds', 'bytes': 'kilobytes', 'ms': 's'}
    for kind, unit in events:
        if shape.mixed and rng.random() < 0.3:
            unit = finer.get(unit, unit)
        out += message(1, number(1, text(kind)) + number(2, text(unit)))
    for _ in range(rng.randint(0, 25)):
        body = b''.join(number(1, id_of(rng.randrange(len(shape.locations))))
                        for _ in range(rng.randint(0, 6)))
        for _ in events:
            value = rng.choice([0, 1, 2, 3, 10, 1000, 123456789, -4])
            body += varint(2 << 3) + varint(value)
        for _ in range(rng.choice([0, 0, 1, 2, 4])):
            label = number(1, text(rng.choice(KEYS)))
            if rng.random() < 0.5:
                label += number(2, text(rng.choice(TEXTS[:-1])))
            else:
                label += number(3, rng.choice([0, 1, 32, 1024, 32768, -5]))
                label += number(4, text(rng.choice(UNITS)))
            body += message(3, label)
        out += message(2, body)
    for i, (start, limit, offset, file, build) in enumerate(shape.mappings):
        out += message(3, number(1, id_of(i)) + number(2, start + slide) +
                       number(3, limit + slide) + number(4, offset) + number(5, text(file)) +
                       number(6, text(build)) + number(7, rng.choice([0, 1])) +
                       number(10, rng.choice([0, 1])))
    for i, (mapping, address, lines, folded) in enumerate(shape.locations):
        body = number(1, id_of(i))
        if mapping >= 0:
            body += number(2, id_of(mapping)) + number(3, shape.mappings[mapping][0] + slide + address)
        else:
            body += number(3, address)
        for function, line, column in lines:
            body += message(4, number(1, id_of(function)) + number(2, line) + number(3, column))
        out += message(4, body + number(5, folded))
    for i, (name, system, file, start) in enumerate(shape.functions):
        out += message(5, number(1, id_of(i)) + number(2, text(name)) + number(3, text(system)) +
                       number(4, text(file)) + number(5, start))
    header = number(7, text(shape.drop)) + number(8, text(shape.keep))
    header += number(9, rng.choice([0, 1700000000000000000 + rng.randrange(9), 5]))
    header += number(10, rng.choice([0, 1000000000]))
    if shape.period:
        header += message(11, number(1, text(shape.period[0])) + number(2, text(shape.period[1])))
        header += number(12, rng.choice([1, 1000, 10000000]))
    for _ in range(rng.choice([0, 0, 1, 2])):
        header += number(13, text(rng.choice(['a comment', 'another', '# hidden'])))
    header += number(14, text(rng.choice(['', '', shape.events[0][0], 'cpu'])))
    table = b''.join(message(6, s.encode()) for s in strings)
    return out + table + header
