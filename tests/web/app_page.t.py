#!/usr/bin/env python3
"""app_page.t.py: the page of pitot serve in a real browser, used by keys and pointer. Prints TAP.

Numbers expected are arithmetic on the stacks below.
"""
import base64
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers

ROOT = os.environ.get('PITOT_ROOT') or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PITOT = os.environ.get('PITOT') or os.path.join(ROOT, 'build', 'pitot')

# of 1000: main 1000 (parse 500: read 300; emit 500: write 400), and a name that is markup
STACKS = {'main;parse;read': 300, 'main;parse': 200, 'main;emit;write': 400,
          'main;emit;<b>x</b>': 100}


def equal(is_, should):
    assert is_ == should, f'{is_!r} is not {should!r}'


def contains(text, part):
    assert part in text, f'{part!r} is not in {text!r}'


def click(page, selector):
    page.eval(f'document.querySelector({selector!r}).click()')


def click_text(page, selector, text):
    page.eval(f'[...document.querySelectorAll({selector!r})].find(e => e.textContent === {text!r})'
              '.click()')


def waits(page, expression):
    page.wait(expression)


def rows(page):
    return page.eval('[...document.querySelectorAll("tbody tr")].map(r => '
                     '[...r.cells].slice(0, 5).map(c => c.textContent).join(" "))')


def address(page):
    return page.eval('location.pathname + location.search')


def ready(page, view):
    waits(page, f'document.documentElement.dataset.ready === {view!r}')


def the_printed_address_leads_to_the_page_and_is_not_needed_again(browser):
    for printed in reversed(ALL_PRINTED):
        page = browser.open(printed)
        equal(address(page), '/ui/')
    page = browser.open(URL + '/ui/top')
    equal(page.eval('document.cookie'), '')
    equal(browser.complaints, [])


def the_table_shows_functions_by_their_own_time(browser):
    page = browser.open(URL + '/ui/top')
    equal(rows(page), ['400 40.0% 400 40.0% write', '300 30.0% 300 30.0% read',
                       '200 20.0% 500 50.0% parse', '100 10.0% 100 10.0% <b>x</b>',
                       '0 0% 1,000 100.0% main', '0 0% 500 50.0% emit'])
    equal(page.text('#title'), 'a.folded')
    equal(browser.complaints, [])


def a_column_sorts_and_sorts_the_other_way(browser):
    page = browser.open(URL + '/ui/top')
    click_text(page, 'th button', 'Total')
    equal(rows(page)[0], '0 0% 1,000 100.0% main')
    click_text(page, 'th button', 'Total')
    equal(rows(page)[0], '100 10.0% 100 10.0% <b>x</b>')
    click_text(page, 'th button', 'Function')
    equal(rows(page)[0], '100 10.0% 100 10.0% <b>x</b>')


def a_chosen_function_is_focused_on_and_back_undoes_it(browser):
    page = browser.open(URL + '/ui/top')
    click_text(page, 'td.name button', 'parse')
    equal(page.text('#chosen'), 'parse')
    click(page, '[data-do=focus]')
    waits(page, 'document.querySelectorAll("tbody tr").length === 3')
    equal(address(page), '/ui/top?sel=parse&f=%5Eparse%24')
    equal(page.eval('document.querySelector("#f").value'), '^parse$')
    page.eval('history.back()')
    waits(page, 'document.querySelectorAll("tbody tr").length === 6')
    equal(page.eval('document.querySelector("#f").value'), '')


def ignoring_twice_ignores_both(browser):
    page = browser.open(URL + '/ui/top')
    for name in ['read', 'write']:
        click_text(page, 'td.name button', name)
        click(page, '[data-do=ignore]')
        waits(page, f'![...document.querySelectorAll("td.name button")].some(b => b.textContent === "{name}")')
    equal(page.eval('document.querySelector("#i").value'), '^read$|^write$')
    click(page, '#clear')
    waits(page, 'document.querySelectorAll("tbody tr").length === 6')
    equal(address(page), '/ui/top')


def views_keep_what_is_asked(browser):
    page = browser.open(URL + '/ui/top?f=parse')
    click_text(page, '#views a', 'Tree')
    ready(page, 'tree')
    equal(address(page), '/ui/tree?f=parse')
    contains(page.text('#content'), 'read')
    assert 'write' not in page.text('#content')
    equal(page.eval('document.querySelector("nav [aria-current]").textContent'), 'Tree')


def callers_are_asked_for_by_name_or_by_choice(browser):
    page = browser.open(URL + '/ui/peek')
    click_text(page, 'main a', '<b>x</b>')
    ready(page, 'peek')
    contains(page.text('.sandwich'), 'emit')
    equal(page.eval('document.querySelector("#p").value'), '^<b>x</b>$')
    equal(browser.complaints, [])


def in_page(page, point):
    """A point of the frame as one of the page."""
    left, top = page.eval('(f => [f.left, f.top])(document.querySelector("iframe").getBoundingClientRect())')
    return point[0] + left, point[1] + top


def reports_are_strangers_to_the_page_and_to_the_server(browser):
    page = browser.open(URL + '/ui/graph')
    page.wait_in_frame('document.querySelector(".node text") !== null')
    equal(page.eval('document.querySelector("iframe").getAttribute("sandbox")'), 'allow-scripts')
    equal(page.eval('document.querySelector("iframe").contentDocument'), None)
    equal(page.eval_in_frame('window.origin'), 'null')
    page = browser.open(URL + '/api/flamegraph')
    equal(page.eval('window.origin'), 'null')
    equal(page.eval('fetch("/api/top").then(r => "answered", e => "refused")'), 'refused')


