"""kernels_judge.py WHAT NAME...: what a small system recorded (NAME.json, .info, .text, .own) against what the programs say."""
import json
import math
import re
import sys


def dump(name):
    return json.load(open(name + '.json'))


def values(recording, event):
    """(value, names from the leaf, labels) of each sample."""
    place = {e['type']: i for i, e in enumerate(recording['events'])}[event]
    for sample in recording['samples']:
        labels = {label['key']: label.get('text') for label in sample.get('labels', [])}
        yield sample['values'][place], [f.get('function') for f in sample['frames']], labels


def own(name):
    words = open(name + '.own').read().split()
    return {key: float(ns) for key, ns in zip(words[::2], words[1::2])}


def in_kernel(name):
    found = re.search(r', (\d+) of (\d+) stacks walked in the kernel', open(name + '.text').read())
    return int(found[1]) / max(1, int(found[2])) if found else 0


def shares(name, depth, least_complete, least_in_kernel):
    """The share of `one` is the program's own, within five sigma and 2 %, and each stack has all frames of `deep`."""
    truth, total, ones, whole = own(name), 0, 0, 0
    for count, names, _ in values(dump(name), 'samples'):
        if 'one' in names or 'two' in names:
            total += count
            ones += count * ('one' in names)
            whole += count * (names.count('deep') == depth + 1 and 'main' in names)
    p = truth['one'] / (truth['one'] + truth['two'])
    limit = 0.02 + 5 * math.sqrt(p * (1 - p) / max(1, total))
    said = f'{name}: {total} samples, one {ones / max(1, total):.3f} of {p:.3f}, {whole} whole, {in_kernel(name):.3f} in the kernel'
    print('#', said)
    assert total >= 100, said
    assert abs(ones / total - p) <= limit, said
    assert whole >= least_complete * total, said
    assert in_kernel(name) >= least_in_kernel, said


def waits(name):
    """The waits of each function are as long as its own clocks say, within 2 % and 20 ms, and of the right kind."""
    kinds = {'sleeps': 'sleep', 'locks': 'lock', 'reads_pipe': 'pipe', 'reads_socket': 'socket'}
    truth, recording = own(name), dump(name)
    assert truth.keys() == kinds.keys(), truth
    off, kind = dict.fromkeys(truth, 0), {}
    for event in 'off-cpu', 'ready':
        for ns, names, labels in values(recording, event):
            for function in set(names) & truth.keys():
                off[function] += ns
                if event == 'off-cpu' and ns > 1e8:
                    kind[function] = labels.get('wait')
    print('#', name + ':', ', '.join(f'{f} {off[f] / 1e6:.1f} of {truth[f] / 1e6:.1f} ms ({kind.get(f)})' for f in truth))
    for function, ns in truth.items():
        assert abs(off[function] - ns) <= 0.02 * ns + 2e7, (function, off[function], ns)
        assert kind.get(function) == kinds[function], (function, kind)


def copied(name, why):
    """Recorded by copies of stacks, and one line says why."""
    lines = re.findall('stacks: copied, not walked in the kernel: (.*)', open(name + '.text').read())
    print('#', name + ':', lines)
    total = sum(count for count, names, _ in values(dump(name), 'samples') if 'main' in names)
    assert len(lines) == 1 and why in lines[0], lines
    assert total >= 20, total


def verified(ceiling):
    """The verifier follows at most so many instructions in each program."""
    print('#', 'instructions that the verifier followed:', ', '.join(open('verified').read().splitlines()))
    rows = [line.split() for line in open('verified')]
    assert len(rows) == 8, rows
    for row in rows:
        assert len(row) == 2 and int(row[1]) <= int(ceiling), row


what, arguments = sys.argv[1], sys.argv[2:]
if what == 'shares':
    shares(arguments[0], int(arguments[1]), float(arguments[2]), float(arguments[3]))
else:
    {'waits': waits, 'copied': copied, 'verified': verified}[what](*arguments)
