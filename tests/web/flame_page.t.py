#!/usr/bin/env python3
"""flame_page.t.py: the flame graph's page and picture in a real browser, used by keys and pointer. Prints TAP.

The pages under test are web/dist/flame.html with data written here, as docs/flame-data.md describes them,
and what `pitot flame` writes. Numbers expected are arithmetic on the stacks below.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers

ROOT = os.environ.get('PITOT_ROOT') or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PITOT = os.environ.get('PITOT') or os.path.join(ROOT, 'build', 'pitot')

# all 100: main 75 (f 60: f 20, g 30, f itself 10; main itself 15), idle 25
STACKS = {'main;f;g': 30, 'main;f;f': 20, 'main;f': 10, 'main': 15, 'idle': 25}
HOSTILE = ['</script><script>window.broken=1</script>', '<img src=x onerror="window.broken=1">',
           'line\u2028separator', "'\"&amp;\\", '__proto__', 'constructor', '$& $1 @@DATA@@']


def tree_of(stacks):
    """Nodes in preorder as rows (parent, name, self, total), widest first."""
    root = {'self': 0, 'total': 0, 'under': {}}
    for stack, value in stacks.items():
        node = root
        node['total'] += value
        for name in stack if isinstance(stack, tuple) else stack.split(';'):
            node = node['under'].setdefault(name, {'self': 0, 'total': 0, 'under': {}})
            node['total'] += value
        node['self'] += value
    rows, waiting = [], [(0, 'all', root)]
    while waiting:
        parent, name, node = waiting.pop()
        rows.append((parent, name, node['self'], node['total']))
        mine = len(rows) - 1
        waiting += [(mine, n, c) for n, c in
                    sorted(node['under'].items(), key=lambda item: (item[1]['total'], item[0]))]
    return rows


def data_of(rows, schema=1, cut=0, whole=0):
    names = sorted({name for _, name, _, _ in rows} - {'all'})
    strings = ['', 'all', 'app'] + names
    frame = {name: i + 1 for i, name in enumerate(names)}
    count = len(names) + 1
    return {
        'schema': schema, 'title': 'test.pb.gz', 'event': {'type': 'cpu', 'unit': 'nanoseconds'},
        'total': rows[0][3], 'whole': whole or rows[0][3], 'facts': ['5 distinct stacks'], 'strings': strings,
        'groups': {'name': [0, 2], 'hue': [0, 5]},
        'frames': {'name': [1] + [3 + i for i in range(len(names))], 'file': [0] * count,
                   'line': [0] * count, 'module': [2] * count, 'group': [0] + [1] * len(names),
                   'kind': [0] * count, 'shade': [i % 3 for i in range(count)]},
        'nodes': {'parent': [r[0] for r in rows],
                  'frame': [0 if i == 0 else frame[r[1]] for i, r in enumerate(rows)],
                  'self': [r[2] for r in rows], 'total': [r[3] for r in rows]},
        'cut': {'nodes': 1 if cut else 0, 'total': cut},
        'functions': {'name': [], 'self': [], 'total': [], 'more': 0},
    }


def page_of(name, data):
    with open(os.path.join(ROOT, 'web', 'dist', 'flame.html')) as f:
        template = f.read()
    path = os.path.join(FOLDER, name)
    with open(path, 'w') as f:
        f.write(template.replace('@@DATA@@', json.dumps(data).replace('<', '\\u003c')))
    return path


def equal(is_, should):
    assert is_ == should, f'{is_!r} is not {should!r}'


def contains(text, part):
    assert part in text, f'{text!r} has no {part!r}'


def small(browser, **options):
    return browser.open(page_of('small.html', data_of(tree_of(STACKS))), **options)


def focus_graph(page):
    page.eval('document.getElementById("canvas").focus()')


def crumbs(page):
    return page.eval('Array.from(document.querySelectorAll("#crumbs li")).map(e => e.textContent)')


# --- the tests: each is a sentence

def the_page_opens_from_a_file_and_nothing_complains(browser):
    page = small(browser)
    equal(page.eval('document.title'), 'test.pb.gz – pitot flame')
    contains(page.text('#facts'), 'cpu: 100ns')
    contains(page.text('#facts'), '5 distinct stacks')
    equal(browser.complaints, [])


def arrow_keys_read_out_each_box_with_its_share(browser):
    page = small(browser)
    focus_graph(page)
    for key, name, total, self_ in [('ArrowDown', 'all', '100ns (100.0%)', '0 (0%)'),
                                    ('ArrowDown', 'main', '75.0ns (75.0%)', '15.0ns (15.0%)'),
                                    ('ArrowRight', 'idle', '25.0ns (25.0%)', '25.0ns (25.0%)'),
                                    ('ArrowLeft', 'main', '75.0ns (75.0%)', '15.0ns (15.0%)'),
                                    ('ArrowDown', 'f', '60.0ns (60.0%)', '10.0ns (10.0%)'),
                                    ('ArrowDown', 'g', '30.0ns (30.0%)', '30.0ns (30.0%)'),
                                    ('ArrowUp', 'f', '60.0ns (60.0%)', '10.0ns (10.0%)')]:
        page.key(key)
        equal(page.text('#details strong'), name)
        contains(page.text('#details'), f'total {total}')
        contains(page.text('#details'), f'self {self_}')


def enter_zooms_and_escape_resets(browser):
    page = small(browser)
    focus_graph(page)
    for key in ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter']:
        page.key(key)
    equal(crumbs(page), ['all', 'main', 'f'])
    contains(page.eval('location.hash'), 'zoom=')
    contains(page.text('#details'), '100.0% of the zoom')
    page.key('Backspace')
    equal(crumbs(page), ['all', 'main'])
    page.key('Escape')
    equal(crumbs(page), ['all'])


def a_click_zooms_into_the_box_under_the_pointer_and_back_undoes_it(browser):
    page = small(browser)
    left, top, width, _ = page.box_of('#canvas')
    page.click(left + width * 0.9, top + 30)  # row 1: idle is the last quarter
    equal(crumbs(page), ['all', 'idle'])
    page.eval('history.back()')
    page.wait('document.querySelectorAll("#crumbs li").length === 1')
    page.click(left + width * 0.55, top + 50)  # row 2: f ends at 0.6
    equal(crumbs(page), ['all', 'main', 'f'])
    page.eval('document.querySelectorAll("#crumbs button")[1].click()')
    equal(crumbs(page), ['all', 'main'])


def the_pointer_shows_a_box_and_nothing_beside_it(browser):
    page = small(browser)
    left, top, width, _ = page.box_of('#canvas')
    page.move(left + width * 0.1, top + 70)  # row 3: g is 0 to 0.3, f 0.3 to 0.5
    equal(page.text('#tip strong'), 'g')
    contains(page.text('#details'), 'total 30.0ns (30.0%)')
    page.move(left + width * 0.4, top + 70)
    equal(page.text('#tip strong'), 'f')
    page.move(left + width * 0.55, top + 70)
    equal(page.eval('document.getElementById("tip").hidden'), True)


def search_counts_nested_matches_once(browser):
    page = small(browser)
    page.key('/')
    page.type('f')
    equal(page.text('#matches'), '60.0% in 2 boxes')
    equal(page.eval('location.hash'), '#find=f')
    page.key('Enter')
    contains(page.text('#details'), 'total 60.0ns')
    page.key('n')
    contains(page.text('#details'), 'total 20.0ns')
    page.key('n')  # round the end
    contains(page.text('#details'), 'total 60.0ns')
    page.key('N')
    contains(page.text('#details'), 'total 20.0ns')


def search_takes_regular_expressions_and_says_what_is_none(browser):
    page = small(browser, fragment='#find=%5E(g%7Cidle)%24&regex=1')
    equal(page.text('#matches'), '55.0% in 2 boxes')
    page.eval('{ const f = document.getElementById("find"); f.value = "(";'
              ' f.dispatchEvent(new Event("input")); }')
    equal(page.text('#matches'), 'not a regular expression')
    equal(page.eval('document.getElementById("find").getAttribute("aria-invalid")'), 'true')


def what_was_cut_makes_shares_a_lower_bound(browser):
    rows = tree_of(STACKS)
    parent, name, self_, total = rows[1]
    equal(name, 'main')
    rows[1] = (parent, name, self_ - 5, total)  # 5 of main were in branches left out
    page = browser.open(page_of('cut.html', data_of(rows, cut=5)), fragment='#find=g')
    equal(page.text('#matches'), '≥ 30.0% in 1 box')
    contains(page.text('#uncounted'), '5.0%')
    contains(page.text('#facts'), '1 narrow branch left out (5.0%)')


def shares_are_of_the_whole_when_a_part_is_drawn(browser):
    page = browser.open(page_of('part.html', data_of(tree_of(STACKS), whole=200)), fragment='#find=f')
    equal(page.text('#matches'), '30.0% in 2 boxes')
    focus_graph(page)
    page.key('ArrowDown')
    contains(page.text('#details'), 'total 100ns (50.0%)')
    equal(page.eval('document.querySelector("#rows td").textContent'), '15.0%')
    for key in ['ArrowDown', 'Enter']:
        page.key(key)
    equal(page.text('#matches'), '80.0% of the zoom in 2 boxes')


def the_address_keeps_zoom_and_search(browser):
    first = small(browser)
    focus_graph(first)
    for key in ['ArrowDown', 'ArrowDown', 'Enter', '/']:
        first.key(key)
    first.type('g')
    again = small(browser, fragment=first.eval('location.hash'))
    equal(crumbs(again), ['all', 'main'])
    equal(again.text('#matches'), '40.0% of the zoom in 1 box')
    for fragment in ['#zoom=99999', '#zoom=-1', '#zoom=x&find', '#zoom=1e99', '#%']:
        equal(crumbs(small(browser, fragment=fragment)), ['all'])


def the_table_counts_a_function_that_calls_itself_once(browser):
    page = small(browser)
    rows = page.eval('Array.from(document.querySelectorAll("#rows tr")).map('
                     'r => Array.from(r.cells).map(c => c.textContent))')
    # f calls itself: 10 + 20 are its own, and 60 in all, not 80.
    equal(rows, [['30.0%', '60.0%', 'f'], ['30.0%', '30.0%', 'g'], ['25.0%', '25.0%', 'idle'],
                 ['15.0%', '75.0%', 'main']])
    page.eval('document.getElementById("by-total").click()')
    equal(page.eval('document.querySelector("#rows td.name").textContent'), 'main')
    page.eval('document.querySelectorAll("#rows button")[3].click()')
    contains(page.text('#matches'), 'in 1 box')


def totals_that_no_stack_tells_are_a_dash(browser):
    data = data_of(tree_of({'f': 60, 'g': 40}))
    data['totals_known'] = False
    page = browser.open(page_of('stackless.html', data))
    rows = page.eval('Array.from(document.querySelectorAll("#rows tr")).map('
                     'r => Array.from(r.cells).map(c => c.textContent))')
    equal(rows, [['60.0%', '-', 'f'], ['40.0%', '-', 'g']])


def pixel(page, x, y):
    page.painted()
    return page.eval('(() => { const c = document.getElementById("canvas"), k = devicePixelRatio;'
                     f' return Array.from(c.getContext("2d").getImageData({x} * k, {y} * k, 1, 1).data);'
                     ' })()')


def boxes_are_painted_where_they_should_be(browser):
    page = small(browser)
    _, _, width, _ = page.box_of('#canvas')
    equal(pixel(page, round(width * 0.62), 50), [255, 255, 255, 255])  # beside f: main's own time
    for x in (0.5, 0.59):
        assert pixel(page, round(width * x), 50) != [255, 255, 255, 255]


def the_table_of_everything_counts_what_was_cut(browser):
    data = data_of(tree_of({'main': 90}) , cut=10)
    data['nodes']['total'] = [100, 100]
    data['total'] = data['whole'] = 100
    data['functions'] = {'name': [data['strings'].index('main')], 'self': [97], 'total': [100],
                         'more': 1234}
    page = browser.open(page_of('exact.html', data))
    equal(page.eval('Array.from(document.querySelectorAll("#rows td")).map(c => c.textContent)'),
          ['97.0%', '100.0%', 'main'])
    equal(page.text('#more'), '1,234 more')
    contains(page.text('#uncounted'), 'The colours below are without the 10.0%')
    focus_graph(page)
    for key in ['ArrowDown', 'ArrowDown', 'Enter']:
        page.key(key)
    equal(page.text('#rows td'), '90.0%')
    contains(page.text('#uncounted'), '10.0%')


def what_is_too_narrow_leaves_a_bar(browser):
    stacks = {'main': 500, **{('main', f'f{i}'): 1 for i in range(4500)}}
    rows = tree_of(stacks)
    page = browser.open(page_of('narrow.html', data_of(rows)))
    _, _, width, _ = page.box_of('#canvas')
    assert pixel(page, round(width * 0.5), 42) != [255, 255, 255, 255]
    equal(pixel(page, round(width * 0.5), 50), [255, 255, 255, 255])
    equal(pixel(page, round(width * 0.95), 42), [255, 255, 255, 255])  # main's own
    rows[1:] = [(0, 'main', 500, 5000)]  # the same, left out of the data
    page = browser.open(page_of('left-out.html', data_of(rows, cut=4500)))
    assert pixel(page, round(width * 0.5), 42) != [255, 255, 255, 255]
    equal(pixel(page, round(width * 0.95), 42), [255, 255, 255, 255])


def light_and_dark_follow_the_system_until_toggled(browser):
    background = 'getComputedStyle(document.body).backgroundColor'
    page = small(browser, dark=True)
    equal(page.eval(background), 'rgb(21, 23, 27)')
    page.key('t')
    equal(page.eval(background), 'rgb(255, 255, 255)')
    page = small(browser)
    equal(page.eval(background), 'rgb(255, 255, 255)')
    page.key('t')
    equal(page.eval(background), 'rgb(21, 23, 27)')


def the_root_can_stand_below(browser):
    page = small(browser)
    page.key('i')
    left, top, width, height = page.box_of('#canvas')
    page.click(left + width * 0.9, top + height - 30)
    equal(crumbs(page), ['all', 'idle'])
    contains(page.eval('location.hash'), 'up=1')


def help_opens_by_its_key_and_takes_the_keys(browser):
    page = small(browser)
    page.key('?')
    equal(page.eval('document.getElementById("help").open'), True)
    page.key('t')
    equal(page.eval('document.documentElement.dataset.theme'), None)
    page.key('Escape')
    page.wait('!document.getElementById("help").open')


def hostile_names_stay_text(browser):
    page = browser.open(page_of('hostile.html', data_of(tree_of({(n,): 10 for n in HOSTILE}))))
    shown = page.eval('Array.from(document.querySelectorAll("#rows button")).map(e => e.title)')
    equal(sorted(shown), sorted(HOSTILE))
    focus_graph(page)
    page.key('ArrowDown')
    page.key('ArrowDown')
    page.eval('for (const b of document.querySelectorAll("#rows button")) b.click()')
    equal(page.eval('window.broken'), None)
    equal(page.eval('document.images.length'), 0)
    equal(browser.complaints, [])


def sixty_thousand_boxes_can_be_searched_and_zoomed(browser):
    stacks = {}
    for a in range(40):
        for b in range(30):
            for c in range(49):
                stacks[('main', f'a{a}', f'b{b}', f'c{c}')] = 1 + (a * b * c) % 7
    rows = tree_of(stacks)
    equal(len(rows), 2 + 40 + 40 * 30 + 40 * 30 * 49)
    page = browser.open(page_of('large.html', data_of(rows)))
    page.key('/')
    page.type('c48')
    share = 100 * sum(v for s, v in stacks.items() if s[3] == 'c48') / sum(stacks.values())
    equal(page.text('#matches'), f'{share:.1f}% in 1,200 boxes')
    page.key('Enter')
    page.key('Enter')
    equal(crumbs(page)[-1], 'c48')


def a_very_deep_stack_scrolls_to_its_leaf(browser):
    page = browser.open(page_of('deep.html', data_of(tree_of({tuple(
        f'level{i}' for i in range(20000)): 7}))))
    page.key('/')
    page.type('level19999')
    page.key('Enter')
    equal(page.text('#details strong'), 'level19999')
    page.painted()
    assert page.eval('document.getElementById("frame").scrollTop') > 390000


def nothing_overflows_on_a_narrow_screen(browser):
    page = small(browser, width=400, height=800)
    assert page.eval('document.documentElement.scrollWidth') <= 400


def a_profile_without_samples_says_so(browser):
    page = browser.open(page_of('empty.html', data_of([(0, 'all', 0, 0)])))
    equal(page.eval('document.getElementById("empty").hidden'), False)
    equal(browser.complaints, [])


def data_of_another_schema_are_refused_in_words(browser):
    page = browser.open(page_of('schema.html', data_of(tree_of(STACKS), schema=2)))
    contains(page.text('.broken'), 'schema 1, not 2')


def pitot_flame(extension):
    """The file that pitot makes of STACKS."""
    folded = os.path.join(FOLDER, 'stacks.folded')
    with open(folded, 'w') as f:
        f.writelines(f'{stack} {value}\n' for stack, value in STACKS.items())
    path = os.path.join(FOLDER, f'made.{extension}')
    done = subprocess.run([PITOT, 'flame', folded, '-o', path], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    equal((done.returncode, done.stdout if done.returncode else ''), (0, ''))
    return path


def the_page_that_pitot_writes_shows_the_profile(browser):
    page = browser.open(pitot_flame('html'))
    focus_graph(page)
    for key in ['ArrowDown', 'ArrowDown', 'ArrowDown']:
        page.key(key)
    equal(page.text('#details strong'), 'f')
    contains(page.text('#details'), '(60.0%)')
    page.key('Enter')
    equal(crumbs(page), ['all', 'main', 'f'])
    equal(browser.complaints, [])


def svg_box(page, name, row):
    """The place of the box of this name in this row, or None when it is not shown."""
    return page.eval(
        '(() => { for (const g of document.querySelectorAll("g.b")) {'
        ' const t = g.querySelector("title").textContent.split("\\n")[0];'
        ' const r = g.querySelector("rect"), at = k => Number(r.getAttribute(k));'
        f' if (t === {json.dumps(name)} && at("y") === 76 + 18 * {row})'
        ' return g.style.display === "none" ? null : [at("x"), at("width")]; } return null; })()')


def the_picture_that_pitot_writes_zooms_and_searches(browser):
    page = browser.open(pitot_flame('svg'))
    equal(svg_box(page, 'f', 2), [10, 708])  # 0.6 of 1180
    page.click(20, 76 + 18 * 2 + 5)
    equal(svg_box(page, 'f', 2), [10, 1180])
    equal(svg_box(page, 'g', 3), [10, 590])
    equal(svg_box(page, 'idle', 1), None)
    equal(svg_box(page, 'main', 1), [10, 1180])
    page.key('Escape')
    equal(svg_box(page, 'idle', 1), [895, 295])
    page.key('/')
    page.type('f')
    equal(page.text('.status'), '60.0% of all')
    page.key('Escape')
    for key in ['ArrowDown', 'ArrowRight', 'Enter']:
        page.key(key)
    equal(svg_box(page, 'idle', 1), [10, 1180])
    equal(browser.complaints, [])


TESTS = [
    the_page_opens_from_a_file_and_nothing_complains,
    arrow_keys_read_out_each_box_with_its_share,
    enter_zooms_and_escape_resets,
    a_click_zooms_into_the_box_under_the_pointer_and_back_undoes_it,
    the_pointer_shows_a_box_and_nothing_beside_it,
    search_counts_nested_matches_once,
    search_takes_regular_expressions_and_says_what_is_none,
    what_was_cut_makes_shares_a_lower_bound,
    shares_are_of_the_whole_when_a_part_is_drawn,
    the_address_keeps_zoom_and_search,
    the_table_counts_a_function_that_calls_itself_once,
    totals_that_no_stack_tells_are_a_dash,
    boxes_are_painted_where_they_should_be,
    the_table_of_everything_counts_what_was_cut,
    what_is_too_narrow_leaves_a_bar,
    light_and_dark_follow_the_system_until_toggled,
    the_root_can_stand_below,
    help_opens_by_its_key_and_takes_the_keys,
    hostile_names_stay_text,
    sixty_thousand_boxes_can_be_searched_and_zoomed,
    a_very_deep_stack_scrolls_to_its_leaf,
    nothing_overflows_on_a_narrow_screen,
    a_profile_without_samples_says_so,
    data_of_another_schema_are_refused_in_words,
    the_page_that_pitot_writes_shows_the_profile,
    the_picture_that_pitot_writes_zooms_and_searches,
]


def main():
    if browsers.find() is None:
        print('1..0 # SKIP chromium is not installed')
        return 0
    return browsers.run_tests(TESTS)


if __name__ == '__main__':
    with tempfile.TemporaryDirectory(prefix='pitot-page.') as FOLDER:
        sys.exit(main())