def a_box_of_the_flame_graph_can_be_chosen(browser):
    page = browser.open(URL + '/ui/')
    left, top, *_ = page.box_of('#canvas')
    page.click(left + 60, top + 28)
    waits(page, '!document.querySelector("#selection").hidden')
    equal(page.text('#chosen'), 'main')
    equal(address(page), '/ui/flamegraph?zoom=main&sel=main')
    page.key('Escape')  # closes the menu, and no more
    equal(page.eval('document.querySelector("#selection").hidden'), True)
    equal(address(page), '/ui/flamegraph?zoom=main&sel=main')
    page.click(left + 60, top + 28)
    waits(page, '!document.querySelector("#selection").hidden')
    click(page, '[data-do=peek]')
    ready(page, 'peek')
    equal(address(page), '/ui/peek?sel=main&p=%5Emain%24')
    page.eval('history.back()')
    ready(page, 'flamegraph')
    equal(page.text('#crumbs li:last-child'), 'main')
    equal(browser.complaints, [])


def a_name_leads_from_view_to_view(browser):
    page = browser.open(URL + '/ui/tree')
    equal(rows(page)[0], '1,000 100.0% 0 0% ▾main')
    click_text(page, 'td.name button.name', 'parse')
    equal(page.eval('document.activeElement.dataset.do'), 'flame')  # the keyboard is in the menu
    page.key('ArrowDown')
    equal(page.eval('document.activeElement.dataset.do'), 'peek')
    page.key('Enter')
    ready(page, 'peek')
    equal(page.text('.sandwich h2'), 'parse total 500 (50.0%), self 200 (20.0%)')
    equal(rows(page), ['500 100.0% main', '300 60.0% read'])
    equal(page.eval('document.querySelector("[aria-current=true]").dataset.name'), 'parse')
    click_text(page, '.sandwich button.name', 'read')
    page.key('Escape')
    equal(page.eval('document.activeElement.dataset.name'), 'read')
    for view in ['Source', 'Stacks', 'Labels', 'About', 'Why', 'Tree']:
        click_text(page, '#views a', view)
        ready(page, {'Source': 'source', 'Stacks': 'traces', 'Labels': 'tags', 'About': 'info', 'Why': 'why', 'Tree': 'tree'}[view])
        if view in ['Stacks', 'Tree']:
            equal(page.eval('document.querySelector("#content [aria-current=true]").dataset.name'), 'read')


def a_tree_is_closed_and_inverted_by_its_address(browser):
    page = browser.open(URL + '/ui/tree')
    click(page, 'button[aria-label="Close emit"]')
    equal(len(rows(page)), 4)
    contains(address(page), 'folds=')
    page = browser.open(URL + address(page))
    equal(len(rows(page)), 4)
    click_text(page, '.tools button', 'Inverted')
    waits(page, 'document.querySelector("tbody tr").textContent.includes("write")')
    equal(rows(page)[:3], ['400 40.0% 0 0% ▾write', '400 40.0% 0 0% ▾emit', '400 40.0% 400 40.0% main'])


def what_is_left_out_comes_when_its_box_is_zoomed(browser):
    """`few` is left out of the graph that the page asks for first, and its leaves of every whole graph."""
    def table(*names):
        waits(page, f'[...document.querySelectorAll("#rows .name button")].map(b => b.textContent).sort().join() === {",".join(sorted(names))!r}')
    leaves = [f'leaf{i}' for i in range(20)]
    page = browser.open(WIDE + '/ui/?zoom=few')
    table('few', *leaves)
    equal(page.text('#rows tr'), '5.0%5.0%leaf0')
    page = browser.open(WIDE + '/ui/?zoom=few;leaf7')
    table('leaf7')
    equal(page.text('#crumbs'), 'allfewleaf7')
    page.eval('document.querySelector("#canvas").focus()')
    page.key('Backspace')  # what was fetched is still there
    table('few', *leaves)
    page.key('Backspace')
    under_many = ['many', 'deep', 'deeper', 'bottom']
    table('few', *leaves, *under_many)  # counted without the graph
    equal(address(page), '/ui/flamegraph')
    page = browser.open(WIDE + '/ui/?zoom=many')
    table(*under_many)  # so are those of boxes that are too narrow in every zoom
    equal(page.text('#rows'), '100.0%100.0%many<0.01%<0.01%bottom0%<0.01%deep0%<0.01%deeper')


def reports_say_the_same_as_the_commands(browser):
    for query, options in [('', []), ('?f=parse', ['--focus=parse']), ('?i=read', ['--ignore=read']), ('?h=emit', ['--hide=emit'])]:
        for view in ['top', 'tree']:
            text = pitot(view, *options, 'a.folded').split('\n\n')[-1].splitlines()[1:]
            said = [re.sub('[↓├└─│]', '', line).split()[:5] for line in text]
            page = browser.open(f'{URL}/ui/{view}{query}')
            shown = [r.replace('▾', '').split()[:5] for r in rows(page)]
            if view == 'tree':  # the text has shares before values
                said = [[w[1], w[0], w[3], w[2], w[4]] for w in said]
            equal(shown, said)
            page.close()


def random_clicks_are_what_their_address_shows(browser):
    """PITOT_CLICKS (200) of them, from PITOT_SEED (24): half on a profile without times, half on one with them."""
    choose = random.Random(int(os.environ.get('PITOT_SEED', '24')))
    clicks = int(os.environ.get('PITOT_CLICKS', '200')) // 2
    for start in URL + '/ui/top', TIMED + '/ui/timeline':
        click_by_chance(browser, start, clicks, choose)
    equal([c for c in browser.complaints if '404' not in c], [])


def click_by_chance(browser, start, clicks, choose):
    """Fields of times are filled by chance, too."""
    page = browser.open(start)
    url = start[:start.index('/ui/')]
    content = 'document.querySelector("#content").innerText + document.querySelector("#query").innerText'
    for step in range(clicks):
        first = choose.randrange(9)
        page.eval(f'(([a, b]) => {{ if (b) {{ a.value = {first}; b.value = {first + choose.randrange(1, 4)}; }} }})(document.querySelectorAll(".times form input"))')
        count = page.eval('window.targets = [...document.querySelectorAll("#views a, #content button, #others button, #selection button")]'
                          '.filter(e => e.offsetParent !== null && !/Dark|Light|\\?/.test(e.textContent) && !e.closest("dialog")), targets.length')
        page.eval(f'targets[{choose.randrange(count)}].click()')
        waits(page, 'document.documentElement.dataset.ready !== undefined')
        if step % 10 != 9:
            continue
        there = address(page)
        page.eval('document.querySelector("#selection").hidden = true')
        before = page.eval(content)
        again = browser.open(url + there)
        equal((there, again.eval(content)), (there, before))
        again.close()
    page.close()


