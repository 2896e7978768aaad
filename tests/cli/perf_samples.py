"""perf_samples.py perf|pitot FILE: the samples of a perf.data, a line each, sorted, to be compared.

    perf    what `perf script --ns -F tid,time,event,period,ip` printed
    pitot   what `pitot dump --raw --symbols=off` printed

A line is thread, time in ns, event without its modifiers, period, and the addresses from the
innermost outwards: those of a call chain as offsets in their file, which is how perf prints them;
of a sample without one only the place in its page, since pitot has an image once that several
processes mapped at several places. Samples of period 0 are left out. `flat` before FILE says that there are no chains. With `totals` only
the number of samples and the sum of their periods, a line an event.
"""
import re
import sys

HEAD = re.compile(r'^\s*(-?\d+)\s+(\d+)\.(\d{9}):\s+(\d+)\s+(.+?):\s*([0-9a-f]+)?\s*$')


def plain(event):
    """Without modifiers, which perf takes from the attr and pitot shows in part."""
    return re.sub(r':[a-zA-Z]*$', '', event).rstrip(':')


def in_page(addr):
    return f'page+{int(addr, 16) & 0xfff:x}'


def of_perf(lines):
    sample = None
    for line in lines:
        head = HEAD.match(line)
        if head:
            if sample:
                yield sample
            tid, seconds, ns, period, event, ip = head.groups()
            sample = [tid, str(int(seconds) * 10 ** 9 + int(ns)), plain(event), period,
                      [in_page(ip)] if ip else []]
        elif sample and line.strip():
            sample[4].append(line.split()[0])
    if sample:
        yield sample


def tables(lines):
    """Of a dump: name -> rows, each a list of columns without its number."""
    rows = {}
    current = None
    for line in lines:
        if re.match(r'^[a-z]+ \d+$', line):
            current = rows.setdefault(line.split()[0], [])
        elif line and not line.startswith('#') and current is not None:
            current.append(line.rstrip('\n').split('\t')[1:])
    return rows


def address(row, mappings):
    addr, flags = int(row[1], 16), int(row[3])
    mapping = mappings[int(row[0])] if row[0] != '-' else None
    if mapping and not flags & 4 and mapping[5] != '"[anon:jit]"':
        addr += int(mapping[2], 16) - int(mapping[0], 16)
    return f'{addr:x}'


def of_pitot(lines):
    t = tables(line.rstrip('\n') for line in lines)
    events = [row[0].strip('"') for row in t['event']]
    for stack, _, values, time, _, tid, *_ in t['sample']:
        frames = t['stack'][int(stack)][0].split()
        chain = [address(t['location'][int(f)], t['mapping']) for f in frames]
        if 'flat' in sys.argv:
            chain = [in_page(chain[0])]
        for event, value in list(zip(events, values.split()))[1:]:
            if value != '0':
                tid = '-1' if tid == '-' else tid
                yield [tid, '0' if time == '-' else time, plain(event), value, chain]


def main():
    what, path = sys.argv[1], sys.argv[-1]
    with open(path, errors='replace') as f:
        samples = list((of_perf if what == 'perf' else of_pitot)(f))
    samples = [s for s in samples if s[3] != '0']
    if 'totals' in sys.argv:
        for event in sorted({s[2] for s in samples}):
            of_event = [int(s[3]) for s in samples if s[2] == event]
            print(event, len(of_event), sum(of_event))
        return
    for tid, time, event, period, chain in sorted(samples, key=str):
        print(tid, time, event, period, ' '.join(chain))


main()
