"""record_killed.py PITOT TARGET ENGINE ROUNDS SEED: kills recorders at random moments.

To be run in a /dev/shm of its own. Each round records the target (record_killed.c) with the engine,
as a command or by -p, kills the recorder with SIGKILL, lets the target end, and recovers. It holds that
- the target ends as alone: with its line and its status;
- recovered samples are at least what it had used a second before the kill, and at most what it had used
  at the kill, give or take four deviations of so many samples;
- nothing is left in /dev/shm.
"""
import ctypes
import json
import math
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time

PITOT, TARGET, ENGINE, ROUNDS, SEED = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
ENTRIES, HEAD, ENTRY = 4096, 16, 16
PR_SET_CHILD_SUBREAPER = 36
PERIOD_NS = 1e6
OPENING_NS = 5e8  # from the start of a recording to its first possible sample, at most
HISTORY = 'history'
random.seed(f'{SEED} {ENGINE}')


def cpu_ns_at(history, at_ns):
    """CPU time that the target had noted up to that time."""
    stop, count = struct.unpack_from('QQ', history, 0)
    used = 0
    for i in range(max(0, count - ENTRIES), count):
        noted_ns, cpu_ns = struct.unpack_from('QQ', history, HEAD + i % ENTRIES * ENTRY)
        if noted_ns <= at_ns:
            used = max(used, cpu_ns)
    return used


def child_of(pid):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with open(f'/proc/{pid}/task/{pid}/children') as file:
            words = file.read().split()
        if words:
            return int(words[0])
        time.sleep(0.002)
    raise AssertionError('the recorder has no child')


def wait_for_line(pid):
    """The target's own end: its status, by this process, which inherits orphans."""
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def one_round(number):
    for name in ('killed.pb.gz', 'recovered.pb.gz'):
        if os.path.exists(name):
            os.unlink(name)
    with open(HISTORY, 'wb') as file:
        file.truncate(HEAD + ENTRIES * ENTRY)
    with open(HISTORY, 'r+b') as file:
        history = mmap.mmap(file.fileno(), 0)
    asked_ns = time.monotonic_ns()
    by_pid = ENGINE != 'preload' and random.random() < 0.5
    said = open('said', 'wb')
    out = open('out', 'wb')
    base = [PITOT, 'record', f'--engine={ENGINE}', '-o', 'killed.pb.gz']
    if by_pid:
        target = subprocess.Popen([TARGET, HISTORY], stdout=out).pid
        time.sleep(random.random() * 0.1)
        recorder = subprocess.Popen(base + ['-p', str(target)], stderr=said)
    else:
        recorder = subprocess.Popen(base + [TARGET, HISTORY], stdout=out, stderr=said)
        target = None
    # Mostly late enough for samples, sometimes while it begins.
    time.sleep(random.random() * (0.3 if random.random() < 0.2 else 5))
    if target is None:
        target = child_of(recorder.pid)
    os.kill(recorder.pid, signal.SIGKILL)
    killed_ns = time.monotonic_ns()
    recorder.wait()
    struct.pack_into('Q', history, 0, 1)
    status = wait_for_line(target)
    with open('out') as file:
        text = file.read()
    count = struct.unpack_from('QQ', history, 0)[1]
    # A command that was waiting for its recorder never begins.
    never_began = status == 127 and count == 0 and not by_pid
    assert never_began or (status == 7 and text == f'done {count}\n'), f'the target ended with {status}, {text!r}'
    recovered_ns, start_ns, told = 0, 0, ''
    listed = subprocess.run([PITOT, 'recover'], capture_output=True, text=True)  # removes folders without samples
    for line in listed.stderr.splitlines():
        if 'pitot recover /' not in line:
            continue
        run = subprocess.run([PITOT, 'recover', line.split()[-1]], capture_output=True, text=True)
        told += run.stdout + run.stderr
    if os.path.exists('recovered.pb.gz'):
        top = subprocess.run([PITOT, 'top', '--json', '-n', '0', 'recovered.pb.gz'], capture_output=True, text=True)
        assert top.returncode == 0, top.stderr
        recovered_ns = json.loads(top.stdout)['profile']['total']
        info = subprocess.run([PITOT, 'info', '--json', 'recovered.pb.gz'], capture_output=True, text=True)
        start_ns = json.loads(info.stdout)['origin']['start_ns']
    left = os.listdir('/dev/shm')
    assert not left, f'left in /dev/shm: {left}: {told}'
    least_ns = cpu_ns_at(history, killed_ns - 1e9)
    most_ns = cpu_ns_at(history, killed_ns + 1e8)
    if by_pid and recovered_ns > 0:
        began_ns = start_ns - time.time_ns() + time.monotonic_ns() + OPENING_NS
        least_ns = max(0, least_ns - cpu_ns_at(history, began_ns))
    elif by_pid:  # when the recording began is not known
        least_ns = max(0, least_ns - cpu_ns_at(history, asked_ns + 3e9))
    n = max(least_ns, recovered_ns) / PERIOD_NS
    give_ns = (4 * math.sqrt(n) + 4) * PERIOD_NS
    where = f'round {number}, {"-p" if by_pid else "command"}, {told!r}'
    assert recovered_ns >= least_ns - give_ns, f'{where}: {recovered_ns / 1e6} ms of at least {least_ns / 1e6}'
    assert recovered_ns <= most_ns + give_ns, f'{where}: {recovered_ns / 1e6} ms of at most {most_ns / 1e6}'
    history.close()
    return recovered_ns


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    total_ns, failed, empty = 0, [], 0
    for number in range(ROUNDS):
        try:
            got_ns = one_round(number)
            total_ns += got_ns
            empty += got_ns == 0
        except AssertionError as error:
            failed.append(str(error))
            for folder in os.listdir('/dev/shm'):
                subprocess.run(['rm', '-rf', f'/dev/shm/{folder}'])
    print(f'{ENGINE}: {ROUNDS} recorders killed, {total_ns / 1e9:.1f} CPU s recovered, {empty} before the first sample, '
          f'{len(failed)} wrong')
    for text in failed:
        print(text)
    sys.exit(len(failed) > 0)


main()