def a_regression_is_red_and_the_rest_is_noise(browser):
    page = browser.open(BASE + '/ui/')
    equal(page.text('#title'), 'a.folded → b.folded')
    equal(page.text('.facts li'), 'samples: 1,000 → 1,312')
    # By parts of the width that the canvas has now: the page may be laid out once more.
    pixel = lambda part: page.eval(f'(c => [...c.getContext("2d").getImageData(c.width * {part}, 68, 1, 1).data])(document.querySelector("#canvas"))')
    waits(page, 'document.querySelector("#canvas").getContext("2d").getImageData(5, 68, 1, 1).data[3] === 255')  # it is drawn
    reddest = pixel(0.25)  # read, below parse, below main
    assert reddest[0] > reddest[1] + 80, reddest
    other = pixel(0.6)  # write
    assert abs(other[0] - other[1]) < 40, other
    click_text(page, '#views a', 'Changes')
    ready(page, 'diff')
    equal(page.eval('[...document.querySelectorAll("tbody tr:not(.noise) .name button")].map(b => b.textContent)'), ['read', 'main', 'parse'])
    equal(page.eval('[...document.querySelectorAll("tbody tr.more")].map(r => r.cells[2].textContent)'), ['+310', '0', '0'])
    said = json.loads(pitot('diff', '--json', '--rows=0', 'a.folded', 'b.folded'))['rows']
    equal(page.eval('[...document.querySelectorAll("tbody tr")].map(r => [...r.cells].slice(0, 3).map(c => Number(c.textContent.replace(/[,+]/g, "")))'
                    '.concat(r.cells[5].textContent === "noise"))'),
          [[row['self']['before'], row['self']['after'], row['self']['change'],
            row['self']['noise'] and row['self']['before'] + row['self']['after'] > 0] for row in said])


def a_stall_is_found_in_three_clicks(browser):
    page = browser.open(TIMED + '/ui/')
    click_text(page, '#views a', 'Time')
    ready(page, 'timeline')
    heat = 'document.querySelector("canvas")'
    waits(page, f'{heat}.style.width !== ""')  # it is drawn
    left, top = page.eval(f'(c => [c.left, c.top])({heat}.getBoundingClientRect())')
    hottest = page.eval(f'(c => {{ const d = c.getContext("2d").getImageData(0, 0, 24 * 10, 250).data; let [most, at] = [0, 0];'
                        'for (let i = 0; i < d.length; i += 4) { const red = d[i] - d[i + 1]; if (red > most) [most, at] = [red, i / 4]; }'
                        f'return [at % 240, Math.floor(at / 240)]; }})({heat})')
    page.click(left + hottest[0] + 2, top + hottest[1] + 1)
    waits(page, 'location.search !== ""')
    ready(page, 'timeline')
    equal(page.eval('new URLSearchParams(location.search).get("time")'), '6.4,6.42')
    click_text(page, '#views a', 'Top')
    ready(page, 'top')
    equal(page.text('tbody td.name'), 'stall')
    contains(pitot('top', '--time=6.4,6.42', 'timed.txt'), 'stall')


def two_ranges_of_the_time_are_compared(browser):
    """From 6.4 to 6.45 s `stall` has a sample each ms beside those of `usual`."""
    page = browser.open(TIMED + '/ui/timeline')
    def fill(first, last):
        page.eval(f'(([a, b]) => {{ a.value = "{first}"; b.value = "{last}"; }})(document.querySelectorAll(".times form input"))')
    fill(2, 3)
    click_text(page, '.times button', 'As base')
    ready(page, 'timeline')
    fill(6, 7)
    page.eval('document.querySelector(".times form").requestSubmit()')
    waits(page, 'new URLSearchParams(location.search).get("time") === "6,7"')
    ready(page, 'timeline')
    equal(page.text('.times strong'), '6.000 to 7.000 s, compared with 2.000 to 3.000 s')
    click_text(page, '.times button', 'Changes')
    ready(page, 'diff')
    equal(address(page), '/ui/diff?base-time=2%2C3&time=6%2C7')
    equal(page.eval('[...document.querySelectorAll("tbody tr:not(.noise) .name button")].map(b => b.textContent)'), ['stall', 'main'])
    said = json.loads(pitot('diff', '--json', '--rows=0', '--base-time=2,3', '--time=6,7', 'timed.txt'))['rows']
    equal([(row['name'], row['self']['before'], row['self']['after']) for row in said],
          [('stall', 0, 50 * 10 ** 6), ('main', 0, 0), ('usual', 101 * 10 ** 6, 101 * 10 ** 6)])
    shown = page.eval('[...document.querySelectorAll("tbody tr")].map(r => [r.cells[9].textContent, r.cells[0].textContent, r.cells[1].textContent])')
    equal(shown, [['stall', '0', '50.0ms'], ['main', '0', '0'], ['usual', '101ms', '101ms']])
    click_text(page, '#views a', 'Flame graph')
    ready(page, 'flamegraph')
    equal(page.text('.facts li'), 'cpu-clock: 101ms \u2192 151ms')
    click_text(page, '#views a', 'Time')
    ready(page, 'timeline')
    click_text(page, '.times button', 'All')  # ten seconds and one: shares
    waits(page, 'new URLSearchParams(location.search).get("norm") === "1"')
    again = browser.open(TIMED + address(page).replace('timeline', 'diff'))
    equal(again.text('.tools button[aria-pressed=true]'), 'Normalize')
    again.close()
    for _ in range(100):  # the tracks of the whole time may not be drawn yet
        left, top, width = page.eval('(e => { e.scrollIntoView(); const c = e.getBoundingClientRect(); return [c.left, c.top, c.width]; })(document.querySelector(".times section:last-child canvas"))')
        page.drag((left + width * 0.5, top + 9), (left + width * 0.6, top + 9), shift=True)
        waits(page, 'new URLSearchParams(location.search).get("base-time") !== "2,3"')
        first, last = map(float, page.eval('new URLSearchParams(location.search).get("base-time")').split(','))
        if first > 4.5:
            break
        time.sleep(0.1)
    assert 4.5 < first < 5.5 < last < 6.5, (first, last)
    ready(page, 'timeline')
    click_text(page, '.times button', 'No base')
    waits(page, '!location.search.includes("base-time")')
    equal(page.eval('[...document.querySelectorAll("#views a")].some(a => a.textContent === "Changes")'), False)
    equal(browser.complaints, [])


