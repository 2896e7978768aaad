#!/usr/bin/env python3
"""diff_filter.py SEED ROUNDS PROFILE...: do pitot top and go tool pprof -top leave the same under
random --focus, --ignore, --hide and --show?

Patterns are pieces of the profile's own names and files, so that most match something. Every row's
flat and cumulative value of the default event is compared, as diff_top.py does. Prints a line for
each query; exit status 1 if any differ.
"""
import json
import os
import random
import re
import subprocess
import sys

from diff_top import (PITOT_UNKNOWN, PPROF_ROW, PPROF_UNKNOWN, Trouble, differences, number,
                      output_of, pprof_argv, pprof_events, report)

OPTIONS = ('focus', 'ignore', 'hide', 'show')


def pitot_rows(profile, query):
    """{name: (flat, cum)}; empty when nothing is left (exit status 3)."""
    argv = [os.environ.get('PITOT', 'pitot'), 'top', '--json', '-n', '0', '--unnamed=object',
            *[f'--{name}={pattern}' for name, pattern in query], profile]
    done = subprocess.run(argv, capture_output=True, text=True, errors='surrogateescape')
    if done.returncode == 3:
        return {}
    if done.returncode != 0:
        raise Trouble(f'{" ".join(argv)}: exit status {done.returncode}: {done.stderr.strip()}')
    return {PPROF_UNKNOWN if row['unnamed'] and row['name'] == PITOT_UNKNOWN else row['name']:
            (row['self'], row['total']) for row in json.loads(done.stdout)['rows']}


def pprof_rows(profile, unit, query):
    text = output_of(pprof_argv('-top', '-symbolize=none', '-nodecount=0', '-nodefraction=0',
                                '-edgefraction=0', f'-unit={unit}',
                                *[f'-{name}={pattern}' for name, pattern in query], profile))
    rows = {}
    for line in text.splitlines():
        row = PPROF_ROW.fullmatch(line)
        if row and row[1] != 'flat':
            rows[row[3]] = (number(row[1]), number(row[2]))
    return rows


def words_of(profile):
    """Pieces of names and files to make patterns of."""
    argv = [os.environ.get('PITOT', 'pitot'), 'top', '--json', '-n', '0', profile]
    rows = json.loads(output_of(argv))['rows']
    texts = [row['name'] for row in rows] + [row['file'] for row in rows]
    return sorted({word for text in texts for word in re.findall(r'[A-Za-z_0-9]{2,}', text)})


def random_pattern(rng, words):
    one, other = rng.choice(words), rng.choice(words)
    return rng.choice([one, one, f'{one}|{other}', f'^{one}', f'{one}$', one[:2], 'no_such_name'])


def main(seed, rounds, profiles):
    rng = random.Random(int(seed))
    fine = True
    for profile in profiles:
        words = words_of(profile)
        unit = pprof_events(profile)[-1][1]
        for _ in range(int(rounds)):
            query = [(name, random_pattern(rng, words)) for name in OPTIONS
                     if rng.random() < 0.45]
            theirs = pprof_rows(profile, unit, query)
            found = differences(pitot_rows(profile, query), theirs)
            label = ' '.join(f'--{name}={pattern}' for name, pattern in query) or 'no query'
            fine = report(label, len(theirs), found) and fine
    return 0 if fine else 1


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
    except Trouble as trouble:
        sys.exit(f'diff_filter: {trouble}')
