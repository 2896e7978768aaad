#!/usr/bin/env python3
"""faults.py LIBRARY FOLDER: the page faults that the library costs a process of a recording that does
nothing, and a child of fork in it: "process N" and "fork N". The least of five runs each, since where
the kernel puts a mapping decides which pages are met together.
"""
import os
import sys

library, folder = sys.argv[1:]
FORKS = 40


def process(variables):
    pid = os.posix_spawn('/bin/true', ['true'], variables)
    return os.wait4(pid, 0)[2].ru_minflt


def forks(variables):
    forking = f"for i in $(seq {FORKS}); do (:); done"
    pid = os.posix_spawn('/bin/bash', ['bash', '-c', forking], variables)
    return os.wait4(pid, 0)[2].ru_minflt / FORKS


plain = {'PATH': os.environ['PATH']}
recorded = plain | {'LD_PRELOAD': library, 'PITOT_RECORD_DIR': folder, 'PITOT_RECORD_HZ': '10'}
for name, count in ('process', process), ('fork', forks):
    least = [min(count(variables) for _ in range(5)) for variables in (plain, recorded)]
    print(name, round(least[1] - least[0]))
