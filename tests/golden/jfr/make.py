#!/usr/bin/env python3
"""Writes small.jfr: a chunk with a thread, three methods and four samples, in forms that OpenJDK does not write:
texts as Latin-1 and as constants, integers that are not compressed in a second chunk."""
import struct
import sys


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

    def bytes(self, start):
        pool = {'constantPool': 'true'}
        classes = [
            (4, 'boolean', []), (5, 'int', []), (6, 'long', []), (7, 'java.lang.String', []),
            (20, 'java.lang.Thread', [('osName', 7, {}), ('osThreadId', 6, {}), ('javaName', 7, {}), ('javaThreadId', 6, {})]),
            (21, 'java.lang.Class', [('name', 22, pool)]), (22, 'jdk.types.Symbol', [('string', 7, {})]),
            (23, 'jdk.types.Method', [('type', 21, pool), ('name', 22, pool), ('hidden', 4, {})]),
            (24, 'jdk.types.StackFrame', [('method', 23, pool), ('lineNumber', 5, {})]),
            (25, 'jdk.types.StackTrace', [('truncated', 4, {}), ('frames', 24, {'dimension': '1'})]),
            (101, 'jdk.ExecutionSample', [('startTime', 6, {}), ('sampledThread', 20, pool), ('stackTrace', 25, pool)]),
            (102, 'jdk.JavaMonitorEnter', [('startTime', 6, {}), ('duration', 6, {}), ('eventThread', 20, pool),
                                           ('stackTrace', 25, pool)])]
        frame = lambda method, line: self.l(method) + self.i(line)  # noqa: E731
        pools = [
            (7, {9: self.latin1('caf\xe9')}),
            (20, {1: self.utf8('os-1') + self.l(812) + b'\2' + self.l(9) + self.l(1)}),
            (21, {1: self.l(1)}),
            (22, {1: self.utf16('shop/Till'), 2: self.latin1('serve'), 3: self.utf8('pay'), 4: b'\1'}),
            (23, {1: self.l(1) + self.l(2) + b'\0', 2: self.l(1) + self.l(3) + b'\1', 3: self.l(9) + self.l(3) + b'\0'}),
            (25, {1: b'\0' + self.i(2) + frame(2, 12) + frame(1, 7), 2: b'\1' + self.i(1) + frame(1, 8),
                  3: b'\0' + self.i(1) + frame(3, 0)})]
        samples = [self.event(101, self.l(1000 + 10 * n) + self.l(1) + self.l(stack)) for n, stack in enumerate([1, 1, 2, 3])]
        lock = self.event(102, self.l(1050) + self.l(500) + self.l(1) + self.l(1))
        body = b''.join(samples) + lock + self.constants(pools)
        metadata = self.metadata(classes)
        header = struct.pack('>4sHHqqqqqqqi', b'FLR\0', 2, 1, 68 + len(body) + len(metadata), 68, 68 + len(body), start,
                             1_000_000_000, 1000, 1_000_000, 1 if self.compressed else 0)
        return header + body + metadata


open(sys.argv[1], 'wb').write(Chunk(True).bytes(1795638137_000000000) + Chunk(False).bytes(1795638138_000000000))
