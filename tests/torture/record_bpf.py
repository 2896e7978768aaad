"""record_bpf.py SECONDS COMMAND...: runs a recorder for so many seconds. Prints CPU time in ms: of the whole recorder, and of
a second in the middle, when its programs and tables are loaded; then MB: what the BPF maps hold in the kernel, and the
recorder's private memory; then how many processes and threads the machine started in a second: a recorder with events of
CPUs gets records of all of them."""
import glob
import re
import resource
import subprocess
import sys
import time

seconds, command = float(sys.argv[1]), sys.argv[2:]
LOADED_S, ENDING_S = 1.5, 1


def text_of(path):
    try:
        with open(path, encoding='ascii', errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def used_ms(pid):
    """CPU time of the process and its children: one of them reads memory for the recorder."""
    used = sum(int((text_of(path).split() or [0])[0]) for path in glob.glob(f'/proc/{pid}/task/*/schedstat')) / 1e6
    return used + sum(used_ms(child) for child in text_of(f'/proc/{pid}/task/{pid}/children').split())


def map_bytes(pid):
    """Maps with a descriptor, and those that are mapped without one: the chunks of the pool."""
    held = {}
    for path in glob.glob(f'/proc/{pid}/fdinfo/*'):
        facts = dict(re.findall(r'^(map_id|memlock):\s*(\d+)$', text_of(path), re.M))
        if 'map_id' in facts:
            held[facts['map_id']] = int(facts['memlock'])
    chunks = re.findall(r'^(\w+)-(\w+) .*bpf-map$', text_of(f'/proc/{pid}/maps'), re.M)
    return sum(held.values()) + sum(int(limit, 16) - int(start, 16) for start, limit in chunks)


def private_bytes(pid):
    return 1024 * int((re.findall(r'^RssAnon:\s*(\d+)', text_of(f'/proc/{pid}/status'), re.M) or [0])[0])


def started():
    return int(re.findall(r'^processes (\d+)', text_of('/proc/stat'), re.M)[0])


def used_by_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


def middle(points):
    """The first and the last point of the recording proper. Its maps are there when it begins."""
    begins = next((p[0] for p in points if p[3] > 0), points[0][0])
    inside = [p for p in points if begins + LOADED_S <= p[0] <= begins + seconds - ENDING_S]
    return (inside[0], inside[-1]) if len(inside) > 1 else (points[0], points[-1])


before = used_by_children()  # a python3 of pyenv is a script that has started others
recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL)
points = []
while True:
    points.append((time.monotonic(), used_ms(recorder.pid), started(), map_bytes(recorder.pid), private_bytes(recorder.pid)))
    if recorder.poll() is not None:
        break
    time.sleep(0.5)
first, last = middle(points[:-1] or points)
passed = max(last[0] - first[0], 0.001)
print(f'{used_by_children() - before:.1f} {(last[1] - first[1]) / passed:.3f} {max(p[3] for p in points) / 1e6:.1f} '
      f'{max(p[4] for p in points) / 1e6:.1f} {(last[2] - first[2]) / passed:.0f}')
sys.exit(recorder.returncode)
