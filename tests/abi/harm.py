#!/usr/bin/env python3
"""harm.py ROUNDS HOST LIBRARY PITOT [SEED]: harms the profile of a running program in every way there
is, each round another, at a random moment, and judges what comes of it:

  - the program's output and exit status are those that it has alone, and it ends;
  - where the file can be written to in the end, it holds all of the program's CPU time;
  - where it cannot, one line on standard error says so, and nothing else is said.

Prints "kind: N rounds" lines and what went wrong; a kind that this machine does not allow is "kind:
skipped, REASON". Exit status 1 if anything went wrong.
"""
import os
import random
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

rounds, host, library, pitot = int(sys.argv[1]), *sys.argv[2:5]
seed = int(sys.argv[5]) if len(sys.argv) > 5 else int(os.environ.get('PITOT_SEED') or time.time_ns() % 10**6)
chance = random.Random(seed)
CPU_MS = 60  # of each of the program's two threads
HANG_S = 300


class Skipped(Exception):
    pass


class Round:
    """A program with its profile in a folder of its own."""

    def __init__(self, chance):
        self.chance = chance
        self.top = tempfile.mkdtemp(prefix='pitot-harm.')
        self.folder = os.path.join(self.top, 'folder')
        os.mkdir(self.folder)
        self.path = os.path.join(self.folder, 'prof')
        self.mounted = None
        self.others = []

    def mount(self, options):
        if os.geteuid() != 0:
            raise Skipped('only root may mount')
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'tmpfs', self.folder],
                          capture_output=True).returncode != 0:
            raise Skipped('mounting is not allowed here')
        self.mounted = self.folder

    def start(self, what='nothing', limit=None):
        env = dict(os.environ, CPUPROFILE=self.path, CPUPROFILE_FREQUENCY='1000', LD_PRELOAD=library)
        return subprocess.Popen([host, str(CPU_MS), what], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, preexec_fn=limit)

    def clean(self):
        while self.mounted and subprocess.run(['umount', '-l', self.mounted], capture_output=True).returncode == 0:
            pass
        subprocess.run(['chmod', '-R', 'u+rwx', self.top], capture_output=True)
        shutil.rmtree(self.top, ignore_errors=True)


# ---- the harms: each gets the round and the process, while that runs

def size(r):
    return os.stat(r.path).st_size


def put(r, at, data):
    with open(r.path, 'r+b') as f:
        f.seek(at)
        f.write(data)


def truncate(r, p):
    os.truncate(r.path, 0)


def truncate_middle(r, p):
    os.truncate(r.path, r.chance.randrange(size(r) + 1))


def zeros(r, p):
    put(r, 0, bytes(size(r)))


def noise(r, p):
    put(r, 0, r.chance.randbytes(size(r) + 5000))


def poke(r, p):
    """Stores to words that could be a size, a depth, a place in a ring."""
    end = size(r)
    for value in (0xffffff << 8 | 1 << 32, 1 << 45, 1 << 40, (1 << 64) - 1, 0):
        for _ in range(50):
            put(r, r.chance.randrange(max(1, end // 8)) * 8, value.to_bytes(8, sys.byteorder))


def append(r, p):
    with open(r.path, 'ab') as f:
        f.write(r.chance.randbytes(10000))


def chmod(r, p):
    os.chmod(r.path, 0)


def chown(r, p):
    if os.geteuid() != 0:
        raise Skipped('only root may give files away')
    os.chown(r.path, 65534, 65534)


def rename_away(r, p):
    os.rename(r.path, os.path.join(r.top, 'away'))


def replace(r, p):
    other = os.path.join(r.top, 'other')
    with open(other, 'w') as f:
        f.write('another file\n')
    os.rename(other, r.path)


def symlink(r, p):
    os.unlink(r.path)
    os.symlink(os.path.join(r.top, 'target'), r.path)


def fifo(r, p):
    os.unlink(r.path)
    os.mkfifo(r.path)


def directory(r, p):
    os.unlink(r.path)
    os.mkdir(r.path)


def unlink(r, p):
    os.unlink(r.path)


def remove_folder(r, p):
    shutil.rmtree(r.folder)


def move_folder(r, p):
    os.rename(r.folder, os.path.join(r.top, 'moved'))


def fill_disk(r, p):
    with open(os.path.join(r.folder, 'filler'), 'wb', buffering=0) as f:
        try:
            while True:
                f.write(bytes(4096))
        except OSError:
            pass


def unmount(r, p):
    subprocess.run(['umount', '-l', r.folder], check=True, capture_output=True)


def read_only(r, p):
    """Refused while a file is open for writing, as it should be: then nothing has happened."""
    subprocess.run(['mount', '-o', 'remount,ro', r.folder], capture_output=True)


def small_files(r, p):
    resource.prlimit(p.pid, resource.RLIMIT_FSIZE, (r.chance.randrange(9000), resource.RLIM_INFINITY))


def no_descriptors(r, p):
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (0, resource.RLIM_INFINITY))


def link_and_cut(r, p):
    other = os.path.join(r.top, 'link')
    os.link(r.path, other)
    os.truncate(other, r.chance.randrange(8192))


def second_process(r, p):
    r.others.append(r.start())


def nothing(r, p):
    pass


def at_start(bytes_):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, resource.RLIM_INFINITY))


WHOLE, SAID, MOVED, EITHER = 'the whole profile', 'one line', 'the journal where it is now', 'profile or line'

