#!/usr/bin/env python3
"""attack.t.py: a profile whose every string is an attack, in a real browser. Prints TAP.

Each page and picture that pitot serves or writes is opened. No script of the profile runs, nothing but the server and
the file itself is asked for, and no policy forbids what our own pages do. A listener counts what arrives all the same.
"""
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers

ROOT = os.environ.get('PITOT_ROOT') or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PITOT = os.environ.get('PITOT') or os.path.join(ROOT, 'build', 'pitot')

# A file of that name cannot hold a slash, so its script can only show a dialog.
PROFILE = '"><img src=x onerror=alert(1)>.pb'
NEEDS_PATTERN = ['peek', 'source', 'disasm', 'list']

hits = []  # what reached the listener


class Listener(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        hits.append(self.path)
        self.send_response(200)
        self.send_header('Access-Control-Allow-Origin', '*')
        self.end_headers()

    def log_message(self, *_):
        pass


def attacks(port):
    """Texts that would ask the listener for something if any writer or reader took them for more than text."""
    there = f'http://127.0.0.1:{port}/'
    script = f"fetch('{there}script');new Image().src='{there}image';top.location='{there}top'"
    return [
        f'</script><script>{script}</script>',
        f'"><img src=x onerror="{script}">',
        f"'><svg onload=\"{script}\">",
        'x"];stylesheet="x\\"?><svg xmlns=\\"http://www.w3.org/2000/svg\\"><script><![CDATA['
        f'{script}]]></script><![CDATA[\\"";N9[label="',
        f']]></style></script></title></text></svg><script>{script}</script>',
        f'javascript:{script}',
        f'x" URL="javascript:{script}" href="{there}href" y="\\',
        f'<style>@import "{there}css";*{{background:url({there}background)}}</style><link rel=stylesheet href={there}link>',
        f'<meta http-equiv=refresh content="0;url={there}refresh"><base href={there}><iframe src={there}frame></iframe>',
        f'\n<script>{script}</script>\r\n\x1b]0;title\x07\x1b[31m\u2028',
        f'&lt;script&gt;{script}&lt;/script&gt;&#60;img src=x onerror={script}&#62;',
        f'\\"+{script}+\\"\';{script}//`${{{script}}}`<!--<script>',
    ]


def pitot(*words, may_fail=False):
    done = subprocess.run([PITOT, *words], capture_output=True, text=True, errors='replace')
    assert may_fail or done.returncode == 0, f'{words}: {done.returncode} {done.stderr}'


def views():
    """All there are: the table of routes is the only place that lists them."""
    with open(os.path.join(ROOT, 'src/cmd/web_routes.c')) as f:
        table = re.search(r'pt_web_route routes\[\] = \{\n(.*?)\n\};', f.read(), re.S).group(1)
    names = re.findall(r'^    \{"([a-z-]+)",', table, re.M)
    assert len(names) >= 10 and set(NEEDS_PATTERN) < set(names), names
    return [name + '?p=.' if name in NEEDS_PATTERN else name for name in names]


def visit(browser, address, ready='document.readyState === "complete"', own=None):
    """Opens an address and lets it do what it wants; fails if that is more than it may."""
    browser.complaints.clear()
    browser.requests.clear()
    page = browser.open(address, ready=ready, watch=True)
    page.eval('new Promise(r => requestAnimationFrame(() => setTimeout(r)))')
    browser.send('Browser.getVersion')  # what the page has begun is told before this is answered
    if own is None:
        own = page.eval('location.href').split('#')[0]
    foreign = [r for r in browser.requests if not r.startswith(own) and not r.startswith('data:')]
    assert foreign == [], f'{address} asks for {foreign}'
    complaints = [c for c in browser.complaints if 'the server responded with a status of 404' not in c]
    assert complaints == [], f'{address}: {complaints}'
    assert browser.dialogs == [], f'{address} shows {browser.dialogs}'
    links = page.eval('[...document.querySelectorAll("a, area, form, base, link, iframe")].map(e => '
                      'e.getAttribute("href") || e.getAttribute("xlink:href") || e.getAttribute("action") || '
                      'e.getAttribute("src") || "").filter(t => t !== "" && !/^[#/]/.test(t))')
    assert links == [], f'{address} leads to {links}'
    assert hits == [], f'{address}: {hits} arrived'
    page.close()


def the_listener_hears_what_a_page_asks_for(browser):
    with open('control.html', 'w') as f:
        f.write(f'<script>{attacks(PORT)[5][len("javascript:"):].split(";")[0]}.then(() => document.title = "asked")</script>')
    page = browser.open('control.html', ready='document.title === "asked"', watch=True)
    assert hits == ['/script'], hits
    assert any(r.endswith('/script') for r in browser.requests), browser.requests
    hits.clear()
    page.close()


def files_that_are_written_run_nothing_of_the_profile(browser):
    pitot('merge', PROFILE, PROFILE, '-o', 'before.pb.gz')
    written = [
        ['flame', '-o', 'flame.html', PROFILE],
        ['flame', '-o', 'flame.svg', PROFILE],
        ['graph', '--labels', '-o', 'graph.svg', PROFILE],
        ['graph', '--labels', '--by=file', '-o', 'file.svg', PROFILE],
        ['graph', '--labels', '--engine=own', '-o', 'own.svg', PROFILE],
        ['weblist', '.', '-o', 'weblist.html', PROFILE],
        ['report', '--base=before.pb.gz', '-o', 'report.html', PROFILE],
        ['flame', '--by=line', '-o', 'line.svg', PROFILE],
        ['graph', '--labels', '--by=line', '--engine=own', '-o', 'ownline.svg', PROFILE],
        ['pprof', '-svg', '-output=pprof.svg', PROFILE],
        ['pprof', '-svg', '-call_tree', '-lines', '-output=tree.svg', PROFILE],
        ['pprof', '-weblist=.', '-output=pprof.html', PROFILE],
    ]
    for words in written:
        name = next(w.split('=')[-1] for w in words if w.endswith(('.html', '.svg')))
        pitot(*words)
        visit(browser, name)
    with open('perl.svg', 'wb') as f:
        subprocess.run([PITOT, 'google-pprof', '--svg', '/bin/true', PROFILE], stdout=f, stderr=subprocess.DEVNULL, check=True)
    visit(browser, 'perl.svg')


def pages_that_are_served_run_nothing_of_the_profile(browser):
    for command in [['serve', '--no-browser', '--base=before.pb.gz', PROFILE], ['pprof', '-http=localhost:', '-no_browser', PROFILE]]:
        process, printed = serve(command)
        try:
            url = printed[:printed.index('/?t=')]
            visit(browser, printed, READY, url)
            for view in views() if command[0] == 'serve' else ['graph', 'source?p=.']:
                visit(browser, f'{url}/ui/{view}', READY, url)
                visit(browser, f'{url}/api/{view}', own=url)
            visit(browser, f'{url}/api/graph?by=file', own=url)
            visit(browser, f'{url}/ui/graph?by=line&f=.', READY, url)
            for event in range(len(attacks(PORT))):
                visit(browser, f'{url}/api/graph?si={event}', own=url)
        finally:
            process.terminate()
            process.wait()


READY = 'document.documentElement.dataset.ready !== undefined'
TESTS = [
    the_listener_hears_what_a_page_asks_for,
    files_that_are_written_run_nothing_of_the_profile,
    pages_that_are_served_run_nothing_of_the_profile,
]


def serve(command):
    process = subprocess.Popen([PITOT, *command], stderr=subprocess.PIPE, text=True, errors='replace')
    for line in process.stderr:
        found = re.search(r'http://localhost\S+', line)
        if found:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, found.group()
    raise AssertionError('nothing is served')


def main():
    global PORT
    features = subprocess.run([PITOT, 'version', '--features'], capture_output=True, text=True)
    if browsers.find() is None or 'libmicrohttpd' not in features.stdout:
        print('1..0 # SKIP chromium or libmicrohttpd is not installed')
        return 0
    if shutil.which('dot') is None:
        print('# Graphviz is not installed: graphs are laid out by pitot')
    listener = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Listener)
    PORT = listener.server_address[1]
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix='pitot-attack.') as folder:
        os.chdir(folder)
        with open(PROFILE, 'wb') as f:
            subprocess.run([sys.executable, os.path.join(ROOT, 'tests/cli/hostile_profile.py'), *attacks(PORT)],
                           stdout=f, check=True)
        try:
            return browsers.run_tests(TESTS)
        finally:
            os.chdir('/')


if __name__ == '__main__':
    sys.exit(main())
