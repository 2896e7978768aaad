#!/usr/bin/env python3
"""Writes small.jfr: a chunk with a thread, three methods and four samples, in forms that OpenJDK does not write:
texts as Latin-1 and as constants, integers that are not compressed in a second chunk."""
import struct
import sys


POOL = {'constantPool': 'true'}
ARRAY = {'dimension': '1'}
BOOLEAN, INT, LONG, STRING, THREAD, CLASS, SYMBOL, METHOD, FRAME, STACK, SAMPLE, LOCK = 4, 5, 6, 7, 20, 21, 22, 23, 24, 25, 101, 102
CLASSES = [
    (BOOLEAN, 'boolean', []), (INT, 'int', []), (LONG, 'long', []), (STRING, 'java.lang.String', []),
    (THREAD, 'java.lang.Thread', [('osName', STRING, {}), ('osThreadId', LONG, {}), ('javaName', STRING, {}),
                                  ('javaThreadId', LONG, {})]),
    (CLASS, 'java.lang.Class', [('name', SYMBOL, POOL)]), (SYMBOL, 'jdk.types.Symbol', [('string', STRING, {})]),
    (METHOD, 'jdk.types.Method', [('type', CLASS, POOL), ('name', SYMBOL, POOL), ('hidden', BOOLEAN, {})]),
    (FRAME, 'jdk.types.StackFrame', [('method', METHOD, POOL), ('lineNumber', INT, {})]),
    (STACK, 'jdk.types.StackTrace', [('truncated', BOOLEAN, {}), ('frames', FRAME, ARRAY)]),
    (SAMPLE, 'jdk.ExecutionSample', [('startTime', LONG, {}), ('sampledThread', THREAD, POOL), ('stackTrace', STACK, POOL)]),
    (LOCK, 'jdk.JavaMonitorEnter', [('startTime', LONG, {}), ('duration', LONG, {}), ('eventThread', THREAD, POOL),
                                    ('stackTrace', STACK, POOL)])]


class Chunk:
    def __init__(self, compressed):
        self.compressed = compressed

    def int(self, value, size):
        if not self.compressed:
            return value.to_bytes(size, 'big', signed=value < 0)
        out = b''
        for _ in range(8):
            out += bytes([value & 0x7f | (0x80 if value > 0x7f else 0)])
            value >>= 7
            if value == 0:
                return out
        return out + bytes([value])

    def i(self, value):
        return self.int(value, 4)

    def l(self, value):
        return self.int(value, 8)

    def utf8(self, text):
        return b'\3' + self.i(len(text.encode())) + text.encode()

    def latin1(self, text):
        return b'\5' + self.i(len(text)) + text.encode('latin-1')

    def utf16(self, text):
        return b'\4' + self.i(len(text)) + b''.join(self.int(ord(c), 2) for c in text)

    def event(self, kind, body):
        body = self.l(kind) + body
        for size in range(1, 10):
            head = self.i(len(body) + size)
            if len(head) == size:
                return head + body

    def metadata(self, classes):
        texts = []

        def text(t):
            if t not in texts:
                texts.append(t)
            return self.i(texts.index(t))

        def element(name, attributes, children):
            return (text(name) + self.i(len(attributes)) +
                    b''.join(text(k) + text(v) for k, v in attributes.items()) +
                    self.i(len(children)) + b''.join(children))

        tree = element('root', {}, [element('metadata', {}, [
            element('class', {'name': name, 'id': str(number)},
                    [element('field', {'name': field, 'class': str(of), **more}, []) for field, of, more in fields])
            for number, name, fields in classes])])
        forms = [self.utf8, self.latin1, self.utf16]
        return self.event(0, self.l(0) + self.l(0) + self.l(1) + self.i(len(texts)) +
                          b''.join(forms[n % 3](t) for n, t in enumerate(texts)) + tree)

    def constants(self, pools):
        body = self.l(0) + self.l(0) + self.l(0) + b'\0' + self.i(len(pools))
        for kind, values in pools:
            body += self.l(kind) + self.i(len(values)) + b''.join(self.l(k) + v for k, v in values.items())
        return self.event(1, body)

    def chunk(self, classes, pools, events, start, duration=1_000_000_000):
        body = b''.join(events) + self.constants(pools)
        metadata = self.metadata(classes)
        header = struct.pack('>4sHHQQQQQQQI', b'FLR\0', 2, 1, 68 + len(body) + len(metadata), 68, 68 + len(body), start,
                             duration, 1000, 1_000_000, 1 if self.compressed else 0)
        return header + body + metadata

    def small(self, start):
        frame = lambda method, line: self.l(method) + self.i(line)  # noqa: E731
        pools = [
            (7, {9: self.latin1('caf\xe9')}),
            (20, {1: self.utf8('os-1') + self.l(812) + b'\2' + self.l(9) + self.l(1)}),
            (21, {1: self.l(1), 2: self.l(4)}),
            (22, {1: self.utf16('shop/Till'), 2: self.latin1('serve'), 3: self.utf8('pay'), 4: b'\1'}),
            (23, {1: self.l(1) + self.l(2) + b'\0', 2: self.l(1) + self.l(3) + b'\1', 3: self.l(2) + self.l(3) + b'\0'}),
            (25, {1: b'\0' + self.i(2) + frame(2, 12) + frame(1, 7), 2: b'\1' + self.i(1) + frame(1, 8),
                  3: b'\0' + self.i(1) + frame(3, 0)})]
        samples = [self.event(101, self.l(1000 + 10 * n) + self.l(1) + self.l(stack)) for n, stack in enumerate([1, 1, 2, 3])]
        lock = self.event(102, self.l(1050) + self.l(500) + self.l(1) + self.l(1))
        return self.chunk(CLASSES, pools, samples + [lock], start)


if __name__ == '__main__':
    with open(sys.argv[1], 'wb') as out:
        out.write(Chunk(True).small(1795638137_000000000) + Chunk(False).small(1795638138_000000000))
