#!/usr/bin/env python3
"""record_names.py PITOT PROFILE: how many of the sampled addresses are named, where symbols exist.

Prints the figures. Exit status 1 if less than 99 % of the addresses in files that have symbols, or in
the kernel, are named. What has none is what `pitot` says is stripped or has only exported symbols,
and generated code.
"""
import re
import subprocess
import sys

pitot, profile = sys.argv[1:]
dump = subprocess.run([pitot, 'dump', '--json', profile], capture_output=True, text=True)
without, unnamed = 0, []
for line in dump.stderr.splitlines():
    m = re.match(r'pitot: ([\d,]+) addresses without a name: (.*)', line)
    if not m:
        continue
    count = int(m[1].replace(',', ''))
    if re.search(r'stripped|only exported|in no file|is not a file|no mapping', m[2]):
        without += count
    else:
        unnamed.append((count, m[2]))
info = subprocess.run([pitot, 'info', profile], capture_output=True, text=True).stdout
total = int(re.search(r'code\s+([\d,]+) locations', info)[1].replace(',', ''))
bad = sum(count for count, _ in unnamed)
with_symbols = total - without
share = 100 * (1 - bad / with_symbols) if with_symbols else 100
print(f'{share:.1f} % of {with_symbols} addresses named, {without} more where nothing has symbols', *unnamed[:4])
sys.exit(share < 99)
