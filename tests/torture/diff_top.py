#!/usr/bin/env python3
"""diff_top.py: do two sources agree in every function's flat and cumulative value?

  diff_top.py pprof PROFILE...         pitot top against go tool pprof -top
  diff_top.py truth PROFILE TRUTH      pitot top against what bench/gen --truth wrote
  diff_top.py peer-truth PROFILE TRUTH go tool pprof -top against the same: checks the generator

Every event of a profile is compared, and every row, in the event's own unit, so that figures are
whole numbers. Frames without a name are one row per mapped file on both sides. Prints a line for each
event; exit status 1 if any differ. The program under test is $PITOT.
"""
import csv
import json
import os
import re
import subprocess
import sys

SHOWN = 8  # differences printed per event

PPROF_ROW = re.compile(r'\s*(\S+)\s+\S+%\s+\S+%\s+(\S+)\s+\S+%  (.*?)( \((?:partial-)?inline\))?')
# What a frame without name and mapping is called.
PPROF_UNKNOWN, PITOT_UNKNOWN = '<unknown>', '[unknown]'


class Trouble(Exception):
    """A tool did not answer."""


def output_of(argv):
    done = subprocess.run(argv, capture_output=True, text=True, errors='surrogateescape')
    if done.returncode != 0:
        raise Trouble(f'{" ".join(argv)}: exit status {done.returncode}: {done.stderr.strip()}')
    return done.stdout


# --- Go's pprof

def pprof_argv(*options):
    return ['go', 'tool', 'pprof', *options]


def pprof_events(profile):
    """The profile's events as [(type, unit)]: the first line after "Samples:" of -raw."""
    lines = output_of(pprof_argv('-raw', '-symbolize=none', profile)).splitlines()
    words = lines[lines.index('Samples:') + 1].split()
    return [tuple(re.sub(r'\[dflt\]$', '', word).split('/', 1)) for word in words]


def number(text):
    """A figure of pprof in the unit that was asked for; the unit is what follows the digits."""
    value = float(re.match(r'-?[\d.]+(?:e[-+]?\d+)?', text)[0])
    if value != int(value):
        raise Trouble(f'pprof printed {text}, which is no whole number')
    return int(value)


def pprof_top(profile, index, unit):
    """{name: (flat, cum)} of one event."""
    text = output_of(pprof_argv('-top', '-symbolize=none', '-nodecount=0', '-nodefraction=0',
                                '-edgefraction=0', f'-unit={unit}', f'-sample_index={index}',
                                profile))
    lines = text.splitlines()
    header = next(i for i, line in enumerate(lines) if re.match(r'\s*flat\s+flat%', line))
    rows = {}
    for line in lines[header + 1:]:
        row = PPROF_ROW.fullmatch(line)
        if not row:
            raise Trouble(f'pprof printed a row that is none: {line!r}')
        name = re.sub(r'^\[(\[.*\])\]$', r'\1', row[3])  # [[vdso]]
        if name in rows:
            raise Trouble(f'pprof printed {name!r} twice')
        rows[name] = (number(row[1]), number(row[2]))
    return rows


# --- pitot

def pitot_top(profile, index):
    """{name: (flat, cum)} of one event."""
    answer = json.loads(output_of([os.environ.get('PITOT', 'pitot'), 'top', '--json', '-n', '0',
                                   '--symbols=off', '--long-names', '--unnamed=object',
                                   f'--event={index}', profile]))
    rows = {}
    for row in answer['rows']:
        unknown = row['unnamed'] and row['name'] == PITOT_UNKNOWN
        name = PPROF_UNKNOWN if unknown else row['name']
        if name in rows:
            raise Trouble(f'pitot printed {name!r} twice')
        rows[name] = (row['self'], row['total'])
    return rows


# --- the generator's own sums

def truth_tables(path):
    """[{name: (flat, cum)}], one table per event."""
    with open(path, newline='') as f:
        lines = list(csv.reader(f, delimiter='\t', quoting=csv.QUOTE_NONE))
    events = (len(lines[0]) - 1) // 2
    return [{line[0]: (int(line[1 + 2 * e]), int(line[2 + 2 * e])) for line in lines[1:]}
            for e in range(events)]


# --- the comparison

def differences(ours, theirs):
    """Lines that say where two tables differ. A row that is zero in both columns may be absent."""
    found = []
    for name in sorted(ours.keys() | theirs.keys()):
        a, b = ours.get(name, (0, 0)), theirs.get(name, (0, 0))
        if a != b:
            found.append(f'{name}: flat {a[0]}, cum {a[1]}; expected {b[0]}, {b[1]}')
    return found


def report(label, rows, found):
    """Prints the outcome for one event; true if it is fine."""
    if not found:
        print(f'{label}: {rows} rows agree')
        return True
    print(f'{label}: {len(found)} of {rows} rows differ')
    for line in found[:SHOWN]:
        print(f'  {line}')
    return False


def is_without_stacks(ours):
    """Who called what is not known, pitot says: then pprof repeats each flat value as its cum."""
    return len(ours) > 0 and all(total is None for _, total in ours.values())


def against_pprof(profile):
    fine = True
    for index, (kind, unit) in enumerate(pprof_events(profile)):
        theirs = pprof_top(profile, index, unit)
        ours = pitot_top(profile, index)
        if is_without_stacks(ours) and all(flat == cum for flat, cum in theirs.values()):
            theirs = {name: (flat, None) for name, (flat, _) in theirs.items()}
        found = differences(ours, theirs)
        fine = report(f'{os.path.basename(profile)} {kind}/{unit}', len(theirs), found) and fine
    return fine


def against_truth(profile, truth, read):
    fine = True
    for index, theirs in enumerate(truth_tables(truth)):
        found = differences(read(profile, index), theirs)
        fine = report(f'{os.path.basename(profile)} event {index}', len(theirs), found) and fine
    return fine


def main(argv):
    mode, files = argv[1] if len(argv) > 1 else '', argv[2:]
    if mode == 'pprof' and files:
        fine = all([against_pprof(profile) for profile in files])
    elif mode == 'truth' and len(files) == 2:
        fine = against_truth(*files, pitot_top)
    elif mode == 'peer-truth' and len(files) == 2:
        units = pprof_events(files[0])
        fine = against_truth(*files, lambda profile, i: pprof_top(profile, i, units[i][1]))
    else:
        sys.exit(__doc__)
    return 0 if fine else 1


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv))
    except Trouble as trouble:
        sys.exit(f'diff_top: {trouble}')
