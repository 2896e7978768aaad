#!/usr/bin/env python3
"""kills.py FILE CORES: judges what tortures left that were killed at work. A line of FILE is: ticks
that the library asked the program about, ticks in the journal, weight of its samples, weight found
in stacks and rings, weight dropped.

In flight when the process ends may be one tick on each core: asked about and not yet counted, or
counted and not yet published. A sample that was being folded is there twice. Exit status 1 if more
is amiss.
"""
import sys

rows = [[int(x) for x in line.split()] for line in open(sys.argv[1])]
cores = int(sys.argv[2])
ticks = sum(row[1] for row in rows)
lost = sum(max(0, weight - samples) for _, _, weight, samples, _ in rows)
twice = sum(max(0, samples - weight) for _, _, weight, samples, _ in rows)
print(f'{len(rows)} kills, {ticks} ticks, {lost} periods lost in flight, {twice} there twice, '
      f'{sum(row[4] for row in rows)} dropped and counted')
sys.exit(not (rows and ticks > 0 and all(abs(asked - counted) <= cores for asked, counted, *_ in rows)
              and max(lost, twice) <= len(rows)))
