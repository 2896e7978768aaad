"""pprof_maker.py: random profiles in profile.proto, written field by field from its specification.

They are small and odd on purpose: recursion, inlined lines, frames without names, files or mappings,
names of several languages, labels of all kinds, values that cancel out, events in any unit.
"""
import gzip


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value) if value else b''


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return block(field, b''.join(varint(v) for v in values)) if values else b''


class Strings:
    def __init__(self):
        self.ids = {'': 0}

    def __call__(self, text):
        return self.ids.setdefault(text, len(self.ids))

    def fields(self):
        return b''.join(block(6, text.encode('utf-8', 'surrogateescape')) for text in self.ids)


C_NAMES = ['main', 'malloc', 'memcpy', 'parse_line', 'a', 'z9', '_start', 'do_work.part.0', 'x$y',
           'operator()', 'name with spaces', 'tick"quote', 'back\\slash', 'über', '日本']
CPP_NAMES = ['std::vector::push_back', 'ns::Widget::draw', 'ns::Widget::~Widget',
             'ns::sub::Table<int>::find', '(anonymous namespace)::helper', 'operator new',
             'ns::Fn::operator()', 'foo::Bar::Run(int, char const*)', 'absl::lts::Span<a::b>::get']
MANGLED = ['_ZN2ns6Widget4drawEv', '_ZNSt6vectorIiSaIiEE9push_backERKi', '_Z3fooi.cold.1', '_ZN3fooD0Ev',
           '_ZN12_GLOBAL__N_16helperEv', '_Znwm', '_ZNK2ns5TableIcE4findERKSs', '_Z1fIiEvT_',
           '_ZN4core3fmt9Formatter3pad17h0123456789abcdefE', '_RNvC6_123foo3bar', '_not_mangled']
GO_NAMES = ['runtime.mallocgc', 'runtime.main', 'main.main', 'net/http.(*conn).serve',
            'example.com/mod/v2/pkg.(*T).Do', 'github.com/foo/bar.Baz[...].Run',
            'main.main.func1', 'a/b-c/d_e.F', 'sort.Slice[go.shape.int]', 'x/v3.Y']
JAVA_NAMES = ['java.util.HashMap.get', 'com.foo.Bar.<init>', 'com.foo.Bar$1.run(Thread.java)',
              'org.Test.doIt$2']
FILES = ['main.c', '/src/main.c', './src/../a.c', '/usr/include/c++/12/vector', 'dir//x.cc',
         '/proc/self/cwd/w/b.go', 'prog.go', '/home/u/go/src/net/http/server.go', 'Bar.java', '',
         '/x/../../y.c', '../up.c', 'src.c']
OBJECTS = ['/nowhere/bin/prog', '/nowhere/libc.so.6', 'prog', '[vdso]', '', '/a/b/', '/nowhere/x y/tool',
           '[kernel.kallsyms]']
EVENTS = [('samples', 'count'), ('cpu', 'nanoseconds'), ('cpu', 'microseconds'),
          ('alloc_objects', 'count'), ('alloc_space', 'bytes'), ('inuse_space', 'kilobytes'),
          ('delay', 'nanoseconds'), ('contentions', 'count'), ('widgets', 'widgets'),
          ('space', 'bytes'), ('objects', 'count'), ('wall', 'ms'), ('work', 'gcu'), ('x', ''),
          ('wait', 'seconds'), ('cpu', 'milligcu')]
LABELS = [('tier', ['web', 'db', 'x:y', '']), ('user', ['ann', 'bob', 'ü']), ('k', ['1', '2', '3']),
          ('long key of a label', ['v'])]
NUMBERS = [('bytes', ['', 'bytes', 'kilobytes']), ('request', ['', 'bytes']), ('alignment', ['']),
           ('latency', ['nanoseconds', 'milliseconds', '']), ('id', ['', 'widgets'])]


