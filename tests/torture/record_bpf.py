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
LOADED_S, ENDING_S = 2, 1


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


recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL)
time.sleep(LOADED_S)
begun, before, started_before = time.monotonic(), used_ms(recorder.pid), started()
time.sleep(max(seconds - LOADED_S - ENDING_S, 0.1))
passed = time.monotonic() - begun
each_second, others = (used_ms(recorder.pid) - before) / passed, (started() - started_before) / passed
maps, private = map_bytes(recorder.pid), private_bytes(recorder.pid)
status = recorder.wait()
all_used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f'{(all_used.ru_utime + all_used.ru_stime) * 1000:.1f} {each_second:.3f} {maps / 1e6:.1f} {private / 1e6:.1f} {others:.0f}')
sys.exit(status)
