#!/usr/bin/env python3
"""kills.py FILE CORES HZ: judges what tortures left that were killed at work. A line of FILE is: ticks
that the library asked the program about, its CPU time in ns when it was killed, CPU time of the
process when the journal was written last, ticks in the journal, weight of its samples, weight found
in stacks, weight dropped.

What is missing came after the journal was written last: no more ticks than fit into the CPU time
since then, and one of each of the threads that may run. No sample is there twice: the stacks hold
what was weighed, and samples that came since then: a round puts them there before it writes the
sums of its weights. The journal is written each
100 ms: on a full machine the time since then may be longer, but not always. Exit status 1 if
anything is amiss.
"""
import sys

THREADS = 32  # that run at once in a torture, and a few that come and go
INTERVAL_NS = 100_000_000

rows = [[int(x) for x in line.split()] for line in open(sys.argv[1])]
cores, hz = int(sys.argv[2]), int(sys.argv[3])
ticks = sum(row[3] for row in rows)
since = [cpu - written for _, cpu, written, *_ in rows]
missing = [asked - counted for asked, _, _, counted, *_ in rows]
twice = [samples + dropped - weight for *_, weight, samples, dropped in rows]
print(f'{len(rows)} kills, {ticks} ticks, {sum(missing)} came after the last writing, which was '
      f'{min(since, default=0) / 1e6:.1f} to {max(since, default=0) / 1e6:.1f} ms of CPU time earlier')
later = [s * hz * 1.02 / 1e9 + THREADS for s in since]
sys.exit(not (rows and ticks > 0 and min(since) <= INTERVAL_NS * cores
              and all(0 <= m <= most for m, most in zip(missing, later))
              and all(-THREADS <= t <= most for t, most in zip(twice, later))))
