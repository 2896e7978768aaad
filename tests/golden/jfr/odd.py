#!/usr/bin/env python3
"""Writes recordings into a folder that are damaged (tests/cli/formats_odd.t.sh) or costly to read
(tests/cli/small_files.t.sh)."""
import os
import sys

from make import BOOLEAN, CLASS, CLASSES, FRAME, METHOD, POOL, SAMPLE, STACK, STRING, SYMBOL, Chunk

START = 1795638137_000000000
chunk = Chunk(True)
i, l, utf8, latin1 = chunk.i, chunk.l, chunk.utf8, chunk.latin1


def sample(stack, thread=0):
    return chunk.event(SAMPLE, l(1000) + l(thread) + l(stack))


def stack(*methods):
    return b'\0' + i(len(methods)) + b''.join(l(m) + i(7) for m in methods)


def with_fields(number, fields):
    return [(n, name, fields if n == number else old) for n, name, old in CLASSES]


def method(of, name):
    return l(of) + l(name) + b'\0'


SYMBOLS = {1: utf8('shop/Till'), 2: utf8('pay'), 3: utf8('serve')}
GOOD = [(SYMBOL, SYMBOLS), (CLASS, {1: l(1)}), (METHOD, {1: method(1, 2), 2: method(1, 3)}), (STACK, {1: stack(1), 2: stack(2)})]


def damaged():
    good = chunk.chunk(CLASSES, GOOD, [sample(1)] * 5, START)
    broken = bytearray(good)
    broken[68] = 0  # the size of the first event
    yield 'middle', good + bytes(broken) + good

    # A stack that is its event's thread; stacks that are methods.
    kinds = [(n, name, [('startTime', 6, {}), ('sampledThread', STACK, POOL), ('stackTrace', STACK, POOL)])
             if n == SAMPLE else (n, name, fields) for n, name, fields in CLASSES]
    yield 'thread', chunk.chunk(kinds, GOOD, [sample(2), sample(1, 1)], START)
    yield 'method', chunk.chunk(with_fields(FRAME, [('method', STACK, POOL), ('lineNumber', 5, {})]),
                                [(STACK, {1: stack(), 2: stack(1), 3: stack(2, 3)})], [sample(n) for n in (1, 2, 3)], START)

    # A method of a class that is not there, one with a name that is not there, one that is whole.
    pools = [(SYMBOL, SYMBOLS), (CLASS, {1: l(1), 2: l(77)}),
             (METHOD, {1: method(88, 2), 2: method(1, 55), 3: method(2, 3), 4: method(1, 2)}),
             (STACK, {n: stack(n) for n in range(1, 5)})]
    yield 'missing', chunk.chunk(CLASSES, pools, [sample(n) for n in range(1, 5)], START)
    yield 'threads', chunk.chunk(CLASSES, GOOD, [sample(1, 9)], START)

    refused = chunk.chunk(CLASSES, GOOD, [sample(1)], 1 << 63, (1 << 64) - 1)
    yield 'clock', refused
    yield 'clocks', chunk.chunk(CLASSES, GOOD, [sample(1)], 0) + refused


def costly():
    def methods(count, of, name):
        return [(METHOD, {n: method(of(n), name) for n in range(1, count)}), (STACK, {1: stack(*range(1, count))})]

    # A long text in each of many fields; a long name in each of many functions; the same without a
    # class; a class of many fields in each of many functions.
    many = with_fields(SYMBOL, [('string', STRING, {})] * 200)
    many = [(n, name, [('name', SYMBOL, POOL)] * 200 if n == METHOD else fields) for n, name, fields in many]
    yield 'texts', chunk.chunk(many, [(STRING, {1: utf8('x' * 30000)}), (SYMBOL, {1: (b'\2' + l(1)) * 200}),
                                      (METHOD, {1: l(1) * 200}), (STACK, {1: stack(1)})], [sample(1)], START)
    symbols = {n: utf8('%x' % n) for n in range(1, 12000)}
    yield 'names', chunk.chunk(CLASSES, [(SYMBOL, {**symbols, 99999: utf8('x' * 200000)}),
                                         (CLASS, {n: l(n) for n in range(1, 12000)})] +
                               methods(12000, lambda n: n, 99999), [sample(1)], START)
    yield 'symbol', chunk.chunk(CLASSES, [(SYMBOL, {1: latin1('x' * 150000)})] + methods(24000, lambda n: 0, 1),
                                [sample(1)], START)
    yield 'fields', chunk.chunk(with_fields(CLASS, [('name', BOOLEAN, {})] * 40000),
                                [(CLASS, {1: b'\0' * 40000})] + methods(60000, lambda n: 1, 0), [sample(1)], START)
    yield 'digits', chunk.chunk(with_fields(CLASS, [('other', BOOLEAN, {'dimension': '0' * 200000})] * 30000), [],
                                [sample(0)], START)
    threads = with_fields(20, [('osName', STRING, {})] * 300)
    yield 'thread-names', chunk.chunk(threads, [(STRING, {1: utf8('x' * 20000)}),
                                                (20, {n: (b'\2' + l(1)) * 300 for n in range(1, 100)})] + GOOD,
                                      [sample(1, n) for n in range(1, 100)], START)


for name, data in {'damaged': damaged, 'costly': costly}[sys.argv[1]]():
    with open(os.path.join(sys.argv[2], name + '.jfr'), 'wb') as out:
        out.write(data)