def boxes_stand_in_the_order_of_time(browser):
    """timed.txt in order: 640 of `usual`; to 6.44 s each of 5 of them between `stall`, 50 in all; then 355 of `usual`."""
    page = browser.open(TIMED + '/ui/')
    click_text(page, '#buttons button', 'In order of time')
    ready(page, 'flamegraph')
    equal(address(page), '/ui/flamegraph?in-order=t')
    left, top, width, _ = page.box_of('#canvas')
    page.click(left + width * 0.95, top + 50)
    waits(page, '!document.querySelector("#selection").hidden')
    equal(page.text('#chosen'), 'usual')
    equal(page.eval('new URLSearchParams(location.search).get("zoom")'), '@695000000,2')
    contains(page.text('#details'), 'total 355ms (33.8%, 100.0% of the zoom)')
    page.eval('history.back()')
    waits(page, 'new URLSearchParams(location.search).get("zoom") === null')
    page.click(left + width * 0.2, top + 50)
    waits(page, 'new URLSearchParams(location.search).get("zoom") === "@0,2"')
    again = browser.open(TIMED + address(page))
    equal(again.text('#crumbs li:last-child'), 'usual')
    click(again, '#mine')  # other conditions, other places: the zoom goes
    ready(again, 'flamegraph')
    equal(address(again), '/ui/flamegraph?in-order=t&sel=usual&mine=1')
    again.eval('history.back()')
    ready(again, 'flamegraph')
    click_text(again, '#views a', 'Top')
    ready(again, 'top')
    equal(address(again), '/ui/top?sel=usual')
    equal(browser.complaints, [])


def a_box_of_the_graph_can_be_chosen(browser):
    page = browser.open(URL + '/ui/graph')
    page.wait_in_frame('document.querySelector(".node text") !== null')
    box = in_page(page, page.eval_in_frame(
        '(() => { const n = [...document.querySelectorAll(".node text")].find('
        't => t.textContent === "emit").getBoundingClientRect();'
        'return [n.left + 3, n.top + 3]; })()'))
    page.click(*box)
    waits(page, '!document.querySelector("#selection").hidden')
    equal(page.text('#chosen'), 'emit')
    equal(browser.complaints, [])


def what_matches_nothing_is_said_in_words(browser):
    page = browser.open(URL + '/ui/top?f=nothing')
    contains(page.text('.problem'), '--focus=nothing matches no function')
    page = browser.open(URL + '/ui/top?f=(')
    contains(page.text('.problem'), '--focus')


def conditions_without_a_field_can_be_taken_away(browser):
    page = browser.open(URL + '/ui/top?noinlines=t&th=x')
    equal(page.eval('[...document.querySelectorAll("#others li")].map(l => l.firstChild.data)'),
          ['noinlines=t', 'th=x'])
    click(page, '#others button')
    waits(page, 'document.querySelectorAll("#others li").length === 1')
    equal(address(page), '/ui/top?th=x')


def my_code_is_one_button(browser):
    page = browser.open(URL + '/ui/top')
    click(page, '#mine')
    waits(page, 'document.querySelectorAll("tbody tr").length === 4')
    equal(rows(page), ['500 50.0% 500 50.0% parse', '400 40.0% 500 50.0% emit', '100 10.0% 100 10.0% <b>x</b>',
                       '0 0% 1,000 100.0% main'])
    equal(address(page), '/ui/top?mine=1')
    equal(page.eval('document.querySelector("#mine").getAttribute("aria-pressed")'), 'true')
    click(page, '#mine')
    waits(page, 'document.querySelectorAll("tbody tr").length === 6')
    equal(address(page), '/ui/top')


def recursion_is_a_choice(browser):
    page = browser.open(URL + '/ui/top?recursion=all')
    equal(page.eval('document.querySelector("#recursion").value'), 'all')
    page.eval('(s => { s.value = "direct"; s.dispatchEvent(new Event("change")); })(document.querySelector("#recursion"))')
    ready(page, 'top')
    equal(address(page), '/ui/top?recursion=direct')
    equal(rows(page)[0], '400 40.0% 400 40.0% write')


def rows_are_what_is_chosen(browser):
    page = browser.open(TIMED + '/ui/top')
    page.eval('(s => { s.value = "mapping"; s.dispatchEvent(new Event("change")); })(document.querySelector("#by"))')
    waits(page, 'document.querySelectorAll("tbody tr").length === 1')
    equal((address(page), rows(page)), ('/ui/top?by=mapping', ['1.05s 100.0% 1.05s 100.0% [app]']))
    click_text(page, '#views a', 'Flame graph')
    ready(page, 'flamegraph')
    equal(page.eval('document.querySelectorAll("#rows tr").length'), 1)


def a_track_is_chosen_for_all_views(browser):
    page = browser.open(TIMED + '/ui/timeline')
    click(page, '[aria-label="Only thread 8"]')
    ready(page, 'timeline')
    equal(address(page), '/ui/timeline?tf=tid%3D8')
    click_text(page, '#views a', 'Top')
    ready(page, 'top')
    equal(rows(page)[0], '1.00s 95.2% 1.00s 95.2% usual')
    click(page, '#others button')
    waits(page, 'location.search === ""')


