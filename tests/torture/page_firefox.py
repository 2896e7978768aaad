#!/usr/bin/env python3
"""page_firefox.py: the page of pitot serve, and the file of pitot report, in Firefox. Prints TAP.

Numbers expected are arithmetic on the stacks below.
"""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../web'))
import firefox

PITOT = os.environ['PITOT']
STACKS = 'main;parse;read 300\nmain;parse 200\nmain;emit;write 400\nmain;emit;<b>x</b> 100\n'
ROWS = '[...document.querySelectorAll("tbody tr")].map(r => [...r.cells].slice(0, 5).map(c => c.textContent).join(" "))'


def equal(is_, should):
    assert is_ == should, f'{is_!r} is not {should!r}'


def complaints(browser):
    """But those of the icon that Firefox asks for by itself."""
    return [c for c in browser.complaints if 'favicon.ico' not in c]


def go_to(page, title, view):
    page.eval(f'[...document.querySelectorAll("#views a")].find(e => e.textContent === {title!r}).click()')
    page.wait(f'document.documentElement.dataset.ready === {view!r}')


def drop(page, name, content):
    page.eval('(() => { const d = new DataTransfer(); const bytes = Uint8Array.from(atob("' + base64.b64encode(content).decode() + '"), '
              'c => c.charCodeAt(0)); d.items.add(new File([bytes], ' + json.dumps(name) + '));'
              'document.querySelector("#content").dispatchEvent(new DragEvent("drop", {dataTransfer: d, bubbles: true, cancelable: true})); })()')
    page.wait('document.querySelector("#title")?.textContent === ' + json.dumps(name) + ' && document.documentElement.dataset.ready === "flamegraph"')


def every_view_shows(browser):
    page = browser.open(PRINTED)
    equal(page.eval('location.pathname + location.search'), '/ui/')
    equal(page.text('.facts li'), 'samples: 1,000')
    for title, view in [('Top', 'top'), ('Tree', 'tree'), ('Callers, callees', 'peek'), ('Source', 'source'), ('Instructions', 'disasm'), ('Graph', 'graph'),
                        ('Why', 'why'), ('Stacks', 'traces'), ('Labels', 'tags'), ('About', 'info')]:
        go_to(page, title, view)
    go_to(page, 'Top', 'top')
    equal(page.eval(ROWS), ['400 40.0% 400 40.0% write', '300 30.0% 300 30.0% read', '200 20.0% 500 50.0% parse',
                            '100 10.0% 100 10.0% <b>x</b>', '0 0% 1,000 100.0% main', '0 0% 500 50.0% emit'])
    equal(complaints(browser), [])


def a_box_is_zoomed_by_the_pointer_and_back_undoes_it(browser):
    page = browser.open(URL + '/ui/')
    left, top, width = page.eval('(c => [c.left, c.top, c.width])(document.querySelector("#canvas").getBoundingClientRect())')
    page.click(left + width / 4, top + 50)
    page.wait('!document.querySelector("#selection").hidden')
    equal(page.text('#chosen'), 'emit')  # as wide as parse, and before it by its name
    equal(page.eval('new URLSearchParams(location.search).get("zoom")'), 'main;emit')
    page.key('Escape')
    page.wait('document.querySelector("#selection").hidden')
    page.eval('history.back()')
    page.wait('new URLSearchParams(location.search).get("zoom") === null')
    page.eval('history.forward()')
    page.wait('document.querySelector("#crumbs li:last-child").textContent === "emit"')
    equal(complaints(browser), [])


def a_name_leads_to_its_callers_by_the_keyboard(browser):
    page = browser.open(URL + '/ui/top')
    page.eval('[...document.querySelectorAll("td.name button")].find(e => e.textContent === "parse").click()')
    equal(page.eval('document.activeElement.dataset.do'), 'flame')
    page.key('ArrowDown')
    page.key('Enter')
    page.wait('document.documentElement.dataset.ready === "peek"')
    equal(page.text('.sandwich h2'), 'parse total 500 (50.0%), self 200 (20.0%)')
    equal(page.eval(ROWS), ['500 100.0% main', '300 60.0% read'])


