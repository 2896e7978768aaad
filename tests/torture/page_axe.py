#!/usr/bin/env python3
"""page_axe.py AXE: axe-core looks at each view of the page of pitot serve, light and dark, on a desktop
and a phone. Prints TAP."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'web'))
import browser as browsers

VIEWS = ['flamegraph', 'flamegraph?in-order=t', 'flamegraph?inverted=t', 'top', 'tree', 'peek?p=parse', 'source?p=parse',
         'disasm?p=parse', 'graph', 'timeline', 'why', 'traces', 'tags', 'info']
SIZES = [(1280, 800), (390, 844)]


def serve(folder, *words):
    """Starts a server; (process, address before the views)."""
    process = subprocess.Popen([os.environ['PITOT'], 'serve', '--no-browser', *words], cwd=folder,
                               stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if 'http://' in line:
            return process, line[line.index('http://'):].split()[0]
    raise AssertionError(f'{words}: nothing is served')


def write_profile(folder):
    """A second of samples with times."""
    with open(os.path.join(folder, 'timed.txt'), 'w') as f:
        for ms in range(1000):
            name = 'read' if ms % 3 else 'write'
            f.write(f'app 7/{8 + ms % 2} [000] {500 + ms / 1000:.6f}: 1000000 cpu-clock:\n\t401000 {name}+0x1 (/app)\n'
                    '\t401100 parse+0x1 (/app)\n\t401200 main+0x1 (/app)\n\n')


def findings(page, axe):
    page.eval(axe)
    return page.eval('axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => '
                     'v.id + ": " + v.nodes.map(n => n.target.join(" ")).slice(0, 3).join(", ")))')


def main():
    with open(sys.argv[1]) as f:
        axe = f.read() + ';0'
    failed = number = 0
    with tempfile.TemporaryDirectory(prefix='pitot-axe.') as folder, browsers.Browser() as browser:
        write_profile(folder)
        process, printed = serve(folder, 'timed.txt')
        compared, base = serve(folder, '--base=timed.txt', 'timed.txt')
        try:
            for address, views in [(printed, VIEWS), (base, ['flamegraph', 'diff'])]:
                browser.open(address)
                start = address[:address.index('/?t=')]
                for view in views:
                    for width, height in SIZES:
                        for dark in (False, True):
                            number += 1
                            page = browser.open(f'{start}/ui/{view}', width, height, dark)
                            found = findings(page, axe)
                            page.close()
                            look = f'{view} {width} {"dark" if dark else "light"}{" of a difference" if address == base else ""}'
                            print(''.join(f'# {json.dumps(line)}\n' for line in found), end='')
                            print(f'{"not ok" if found else "ok"} {number} - nothing is found on {look}', flush=True)
                            failed += bool(found)
            page = browser.open(printed[:printed.index('/?t=')] + '/ui/top')
            page.eval('document.body.append(document.createElement("img"))')
            seen = any(line.startswith('image-alt') for line in findings(page, axe))
            number += 1
            failed += not seen
            print(f'{"ok" if seen else "not ok"} {number} - a picture without words is found')
        finally:
            for each in (process, compared):
                each.terminate()
                each.wait()
    print(f'1..{number}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
