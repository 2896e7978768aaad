#!/usr/bin/env python3
"""The figures of `jfr print` for tests/cli/formats_peers.t.sh: a line a function, "EVENT SELF TOTAL NAME".

    jfr print --stack-depth 200 shop.jfr | ./peer.py >shop.expected
"""
import re
import sys

values = {'jdk.ExecutionSample': ('samples', lambda f: 1), 'jdk.NativeMethodSample': ('native', lambda f: 1),
          'jdk.ObjectAllocationInNewTLAB': ('allocations', lambda f: 1),
          'jdk.ObjectAllocationOutsideTLAB': ('allocations', lambda f: 1),
          'jdk.JavaMonitorEnter': ('contentions', lambda f: 1), 'jdk.ThreadPark': ('contentions', lambda f: 1)}
own, total = {}, {}
for event in re.split(r'\n\n', sys.stdin.read()):
    head = re.match(r'\s*([\w.]+) \{', event)
    if not head or head[1] not in values:
        continue
    name = values[head[1]][0]
    frames = [re.sub(r'\(.*', '', l.strip()) for l in event.split('stackTrace = [')[1].split('\n')[1:]
              if '(' in l] if 'stackTrace = [' in event else []
    for f in set(frames):
        total[name, f] = total.get((name, f), 0) + 1
    if frames:
        own[name, frames[0]] = own.get((name, frames[0]), 0) + 1
for key in sorted(total):
    print(key[0], own.get(key, 0), total[key], key[1])