def files_are_dropped_on_the_page_and_on_a_report(browser):
    page = browser.open(URL + '/ui/')
    drop(page, 'b.folded', b'main;other 7\n')
    go_to(page, 'Top', 'top')
    equal(page.eval(ROWS), ['7 100.0% 7 100.0% other', '0 0% 7 100.0% main'])
    report = browser.open('file://' + os.path.join(FOLDER, 'report.html'))
    with open(os.path.join(FOLDER, 'a.pb.gz'), 'rb') as f:
        drop(report, 'a.pb.gz', f.read())
    go_to(report, 'Top', 'top')
    equal(report.eval(ROWS)[0], '400 40.0% 400 40.0% write')
    equal(complaints(browser), [])


def a_large_graph_is_painted_and_zoomed(browser):
    """Says how long: no test, since a machine may be busy."""
    started = time.monotonic()
    page = browser.open(LARGE)
    shown = time.monotonic() - started
    frames = page.eval('''new Promise(done => { const c = document.querySelector("#canvas"); const times = []; let last = performance.now(), n = 0;
        const step = () => { const now = performance.now(); times.push(now - last); last = now;
            c.focus(); c.dispatchEvent(new KeyboardEvent("keydown", {key: n % 2 ? "Escape" : "Enter", bubbles: true}));
            ++n < 40 ? requestAnimationFrame(step) : done(times.slice(1)); };
        c.focus(); c.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true})); requestAnimationFrame(step); })''')
    frames.sort()
    print(f'# 100,000 stacks: shown after {shown:.2f} s, a frame of zooming {frames[len(frames) // 2]:.1f} ms (median), {frames[-1]:.1f} ms (worst)')
    equal(page.text('.facts li'), 'samples: 100,000')


TESTS = [every_view_shows, a_box_is_zoomed_by_the_pointer_and_back_undoes_it, a_name_leads_to_its_callers_by_the_keyboard,
         files_are_dropped_on_the_page_and_on_a_report, a_large_graph_is_painted_and_zoomed]


def pitot(*words):
    subprocess.run([PITOT, *words], cwd=FOLDER, capture_output=True, check=True)


def serve(name):
    process = subprocess.Popen([PITOT, 'serve', '--no-browser', name], cwd=FOLDER, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        found = re.search(r'http://\S+', line)
        if found:
            return process, found.group()
    raise AssertionError('nothing is served')


def run_tests():
    failed = 0
    with firefox.Firefox() as browser:
        print(f'# Firefox {browser.version}')
        for number, test in enumerate(TESTS, 1):
            browser.complaints.clear()
            try:
                test(browser)
            except (AssertionError, OSError, firefox.FirefoxError) as error:
                failed += 1
                print(f'# {error}\nnot ok {number} - {test.__name__}', flush=True)
            else:
                print(f'ok {number} - {test.__name__}', flush=True)
    print(f'1..{len(TESTS)}')
    return 1 if failed else 0


def main():
    global PRINTED, URL, LARGE, FOLDER
    with tempfile.TemporaryDirectory(prefix='pitot-firefox-test.') as FOLDER:
        with open(os.path.join(FOLDER, 'a.folded'), 'w') as f:
            f.write(STACKS)
        with open(os.path.join(FOLDER, 'large.folded'), 'w') as f:
            f.writelines(f'main;a{i % 10};b{i % 300};c{i % 9000};d{i} 1\n' for i in range(100000))
        pitot('report', 'a.folded', '-o', 'report.html')
        pitot('convert', '--to=pprof', '-o', 'a.pb.gz', 'a.folded')
        servers = [serve('a.folded'), serve('large.folded')]
        PRINTED, LARGE = (printed for _, printed in servers)
        URL = PRINTED[:PRINTED.index('/?t=')]
        try:
            return run_tests()
        finally:
            for process, _ in servers:
                process.terminate()
                process.wait()


if __name__ == '__main__':
    sys.exit(main())
