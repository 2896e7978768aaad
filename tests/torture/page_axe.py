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
         'disasm?p=parse', 'graph', 'timeline', 'why', 'traces', 'tags', 'info', 'timeline?time=0.2,0.4&base-time=0.5,0.7',
         'diff?time=0.2,0.4&base-time=0.5,0.7', 'flamegraph?time=0.2,0.4&base-time=0.5,0.7']
# What is open on a view: its name, and how it is opened.
OPEN = [('the downloads', 'document.querySelector("#downloads summary").click()'),
        ('the questions', 'document.querySelector("#questions summary").click()'),
        ('the menu of a name', '[...document.querySelectorAll("td.name button")].find(e => e.dataset.name === "read").click()'),
        ('the choice of a file', 'document.querySelector("#open").click()'),
        ('the filters', 'document.querySelector("#filters").open = true')]
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


def looks():
    return [(width, height, dark) for width, height in SIZES for dark in (False, True)]


def main():
    with open(sys.argv[1]) as f:
        axe = f.read() + ';0'
    failed = number = 0

    def judge(page, what):
        nonlocal failed, number
        found = findings(page, axe)
        number += 1
        failed += bool(found)
        print(''.join(f'# {json.dumps(line)}\n' for line in found), end='')
        print(f'{"not ok" if found else "ok"} {number} - nothing is found on {what}', flush=True)
        page.close()

    with tempfile.TemporaryDirectory(prefix='pitot-axe.') as folder, browsers.Browser() as browser:
        write_profile(folder)
        process, printed = serve(folder, 'timed.txt')
        compared, base = serve(folder, '--base=timed.txt', 'timed.txt')
        growing, live = serve(folder, '--live', 'timed.txt')
        try:
            for address, views in [(printed, VIEWS), (base, ['flamegraph', 'diff'])]:
                browser.open(address)
                start = address[:address.index('/?t=')]
                for view in views:
                    for width, height, dark in looks():
                        look = f'{view} {width} {"dark" if dark else "light"}{" of a difference" if address == base else ""}'
                        judge(browser.open(f'{start}/ui/{view}', width, height, dark), look)
            start = printed[:printed.index('/?t=')]
            for what, opened in OPEN:
                for width, height, dark in looks():
                    page = browser.open(f'{start}/ui/top', width, height, dark)
                    page.eval(opened)
                    judge(page, f'{what} {width} {"dark" if dark else "light"}')
            for width, height, dark in looks():
                page = browser.open(f'{start}/ui/flamegraph', width, height, dark)
                page.key('?')
                page.wait('document.querySelector("dialog[open]") !== null')
                judge(page, f'the keys {width} {"dark" if dark else "light"}')
            browser.open(live)
            for width, height, dark in looks():
                page = browser.open(live[:live.index('/?t=')] + '/ui/top', width, height, dark)
                page.wait('document.querySelector("#live").textContent === "live"')
                judge(page, f'a profile that grows {width} {"dark" if dark else "light"}')
            page = browser.open(printed[:printed.index('/?t=')] + '/ui/top')
            page.eval('document.body.append(document.createElement("img"))')
            seen = any(line.startswith('image-alt') for line in findings(page, axe))
            number += 1
            failed += not seen
            print(f'{"ok" if seen else "not ok"} {number} - a picture without words is found')
        finally:
            for each in (process, compared, growing):
                each.terminate()
                each.wait()
    print(f'1..{number}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
