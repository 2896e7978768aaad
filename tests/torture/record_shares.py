"""record_shares.py PITOT PROGRAM RUNS USER OPTION... -- CASE HZ: records a case of record_truth.c RUNS times,
and compares the share of fa with the program's own clocks.

Bounds: all runs together within 0.5 points or 3 standard deviations, no run past 4 standard deviations of
independent samples, and 98 to 102 % of the CPU time seen. USER: root, or ordinary (nobody). An ordinary user's time
in the kernel has a row of its own, without callers: in the case read, fb must not have more than its share.
"""
import json
import math
import subprocess
import sys

KERNEL = '[kernel, not sampled]'
POINTS, TOGETHER, ALONE, SEEN = 0.005, 3, 4, 0.02


def record(pitot, program, user, options, case, hz):
    command = [pitot, 'record', '-F', hz, *options, '-o', 'shares.pb.gz', program, case]
    if user == 'ordinary':
        command = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', *command]
    recorded = subprocess.run(command, capture_output=True, text=True)
    assert recorded.returncode == 0, recorded.stderr
    share, both_s, process_s = map(float, recorded.stdout.split())
    top = json.loads(subprocess.run([pitot, 'top', '-n', '0', '--json', 'shares.pb.gz'],
                                    capture_output=True, text=True, check=True).stdout)
    rows = {row['name']: row['total'] for row in top['rows']}
    first = 'read_zeros' if case == 'read' else 'fa'
    a, b = rows.get(first, 0) / 1e9, rows.get('fb', 0) / 1e9
    if case == 'read':
        a += rows.get(KERNEL, 0) / 1e9
    return share, both_s, a, b, top['profile']['cpu_seen_ns'] / 1e9 / process_s


def main():
    pitot, program, runs, user, *rest = sys.argv[1:]
    options, (case, hz) = rest[:rest.index('--')], rest[rest.index('--') + 1:]
    truth_s = shown_s = both_s = variance = seen = 0
    zs = []
    for _ in range(int(runs)):
        share, both, a, b, seen_now = record(pitot, program, user, options, case, hz)
        sigma = math.sqrt(share * (1 - share) / ((a + b) * float(hz))) if a + b > 0 else 1
        found = a / (a + b) if a + b > 0 else 0
        if case == 'read' and user == 'ordinary':
            found = min(found, share) # what lies above is fb's time in the kernel
        zs.append((found - share) / sigma)
        truth_s, shown_s, both_s = truth_s + share * both, shown_s + found * both, both_s + both
        variance += (sigma * both) ** 2
        seen += seen_now / int(runs)
    bias = (shown_s - truth_s) / both_s
    z = bias * both_s / math.sqrt(variance)
    worst = max(zs, key=abs)
    spread = math.sqrt(sum(x * x for x in zs) / len(zs))
    # What is seen of a few ticks is a count, with a spread of its own.
    seen_bound = max(SEEN, 3 / math.sqrt(both_s * float(hz)))
    is_right = (abs(bias) <= POINTS or abs(z) <= TOGETHER) and abs(worst) <= ALONE and \
        abs(seen - 1) <= seen_bound
    print(f'bias {100 * bias:+.2f} points, z {z:+.1f}, worst run {worst:+.1f}, spread {spread:.2f}, '
          f'{100 * seen:.1f} % seen{"" if is_right else ": OUTSIDE"}')
    sys.exit(not is_right)


main()