def the_keyboard_reaches_the_focus(browser):
    page = browser.open(URL + '/ui/top')
    page.key('/')
    equal(page.eval('document.activeElement.id'), 'f')
    page.type('emit')
    page.key('Enter')
    waits(page, 'document.querySelectorAll("tbody tr").length === 4')
    equal(address(page), '/ui/top?f=emit')


def nothing_overflows_on_a_narrow_screen(browser):
    for view in ['', 'top', 'tree', 'peek?p=main', 'traces', 'info', 'why']:
        page = browser.open(f'{URL}/ui/{view}', width=360, height=640)
        assert page.eval('document.documentElement.scrollWidth <= 360'), view
        assert page.eval('document.querySelector("#content").getBoundingClientRect().top < 200'), view
        page.close()


def a_report_is_the_page_in_a_file(browser):
    pitot('report', 'a.folded', '-o', 'report.html')
    page = browser.open(os.path.join(FOLDER, 'report.html'), watch=True)
    browser.requests.clear()
    click_text(page, '#views a', 'Tree')
    ready(page, 'tree')
    click_text(page, 'td.name button.name', 'parse')
    equal(page.eval('[...document.querySelectorAll("#actions button")].map(b => b.dataset.do)'), ['flame', 'peek', 'source', 'disasm'])
    click(page, '[data-do=peek]')
    ready(page, 'peek')
    equal(page.eval('location.hash'), '#peek?sel=parse&p=%5Eparse%24')
    equal(rows(page), ['500 100.0% main', '300 60.0% read'])
    page.eval('history.back()')
    ready(page, 'tree')
    equal((browser.requests, browser.complaints), ([], []))


def drop(page, selector, name, content):
    """A file, as the pointer would drop it there."""
    if isinstance(content, str):
        content = content.encode()
    page.eval('(() => { const d = new DataTransfer(); const bytes = Uint8Array.from(atob("' + base64.b64encode(content).decode() + '"), '
              'c => c.charCodeAt(0)); d.items.add(new File([bytes], ' + json.dumps(name) + '));'
              f'document.querySelector({selector!r}).dispatchEvent(new DragEvent("drop", {{dataTransfer: d, bubbles: true, cancelable: true}})); }})()')


def a_profile_that_grows_is_shown_as_it_is_without_losing_the_place(browser):
    renewed = 'Number(document.documentElement.dataset.renewed || 0)'

    def grow(page, stacks):
        before = page.eval(renewed)
        write_folded('new.folded', stacks)
        os.rename(os.path.join(FOLDER, 'new.folded'), os.path.join(FOLDER, 'live.folded'))
        waits(page, f'{renewed} > {before}')

    write_folded('live.folded', STACKS)
    process, printed = serve('--live', 'live.folded')
    try:
        page = browser.open(printed)
        page = browser.open(printed[:printed.index('/?t=')] + '/ui/?zoom=main%3Bparse&sel=read')
        equal(page.text('#live'), 'live')
        grow(page, {**STACKS, 'main;parse;read': 1300})
        equal(page.text('.facts li'), 'samples: 2,000')
        equal(page.text('#crumbs li:last-child'), 'parse')
        equal(address(page), '/ui/?zoom=main%3Bparse&sel=read')
        click_text(page, '#views a', 'Top')
        ready(page, 'top')
        equal(rows(page)[0], '1,300 65.0% 1,300 65.0% read')
        grow(page, {**STACKS, 'main;parse;read': 9300})
        equal(rows(page)[0], '9,300 93.0% 9,300 93.0% read')
        equal(page.eval('document.querySelector("#content [aria-current=true]").dataset.name'), 'read')
        os.remove(os.path.join(FOLDER, 'live.folded'))
        waits(page, 'document.querySelector("#live").textContent === "ended"')
        click_text(page, '#views a', 'Tree')
        ready(page, 'tree')
        equal(rows(page)[0], '10,000 100.0% 0 0% ▾main')
        equal(browser.complaints, [])
    finally:
        process.terminate()
        process.wait()


PROGRAM = """
#include <unistd.h>
volatile unsigned sum;
__attribute__((noinline)) static void spin(void) { for (int i = 0; i < 1000000; i++) sum += (unsigned)i; }
int main(void) { while (access("enough", F_OK) != 0) spin(); return 3; }
"""


def a_recording_is_watched_to_its_end(browser):
    compiler = shutil.which(os.environ.get('CC', 'cc'))
    if compiler is None or os.environ.get('PITOT_SANITIZED', '0') != '0':
        print('# skipped: no compiler, or the library is not loaded into sanitized runs')
        return
    with open(os.path.join(FOLDER, 'spin.c'), 'w') as f:
        f.write(PROGRAM)
    subprocess.run([compiler, '-O1', '-g', 'spin.c', '-o', 'spin'], cwd=FOLDER, check=True)
    process, printed = serve_of('record', '--serve', '--engine=preload', '-o', 'spin.pb.gz', './spin')
    try:
        browser.open(printed, ready='document.documentElement.dataset.ready !== undefined').close()
        page = browser.open(printed[:printed.index('/?t=')] + '/ui/')
        number = r'Number(/samples?: ([\d,.]+)|cpu: ([\d.]+)/.exec((document.querySelector(".facts") || {textContent: ""}).textContent)?.[2] || 0)'
        waits(page, f'{number} > 0')
        left, top, *_ = page.box_of('#canvas')
        for _ in range(300):  # the first samples may have no box there yet
            page.click(left + 60, top + 28)
            page.key('Escape')
            if '?zoom=' in address(page):
                break
            time.sleep(0.1)
        there, zoomed = address(page), page.text('#crumbs li:last-child')
        assert '?zoom=' in there and zoomed != 'all', there
        first = page.eval(number)
        assert re.fullmatch(r'recording, \d+ s', page.text('#live')), page.text('#live')
        waits(page, f'{number} !== {first}')
        equal((address(page), page.text('#crumbs li:last-child')), (there, zoomed))
        click_text(page, '#views a', 'Top')
        ready(page, 'top')
        click_text(page, 'td.name button', 'spin')
        page.key('Escape')
        renewed = page.eval('Number(document.documentElement.dataset.renewed)')
        open(os.path.join(FOLDER, 'enough'), 'w').close()
        waits(page, 'document.querySelector("#live").textContent === "ended"')
        assert page.eval('Number(document.documentElement.dataset.renewed)') > renewed
        equal(page.eval('document.querySelector("#content [aria-current=true]").dataset.name'), 'spin')
        said = json.loads(pitot('top', '--json', '--rows=0', 'spin.pb.gz'))['rows']
        shown = page.eval('[...document.querySelectorAll("tbody tr")].map(r => [r.cells[4].textContent, r.cells[1].textContent, r.cells[3].textContent])')
        equal(shown, [[row['name'], percent(row['self_share']), percent(row['total_share'])] for row in said])
        equal(page.text('#title'), 'spin.pb.gz')
        again = browser.open(printed[:printed.index('/?t=')] + address(page))
        equal((again.text('#live'), again.text('#content')), ('ended', page.text('#content')))
        process.send_signal(signal.SIGINT)
        equal(process.wait(), 3)
        equal(browser.complaints, [])
    finally:
        open(os.path.join(FOLDER, 'enough'), 'w').close()
        process.terminate()
        process.wait()