# name: what harms; what is to be there in the end; more arguments of Round.start; of Round.mount
KINDS = {
    'truncate to nothing': (truncate, WHOLE),
    'truncate in the middle': (truncate_middle, WHOLE),
    'overwrite by zeros': (zeros, WHOLE),
    'overwrite by noise': (noise, WHOLE),
    'poke words': (poke, WHOLE),
    'append garbage': (append, WHOLE),
    'chmod 000': (chmod, WHOLE),
    'chown': (chown, WHOLE),
    'rename away': (rename_away, WHOLE),
    'replace by a file': (replace, WHOLE),
    'replace by a symbolic link': (symlink, WHOLE),
    'replace by a FIFO': (fifo, WHOLE),
    'replace by a directory': (directory, SAID),
    'unlink': (unlink, WHOLE),
    'remove the folder': (remove_folder, SAID),
    'move the folder': (move_folder, MOVED),
    'full disk': (fill_disk, EITHER, {}, 'size=64k'),
    'unmount': (unmount, EITHER, {}, 'size=1m'),
    'mount read only': (read_only, EITHER, {}, 'size=1m'),
    'small files from the start': (nothing, SAID, {'limit': at_start(1000)}),
    'no files from the start': (nothing, SAID, {'limit': at_start(0)}),
    'small files from now on': (small_files, EITHER),
    'small files, SIGXFSZ is caught': (small_files, EITHER, {'what': 'catches'}),
    'small files, SIGXFSZ is ignored': (small_files, EITHER, {'what': 'ignores'}),
    'no descriptors': (no_descriptors, SAID),
    'link and truncate': (link_and_cut, WHOLE),
    'two processes, one name': (second_process, WHOLE),
    'the program writes over it': (nothing, WHOLE, {'what': 'writes'}),
    'the program maps it and scribbles': (nothing, WHOLE, {'what': 'scribbles'}),
    'the program truncates it in a loop': (nothing, WHOLE, {'what': 'truncates'}),
    'the program closes all descriptors': (nothing, WHOLE, {'what': 'closes'}),
}


def seconds_in(path):
    """CPU time in a profile, by the program under test."""
    made = subprocess.run([pitot, 'convert', path, '--to=folded', '-e', 'samples', '--symbols=off', '-o', '-'],
                          capture_output=True, text=True)
    return sum(int(line.split()[-1]) for line in made.stdout.splitlines()) / 1000


def agrees(seen_s, used_s):
    """Within three standard deviations, and what nobody sees of a program's start."""
    return abs(seen_s - used_s) <= 3 * (used_s * 0.004) ** 0.5 + 0.02 * used_s + 0.03


def judge(r, wanted, used_s, said):
    lines = said.splitlines()
    if any(not line.startswith('pitot: libprofiler: ') for line in lines) or len(lines) > 1:
        return f'standard error is {said!r}'
    if wanted == SAID or (wanted == EITHER and lines):
        return None if len(lines) == 1 else 'nothing is said'
    path = r.path
    if wanted == MOVED:
        path = os.path.join(r.top, 'moved', 'prof')
        if f' in the journal {path},' not in said:
            return f'it does not say where the journal is: {said!r}'
    elif lines:
        return f'it says {said!r}'
    seen_s = seconds_in(path)
    return None if agrees(seen_s, used_s) else f'{seen_s:.3f} s in the profile, {used_s:.3f} s were used'


def is_at_work(process):
    """Has the program not printed its result yet? Its profile is written after that."""
    return not select.select([process.stdout], [], [], 0)[0]


def end_of(process):
    """Output, messages, status and CPU time."""
    timer = threading.Timer(HANG_S, process.kill)
    timer.start()
    said = []
    reader = threading.Thread(target=lambda: said.append(process.stderr.read()))
    reader.start()
    output = process.stdout.read()
    reader.join()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return output, said[0].decode(errors='replace'), process.returncode, usage.ru_utime + usage.ru_stime


def play(name, alone):
    """One round; what went wrong, or None."""
    harm, wanted, *more = KINDS[name]
    r = Round(random.Random(chance.random()))
    try:
        if len(more) > 1:
            r.mount(more[1])
        process = r.start(**(more[0] if more else {}))
        deadline = time.monotonic() + HANG_S
        while not os.path.exists(r.path) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.1)
        try:
            harm(r, process)
            done = True
        except Skipped:
            process.kill()
            end_of(process)
            raise
        except (OSError, ValueError) as error:  # it has ended, or just replaced its file
            done = f'{error}'
        was_in_time = done is True and is_at_work(process)
        output, said, status, used_s = end_of(process)
        for other in r.others:
            other_end = end_of(other)
            if (other_end[0], other_end[2]) != alone:
                return f'the other process: {other_end}'
            used_s = min(used_s, other_end[3])
        if (output, status) != alone:
            return f'output {output!r}, status {status}; alone {alone}; said {said!r}'
        if not was_in_time or r.others:
            return None
        return judge(r, wanted, used_s, said)
    finally:
        r.clean()


def main():
    names = list(KINDS)
    made = subprocess.run([host, str(CPU_MS), 'nothing'], capture_output=True, stdin=subprocess.DEVNULL)
    alone = (made.stdout, made.returncode)
    played, skipped, wrong = dict.fromkeys(names, 0), {}, 0
    for i in range(rounds):
        name = names[i % len(names)]
        if name in skipped:
            continue
        try:
            what = play(name, alone)
        except Skipped as reason:
            skipped[name] = str(reason)
            continue
        played[name] += 1
        if what is not None:
            wrong += 1
            print(f'{name}: {what}')
    for name in names:
        print(f'# {name}: ' + (f'skipped, {skipped[name]}' if name in skipped else f'{played[name]} rounds'))
    print(f'# {sum(played.values())} rounds, {wrong} wrong, seed {seed}')
    return wrong > 0 or sum(played.values()) == 0


if __name__ == '__main__':
    sys.exit(main())
