"""profile_sums.py [EVENT]: what each frame of `pitot dump --raw`, read from standard input, costs by
itself and all in all: a line "self total name file line" (tabs) of each that costs anything.

EVENT is a number, or a type; the last one unless given. With --only=KEY=TEXT only samples with that
label count. A recursive function is counted once a stack. With --by=name frames are one if their
names are.
"""
import json
import sys


def tables(lines):
    rows, table = {}, None
    for line in lines:
        words = line.rstrip('\n').split('\t')
        if words[0] and words[0][0].isdigit():
            rows[table].append(words)
        elif words[0] and words[0][0] != '#':
            table = words[0].split()[0]
            rows.setdefault(table, [])
    return rows


def frames_of(rows, location):
    """Innermost first."""
    lines = rows['location'][location][3]
    if lines == '-':
        return [('?', '', '0')]
    result = []
    for number in lines.split():
        line = rows['line'][int(number)]
        function = rows['function'][int(line[1])]
        result.append((json.loads(function[1]), json.loads(function[3]), line[2]))
    return result


def main():
    only = [a[len('--only='):] for a in sys.argv[1:] if a.startswith('--only=')]
    words = [a for a in sys.argv[1:] if not a.startswith('--')]
    rows = tables(sys.stdin)
    types = [json.loads(e[1]) for e in rows['event']]
    event = len(types) - 1
    if words:
        event = int(words[0]) if words[0].isdigit() else types.index(words[0])
    selfs, totals = {}, {}
    for sample in rows['sample']:
        if only and only[0].split('=', 1)[1] not in rows['labels'][int(sample[2])][1]:
            continue
        value = int(sample[3].split()[event])
        stack = rows['stack'][int(sample[1])][1].split()
        frames = [(f[0], '', '0') if '--by=name' in sys.argv else f
                  for location in stack if location != '-'
                  for f in frames_of(rows, int(location))]
        if not frames:
            continue
        selfs[frames[0]] = selfs.get(frames[0], 0) + value
        for frame in set(frames):
            totals[frame] = totals.get(frame, 0) + value
    for frame, total in totals.items():
        if total != 0 or selfs.get(frame, 0) != 0:
            print(selfs.get(frame, 0), total, *frame, sep='\t')


main()