# V8's form: main 3 ms in itself, parse 7 ms below it
CPUPROFILE = {'nodes': [{'id': 1, 'callFrame': {'functionName': '(root)', 'url': '', 'lineNumber': -1}, 'children': [2]},
                        {'id': 2, 'callFrame': {'functionName': 'main', 'url': 'a.js', 'lineNumber': 0}, 'children': [3]},
                        {'id': 3, 'callFrame': {'functionName': 'parse', 'url': 'a.js', 'lineNumber': 9}}],
              'startTime': 0, 'endTime': 10000, 'samples': [2, 3, 2], 'timeDeltas': [0, 3000, 7000]}


def a_report_reads_other_profiles_by_itself(browser):
    with open(os.path.join(FOLDER, 'a.cpuprofile'), 'w') as f:
        json.dump(CPUPROFILE, f)
    pitot('convert', '--to=pprof', '-o', 'a.pb.gz', 'a.folded')
    pitot('convert', '--to=speedscope', '-o', 'a.speedscope.json', 'a.folded')
    pitot('report', 'b.folded', '-o', 'other.html')
    page = browser.open(os.path.join(FOLDER, 'other.html'), watch=True)
    browser.requests.clear()
    for name in ['a.folded', 'a.pb.gz', 'a.speedscope.json', 'a.cpuprofile']:
        drop(page, '#content', name, open(os.path.join(FOLDER, name), 'rb').read())
        waits(page, f'document.querySelector("#title").textContent === {name!r} && document.documentElement.dataset.ready === "flamegraph"')
        boxes = page.eval('document.querySelectorAll("#rows tr").length')
        click_text(page, '#views a', 'Top')
        ready(page, 'top')
        said = json.loads(pitot('top', '--json', '--rows=0', name))['rows']
        equal(boxes, len(said))
        shown = page.eval('[...document.querySelectorAll("tbody tr")].map(r => [r.cells[4].textContent, r.cells[1].textContent, r.cells[3].textContent])')
        equal(shown, [[row['name'], percent(row['self_share']), percent(row['total_share'])] for row in said])
        click_text(page, 'td.name button', 'parse')
        click(page, '[data-do=peek]')
        ready(page, 'peek')
        contains(page.text('.sandwich'), 'main')
    click_text(page, '#views a', 'Tree')
    ready(page, 'tree')
    equal(rows(page), ['10.0ms 100.0% 3.00ms 30.0% ▾main', '7.00ms 70.0% 7.00ms 70.0% parse'])
    for name, content in [('letter.txt', b'Dear sir'), ('cut.pb.gz', open(os.path.join(FOLDER, 'a.pb.gz'), 'rb').read()[:60]), ('<b>.json', b'{"a":')]:
        drop(page, '#content', name, content)
        waits(page, f'(document.querySelector(".problem") || {{textContent: ""}}).textContent.startsWith({name!r})')
    equal((browser.requests, browser.complaints), ([], []))


def percent(share):
    return '0%' if share == 0 else f'{100 * share:.{2 if 100 * share < 0.1 else 1}f}%'


def a_file_is_dropped_on_the_page_and_another_is_compared_with_it(browser):
    page = browser.open(URL + '/ui/top')
    drop(page, '#content', 'b.folded', open(os.path.join(FOLDER, 'b.folded')).read())
    waits(page, 'document.readyState === "complete" && document.querySelector("#title")?.textContent === "b.folded"'
                ' && document.documentElement.dataset.ready === "flamegraph"')
    root = page.eval('location.pathname').replace('/ui/', '')
    assert re.fullmatch(r'/\d+', root), root
    click_text(page, '#views a', 'Top')
    ready(page, 'top')
    equal(rows(page)[0], '610 46.5% 610 46.5% read')
    equal(address(page), root + '/ui/top')
    equal(page.eval('document.querySelector("#download-list a").href'), URL + root + '/download')
    drop(page, '[data-as=before]', 'a.folded', open(os.path.join(FOLDER, 'a.folded')).read())
    waits(page, 'document.readyState === "complete" && document.querySelector("#title")?.textContent === "a.folded \u2192 b.folded"')
    click_text(page, '#views a', 'Changes')
    ready(page, 'diff')
    equal(page.eval('[...document.querySelectorAll("tbody tr:not(.noise) .name button")].map(b => b.textContent)'), ['read', 'main', 'parse'])
    drop(page, '#content', '<b>x<b>', 'no profile')
    waits(page, 'document.querySelector(".problem") !== null')
    contains(page.text('.problem'), '<b>x<b>: not a profile')
    click(page, '#open')
    equal(page.eval('document.activeElement.dataset.as'), '')
    page.key('Escape')
    equal(page.eval('document.querySelector("#files").hidden + document.activeElement.id'), 'trueopen')
    equal([c for c in browser.complaints if '400' not in c], [])


