# weblist.t.sh: the page with source lines and instructions: what it says is what list and disasm
# say, it needs no other file, and nothing in a name or a source line is markup.
# Under the sanitizers: make asan.
. "$(dirname "$0")/lib.sh"

cat >work.cc <<'C'
static inline double square(double x)
{
    double y = 0;
    for (int i = 0; i < 50; i++) y += x * i; // <b>&amp;</b>
    return y;
}
__attribute__((noinline)) double run(int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += square(i);
    return s;
}
int main()
{
    return run(2000000) < 0;
}
C
can_record() { needs g++ python3; }
if command -v g++ >/dev/null; then
    g++ -g -O1 -o work work.cc
    pitot record -o work.pb.gz -- ./work 2>/dev/null
fi

# What the page shows, one line a row: "kind text".
cat >rows.py <<'P'
import sys
from html.parser import HTMLParser
class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.kind, self.text = None, ''
        self.external = []
    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        for key in 'src', 'href':
            if key in a and not a[key].startswith('#'):
                self.external.append(a[key])
        words = (a.get('class') or '').split()
        kind = 'source' if tag == 'summary' else 'call' if 'c' in words and tag == 'div' else \
            'asm' if 'a' in words and tag == 'div' else 'source' if 'r' in words and tag == 'div' \
            else 'function' if tag == 'h2' else None
        if kind:
            self.kind, self.text = kind, ''
    def handle_data(self, data):
        self.text += data
    def handle_endtag(self, tag):
        if self.kind and tag in ('summary', 'div', 'h2'):
            print(self.kind, self.text)
            self.kind = None
page = Page()
page.feed(open(sys.argv[1], encoding='utf-8').read())
assert not page.external, page.external
P

it 'writes a page that needs nothing else'
can_record && {
    run pitot weblist '^(run|square)$' work.pb.gz
    expect_status 0
    expect_stdout_line 'weblist.html: 2 functions, *'
    run python3 rows.py weblist.html
    expect_status 0
    expect_stdout_line 'function run */work.cc'
    expect_stdout_line 'function square */work.cc'
}

it 'shows what is inlined into a line under it, with its instructions'
can_record && {
    pitot weblist '^run$' work.pb.gz >said
    run python3 rows.py weblist.html
    expect_stdout_line 'source *10      for (int i = 0; i < n; i++) s += square(i);'
    expect_stdout_line 'call *> square  work.cc:4  for (int i*'
    expect_stdout_line 'asm * addsd *'
}

it 'has the values of list on its lines and those of disasm on its instructions'
can_record && {
    pitot weblist '^(run|main)$' --whole work.pb.gz >said
    python3 rows.py weblist.html >rows
    pitot list '^(run|main)$' --whole work.pb.gz >list
    pitot disasm '^run$' -C0 work.pb.gz >disasm
    expect python3 - <<'P'
import re
rows = [r.split(' ', 1) for r in open('rows').read().splitlines() if ' ' in r]
source = {t.strip() for k, t in rows if k == 'source'}
for line in open('list').read().splitlines()[4:]:
    m = re.match(r'^.*\d%\s+\d+ .*$', line)
    if m and '%' in line:
        assert line.strip() in source, line
asm = {' '.join(t.split()) for k, t in rows if k == 'asm'}
hot = [' '.join(l.split()) for l in open('disasm').read().splitlines()[5:] if '%' in l[:40] and ';' not in l]
assert hot
for line in hot:
    assert line in asm, line
P
}

it 'escapes what is markup in names and sources'
can_record && {
    pitot weblist square work.pb.gz >said
    expect grep -q '// &lt;b&gt;&amp;amp;&lt;/b&gt;' weblist.html
    printf 'main;<script>alert(1)</script> 3\n' >evil.folded
    run pitot weblist script evil.folded
    expect_status 0
    expect_equal 'elements named script' "$(grep -c '<script>' weblist.html)" 1
}

it 'works without the source and without the program'
can_record && {
    pitot convert --symbols=full work.pb.gz -o named.pb.gz
    mkdir -p away && mv work work.cc away/
    run pitot weblist '^run$' named.pb.gz -o named.html
    expect_status 0
    expect_stderr_line '*1 mapped file without code to show*work*'
    expect grep -q 'no source: ' named.html
    mv away/work away/work.cc .
}

it 'goes to standard output'
can_record && {
    run pitot weblist '^run$' -o - work.pb.gz
    expect_stdout_line '<!doctype html>'
}

it 'is shown by a browser, with a line opened by its key'
can_record && needs chromium && {
    pitot weblist '^run$' work.pb.gz >said
    # The page's policy lets no script run but its own: this one comes in its place.
    sed 's#<meta http-equiv="Content-Security-Policy"[^>]*>##; s#</body>#<script>document.dispatchEvent(new KeyboardEvent("keydown",{key:"e"}));document.dispatchEvent(new KeyboardEvent("keydown",{key:"n"}));document.title="open:"+document.querySelectorAll("details[open]").length+" at:"+(document.activeElement.tagName)</script></body>#' \
        weblist.html >keys.html
    timeout 500 chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$PWD/keys.html" 2>/dev/null >dom
    expect grep -q '<title>open:[1-9][0-9]* at:SUMMARY' dom
}

it 'says when nothing matches'
can_record && {
    run pitot weblist zebra work.pb.gz
    expect_status 3
    expect_stderr_line "*'zebra' matches no function*"
}
