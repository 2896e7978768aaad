#!/usr/bin/env python3
"""app_page.t.py: the page of pitot serve in a real browser, used by keys and pointer. Prints TAP.

Numbers expected are arithmetic on the stacks below.
"""
import os
import re
import subprocess
import sys
import tempfile

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
    page = browser.open(PRINTED)
    equal(address(page), '/ui/')
    page = browser.open(URL + '/ui/top')
    equal(page.eval('document.cookie'), '')
    equal(browser.complaints, [])


def the_table_shows_functions_by_their_own_time(browser):
    page = browser.open(URL + '/ui/top')
    equal(rows(page), ['400 40.0% 400 40.0% write', '300 30.0% 300 30.0% read',
                       '200 20.0% 500 50.0% parse', '100 10.0% 100 10.0% <b>x</b>',
                       '0 0% 1,000 100% main', '0 0% 500 50.0% emit'])
    equal(page.text('#title'), 'a.folded')
    equal(browser.complaints, [])


def a_column_sorts_and_sorts_the_other_way(browser):
    page = browser.open(URL + '/ui/top')
    click_text(page, 'th button', 'Total')
    equal(rows(page)[0], '0 0% 1,000 100% main')
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
    equal(address(page), '/ui/top?f=%5Eparse%24')
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
    contains(page.text('pre'), 'read')
    assert 'write' not in page.text('pre')
    equal(page.eval('document.querySelector("nav [aria-current]").textContent'), 'Tree')


def callers_are_asked_for_by_name_or_by_choice(browser):
    page = browser.open(URL + '/ui/peek')
    click_text(page, 'main a', '<b>x</b>')
    ready(page, 'peek')
    contains(page.text('pre'), 'emit')
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
    page.wait_in_frame('document.documentElement.dataset.ready === "1"')
    box = in_page(page, page.eval_in_frame(
        '(() => { const c = document.querySelector("#canvas").getBoundingClientRect();'
        'return [c.left + 60, c.top + 28]; })()'))
    page.click(*box)
    waits(page, '!document.querySelector("#selection").hidden')
    equal(page.text('#chosen'), 'main')
    click(page, '[data-do=peek]')
    ready(page, 'peek')
    equal(address(page), '/ui/peek?p=%5Emain%24')
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


def the_keyboard_reaches_the_focus(browser):
    page = browser.open(URL + '/ui/top')
    page.key('/')
    equal(page.eval('document.activeElement.id'), 'f')
    page.type('emit')
    page.key('Enter')
    waits(page, 'document.querySelectorAll("tbody tr").length === 4')
    equal(address(page), '/ui/top?f=emit')


def nothing_overflows_on_a_narrow_screen(browser):
    for view in ['', 'top', 'tree']:
        page = browser.open(f'{URL}/ui/{view}', width=360, height=640)
        assert page.eval('document.documentElement.scrollWidth <= 360'), view


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
    what_matches_nothing_is_said_in_words,
    conditions_without_a_field_can_be_taken_away,
    the_keyboard_reaches_the_focus,
    nothing_overflows_on_a_narrow_screen,
]


def serve(folder):
    """Starts the server; (process, address)."""
    with open(os.path.join(folder, 'a.folded'), 'w') as f:
        f.writelines(f'{stack} {count}\n' for stack, count in STACKS.items())
    process = subprocess.Popen([PITOT, 'serve', '--no-browser', 'a.folded'], cwd=folder,
                               stderr=subprocess.PIPE, text=True)
    found = re.search(r'http://\S+', process.stderr.readline())
    return process, found and found.group()


def main():
    global URL, PRINTED
    features = subprocess.run([PITOT, 'version', '--features'], capture_output=True, text=True)
    if browsers.find() is None or 'libmicrohttpd' not in features.stdout:
        print('1..0 # SKIP chromium or libmicrohttpd is not installed')
        return 0
    with tempfile.TemporaryDirectory(prefix='pitot-app.') as folder:
        process, PRINTED = serve(folder)
        URL = PRINTED[:PRINTED.index('/?t=')]
        try:
            return browsers.run_tests(TESTS)
        finally:
            process.terminate()
            process.wait()


if __name__ == '__main__':
    sys.exit(main())