def download(page, title):
    """Clicks it; the file's name, and its bytes as Latin-1, or the width of the picture that the page made."""
    return page.eval(f"""new Promise((give) => {{
        const link = [...document.querySelectorAll('#download-list a')].find(a => a.textContent === {title!r});
        document.querySelector('#downloads').open = true;
        link.addEventListener('click', (e) => {{
            if (e.defaultPrevented) return;
            e.preventDefault();
            if (link.href.startsWith('blob:')) {{ /* the page may fetch from its server only */
                const image = new Image();
                image.src = link.href;
                image.decode().then(() => give([link.download, image.naturalWidth]));
                return;
            }}
            fetch(link.href).then(a => a.arrayBuffer()).then(b => give([link.download, [...new Uint8Array(b)].map(c => String.fromCharCode(c)).join('')]));
        }});
        setTimeout(() => link.click(), 50); /* the list is pointed at what is shown when it has opened */
    }})""")


def files_hold_the_samples_that_are_shown(browser):
    page = browser.open(URL + '/ui/top?f=%5Eparse%24')
    equal(download(page, 'These samples folded stacks'), ['a.folded.folded', 'main;parse;read 300\nmain;parse 200\n'])
    name, text = download(page, 'These samples for speedscope')
    equal((name, sum(json.loads(text)['profiles'][0]['weights'])), ('a.folded.speedscope.json', 500))
    equal(download(page, 'Table CSV')[1].splitlines()[1][:12], '300,0.3,300,')
    for title in 'Whole profile profile.proto', 'These samples profile.proto':
        equal(download(page, title)[1][:2], '\x1f\x8b')
    contains(download(page, 'Flame graph SVG')[1], '<svg')
    equal(download(page, 'Flame graph PNG'), ['a.folded.png', 2400])
    page.eval('document.querySelector("#download-list input").click()')  # without private data
    contains(page.eval('document.querySelector("#download-list a").href'), '/api/filter?to=pprof&private=t')
    equal(page.eval('[...document.querySelectorAll("#download-list a")].filter(a => !a.href.includes("private=t")).length'), 0)
    folded = page.eval('fetch([...document.querySelectorAll("#download-list a")].find(a => a.download.endsWith(".folded")).href).then(a => a.text())')
    equal(folded, 'main;parse;read 300\nmain;parse 200\n')
    page.eval('document.querySelector("#downloads").open = true; document.querySelector("#download-list a").focus()')
    page.key('Escape')
    equal(page.eval('document.querySelector("#downloads").open + document.activeElement.tagName'), 'falseSUMMARY')
    equal(browser.complaints, [])


def questions_are_kept_under_names(browser):
    names = '[...document.querySelectorAll("#question-list a")].map(a => a.textContent).join("|")'
    page = browser.open(URL + '/ui/top?f=%5Eparse%24')
    page.eval('document.querySelector("#questions").open = true')
    waits(page, 'document.querySelector("#question-said").textContent === "None is kept yet."')
    page.eval('document.querySelector("#question-name").value = "<b>parse</b>"; document.querySelector("#keep-question").requestSubmit()')
    waits(page, names + ' === "<b>parse</b>"')
    page = browser.open(URL + '/ui/tree')
    page.eval('document.querySelector("#questions").open = true')
    waits(page, names + ' === "<b>parse</b>"')
    click(page, '#question-list a')
    waits(page, 'document.documentElement.dataset.ready !== undefined && location.pathname === "/ui/top"')
    equal(address(page), '/ui/top?f=%5Eparse%24')
    page.eval('document.querySelector("#questions").open = true')
    waits(page, names + ' === "<b>parse</b>"')
    click(page, '#question-list button')
    waits(page, names + ' === ""')


def with_screenshot(text):
    """A Firefox profile with a picture of 2 x 1 dots at 50 ms, and a page in the place of another."""
    profile = json.loads(text)
    thread = profile['threads'][0]
    dots = zlib.compress(b'\x00' + 6 * b'\x7f')
    chunks = [(b'IHDR', struct.pack('>IIBBBBB', 2, 1, 8, 2, 0, 0, 0)), (b'IDAT', dots), (b'IEND', b'')]
    png = b'\x89PNG\r\n\x1a\n' + b''.join(struct.pack('>I', len(d)) + k + d + struct.pack('>I', zlib.crc32(k + d)) for k, d in chunks)
    thread['stringArray'] += ['data:image/png;base64,' + base64.b64encode(png).decode(), 'data:text/html;base64,PGI+']
    for name in 'length', 'name', 'startTime', 'endTime', 'phase', 'category', 'data':
        new = {'name': [3, 3], 'startTime': [50, 51], 'endTime': [None, None], 'phase': [0, 0], 'category': [0, 0],
               'data': [{'type': 'CompositorScreenshot', 'url': len(thread['stringArray']) - i} for i in (2, 1)]}
        thread['markers'][name] += 2 if name == 'length' else new[name]
    return json.dumps(profile)