class Profile:
    """Random tables, then bytes."""

    def __init__(self, rng, folder='/nowhere'):
        self.rng, self.strings = rng, Strings()
        self.folder = folder
        self.events = rng.sample(EVENTS, rng.choice([1, 1, 2, 2, 2, 3, 4]))
        if rng.random() < .9:  # an event of each type only
            self.events = list({kind: (kind, unit) for kind, unit in self.events}.values())
        self.make_mappings()
        self.make_functions()
        self.make_locations()
        self.make_samples()

    def make_mappings(self):
        rng, at = self.rng, 0x400000
        self.mappings = []
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            size = rng.choice([0x1000, 0x10000, 0x123456])
            self.mappings.append((at, at + size, rng.choice([0, 0x1000]), rng.choice(OBJECTS),
                                  rng.choice(['', '', 'abcdef0123', 'deadbeef' * 5]),
                                  [rng.random() < .5 for _ in range(4)]))
            at += size + rng.choice([0, 0x1000])

    def make_functions(self):
        rng = self.rng
        names = C_NAMES + CPP_NAMES + GO_NAMES + JAVA_NAMES + MANGLED
        if rng.random() < .5:
            names = rng.choice([C_NAMES, CPP_NAMES, GO_NAMES, MANGLED])
        if rng.random() < .3:
            names = names + [f'f{i}' for i in range(rng.randrange(300))]
        files = FILES + [self.folder + '/src.c', self.folder + '/missing.c']
        self.functions = []
        for _ in range(rng.choice([1, 4, 12, 40, 40, 120])):
            name = rng.choice(names) if rng.random() < .97 else ''
            self.functions.append((name, name if rng.random() < .7 else rng.choice(names),
                                   rng.choice(files), rng.choice([0, 0, 1, 5, 100])))

    def make_locations(self):
        rng = self.rng
        self.locations = []
        for _ in range(rng.choice([1, 5, 20, 60, 200])):
            mapping = rng.randrange(len(self.mappings) + 1) if rng.random() < .9 else 0
            address = rng.randrange(1, 1 << 40)
            if mapping:
                start, limit = self.mappings[mapping - 1][:2]
                address = rng.randrange(start, limit)
            if rng.random() < .05:
                address = 0
            lines = [] if rng.random() < .1 else [
                (rng.randrange(len(self.functions)) + 1, rng.choice([0, 1, 7, 9, 30, 31]),
                 rng.choice([0, 0, 0, 3, 17])) for _ in range(rng.choice([1, 1, 1, 1, 2, 3]))]
            self.locations.append((mapping, address, lines, rng.random() < .05))

    def value(self):
        rng = self.rng
        kind = rng.random()
        if kind < .05:
            return 0
        if kind < .1 and self.negative:
            return -rng.randrange(1, 2000)
        return rng.choice([1, 2, 3, 10, 100, rng.randrange(1, 1000),
                           int(10 ** (rng.random() * self.scale))])

    def make_samples(self):
        rng = self.rng
        self.negative = rng.random() < .2
        self.scale = rng.choice([2, 5, 9, 12])
        self.labelled = rng.random() < .5
        stacks = []
        for _ in range(rng.choice([1, 3, 10, 40, 150])):
            depth = rng.choice([0, 1, 2, 3, 5, 8, 20]) if rng.random() < .98 else 0
            stack = [rng.randrange(len(self.locations)) + 1 for _ in range(depth)]
            if stacks and rng.random() < .5:  # shared callers
                other = rng.choice(stacks)
                stack = stack[:3] + other[rng.randrange(len(other) + 1):]
            stacks.append(stack)
        self.samples = []
        for _ in range(rng.choice([1, 4, 20, 80, 300])):
            labels = self.labels() if self.labelled and rng.random() < .7 else []
            self.samples.append((rng.choice(stacks), [self.value() for _ in self.events], labels))

    def labels(self):
        rng, labels = self.rng, []
        for _ in range(rng.choice([1, 1, 2, 3])):
            if rng.random() < .6:
                key, texts = rng.choice(LABELS)
                labels.append((key, rng.choice(texts), 0, ''))
            else:
                key, units = rng.choice(NUMBERS)
                labels.append((key, None, rng.choice([0, 1, 16, 100, 4096, 1000000,
                                                      rng.randrange(1 << 30)]), rng.choice(units)))
        return labels

    def label(self, label):
        key, text, num, unit = label
        s = self.strings
        if text is not None:
            return number(1, s(key)) + number(2, s(text))
        return number(1, s(key)) + number(3, num) + number(4, s(unit))

    def bytes(self):
        rng, s, out = self.rng, self.strings, []
        for kind, unit in self.events:
            out.append(block(1, number(1, s(kind)) + number(2, s(unit))))
        for stack, values, labels in self.samples:
            out.append(block(2, packed(1, stack) + packed(2, values) +
                             b''.join(block(3, self.label(x)) for x in labels)))
        for i, (start, limit, offset, file, build_id, has) in enumerate(self.mappings):
            flags = b''.join(number(7 + k, int(h)) for k, h in enumerate(has))
            out.append(block(3, number(1, i + 1) + number(2, start) + number(3, limit) +
                             number(4, offset) + number(5, s(file)) + number(6, s(build_id)) +
                             flags))
        for i, (mapping, address, lines, folded) in enumerate(self.locations):
            body = b''.join(block(4, number(1, f) + number(2, line) + number(3, column))
                            for f, line, column in lines)
            out.append(block(4, number(1, i + 1) + number(2, mapping) + number(3, address) + body +
                             number(5, int(folded))))
        for i, (name, system, file, line) in enumerate(self.functions):
            out.append(block(5, number(1, i + 1) + number(2, s(name)) + number(3, s(system)) +
                             number(4, s(file)) + number(5, line)))
        if rng.random() < .1:
            out.append(number(7, s(rng.choice(['malloc|runtime\\..*', 'memcpy', 'main']))))
            out.append(number(8, s(rng.choice(['', 'runtime\\.main']))))
        if rng.random() < .7:
            out.append(number(9, rng.choice([1700000000123456789, 1, 86400 * 10 ** 9])))
        if rng.random() < .6:
            out.append(number(10, rng.choice([1, 999, 1500, 2500000, 10 ** 9, 90 * 10 ** 9 + 5,
                                              7265 * 10 ** 9])))
        if rng.random() < .8:
            out.append(block(11, number(1, s('cpu')) + number(2, s('nanoseconds'))))
            out.append(number(12, rng.choice([0, 1, 10000000])))
        comments = rng.choices(['built by hand', '#hidden', 'a, b', 'tab\there'],
                               k=rng.choice([0, 0, 0, 1, 2]))
        if comments:
            out.append(packed(13, [s(c) for c in comments]))
        if rng.random() < .3:
            out.append(number(14, s(rng.choice(self.events)[0])))
        return b''.join(out) + s.fields()

    def write(self, path):
        with open(path, 'wb') as f:
            f.write(gzip.compress(self.bytes(), 1, mtime=0))


SOURCE = ''.join(f'line {i} of the source\n' if i % 3 else f'\tif (x{i}) {{\n' for i in range(1, 41))