def marks_stand_beside_the_samples(browser):
    """Of markers.json: a load from 30 to 45.5 ms, a collection from 20 to 22.5 ms with its cause, memory of at most 1500 bytes."""
    page = browser.open(URL + '/ui/top')
    name = os.path.join(ROOT, 'tests/golden/firefox/markers.json')
    drop(page, '#content', 'markers.json', with_screenshot(open(name).read()))
    waits(page, 'document.readyState === "complete" && document.querySelector("#title")?.textContent === "markers.json"'
                ' && document.documentElement.dataset.ready === "flamegraph"')
    click_text(page, '#views a', 'Time')
    ready(page, 'timeline')
    heads = page.eval('[...document.querySelectorAll(".times h2")].map(h => h.textContent)')
    for head in 'malloc of process 12: 1.17kB at the end, at most 1.46kB', 'Network: 1 loads', 'Marks of GeckoMain, thread 12: 8':
        assert head in heads, heads
    waits(page, 'document.querySelector(".network canvas").style.width !== ""')
    left, top, width = page.eval('(e => { e.scrollIntoView(); const c = e.getBoundingClientRect(); return [c.left, c.top, c.width]; })(document.querySelector(".network canvas"))')
    page.click(left + 0.38 * width, top + 7)
    waits(page, 'location.search !== ""')
    ready(page, 'timeline')
    first, last = map(float, page.eval('new URLSearchParams(location.search).get("time")').split(','))
    equal(round(last - first, 6), 0.0155)
    contains(page.text('.mark'), 'https://shop.example/a?b=c')
    equal(page.text('.mark h2'), 'Load 7')
    page.eval('document.querySelector(".times details").open = true')
    equal(page.eval('document.querySelectorAll(".times tbody tr").length'), 8)
    contains(page.text('.times tbody'), '<b>inner</b>')
    click_text(page, '.times tbody button', 'GCMajor')
    waits(page, 'document.querySelector(".mark h2")?.textContent === "GCMajor"')
    contains(page.text('.mark'), 'max_pause')
    waits(page, 'document.querySelectorAll(".film img").length === 1 && document.querySelector(".film img").naturalWidth === 2')
    click(page, '.film button')
    waits(page, 'document.querySelector(".mark h2")?.textContent === "CloseTab" && document.querySelector(".mark img")?.naturalWidth === 2')
    equal([c for c in browser.complaints if '400' not in c], [])


TESTS = [
    the_printed_address_leads_to_the_page_and_is_not_needed_again,
    the_table_shows_functions_by_their_own_time,
    a_column_sorts_and_sorts_the_other_way,
    a_chosen_function_is_focused_on_and_back_undoes_it,
    ignoring_twice_ignores_both,
    views_keep_what_is_asked,
    callers_are_asked_for_by_name_or_by_choice,
    reports_are_strangers_to_the_page_and_to_the_server,
    a_box_of_the_flame_graph_can_be_chosen,
    a_box_of_the_graph_can_be_chosen,
    a_name_leads_from_view_to_view,
    a_tree_is_closed_and_inverted_by_its_address,
    what_is_left_out_comes_when_its_box_is_zoomed,
    reports_say_the_same_as_the_commands,
    random_clicks_are_what_their_address_shows,
    a_regression_is_red_and_the_rest_is_noise,
    a_stall_is_found_in_three_clicks,
    two_ranges_of_the_time_are_compared,
    boxes_stand_in_the_order_of_time,
    a_report_is_the_page_in_a_file,
    a_file_is_dropped_on_the_page_and_another_is_compared_with_it,
    files_hold_the_samples_that_are_shown,
    marks_stand_beside_the_samples, questions_are_kept_under_names,
    a_report_reads_other_profiles_by_itself,
    a_profile_that_grows_is_shown_as_it_is_without_losing_the_place,
    a_recording_is_watched_to_its_end,
    what_matches_nothing_is_said_in_words,
    conditions_without_a_field_can_be_taken_away,
    my_code_is_one_button,
    recursion_is_a_choice,
    rows_are_what_is_chosen,
    a_track_is_chosen_for_all_views,
    the_keyboard_reaches_the_focus,
    nothing_overflows_on_a_narrow_screen,
]


def pitot(*words):
    return subprocess.run([PITOT, *words], cwd=FOLDER, capture_output=True, text=True, check=True).stdout


def write_folded(name, stacks):
    with open(os.path.join(FOLDER, name), 'w') as f:
        f.writelines(f'{stack} {count}\n' for stack, count in stacks.items())


def write_profiles():
    """a.folded; b.folded, in which read has 310 more and write 2; wide.folded, whose branch `few` is narrow, but its
    leaves narrower; timed.txt, 10 s with a sample each 10 ms, in which `stall` has one each ms from 6.4 s to 6.45 s."""
    write_folded('a.folded', STACKS)
    write_folded('b.folded', {**STACKS, 'main;parse;read': 610, 'main;emit;write': 402})
    write_folded('wide.folded', {'many': 10 ** 7, 'many;deep;bottom': 1, 'many;deeper;bottom': 1, **{f'few;leaf{i}': 20 for i in range(20)}})
    times = [(ms, 'usual') for ms in range(0, 10000, 10)] + [(ms, 'stall') for ms in range(6400, 6450)]
    with open(os.path.join(FOLDER, 'timed.txt'), 'w') as f:
        for ms, name in sorted(times):
            f.write(f'app 7/8 [000] {500 + ms / 1000:.6f}: 1000000 cpu-clock:\n\t401000 {name}+0x1 (/app)\n\t401100 main+0x1 (/app)\n\n')


def serve(*words):
    return serve_of('serve', '--no-browser', *words)


def serve_of(*words):
    """Starts a server; (process, address)."""
    process = subprocess.Popen([PITOT, *words], cwd=FOLDER, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        found = re.search(r'http://\S+', line)
        if found:
            return process, found.group()
    raise AssertionError(f'{words}: nothing is served')


def main():
    global URL, ALL_PRINTED, BASE, WIDE, TIMED, FOLDER
    features = subprocess.run([PITOT, 'version', '--features'], capture_output=True, text=True)
    if browsers.find() is None or 'libmicrohttpd' not in features.stdout:
        print('1..0 # SKIP chromium or libmicrohttpd is not installed')
        return 0
    with tempfile.TemporaryDirectory(prefix='pitot-app.') as FOLDER:
        write_profiles()
        os.environ['XDG_STATE_HOME'] = FOLDER # of the servers
        servers = [serve(*words) for words in [['a.folded'], ['--base=a.folded', 'b.folded'], ['wide.folded'], ['timed.txt']]]
        ALL_PRINTED = [printed for _, printed in servers]
        URL, BASE, WIDE, TIMED = (printed[:printed.index('/?t=')] for _, printed in servers)
        try:
            return browsers.run_tests(TESTS)
        finally:
            for process, _ in servers:
                process.terminate()
                process.wait()


if __name__ == '__main__':
    sys.exit(main())
