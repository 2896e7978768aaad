#!/usr/bin/env python3
"""columns.py PITOT PROFILE...: text, JSON and CSV of each report say the same of each profile.

Python's csv and json read the answers. Each column of CSV is a member of the JSON rows, or stands in
the list below with its reason; each member of the JSON rows is a column of CSV. Prints a line for
each difference; exit status 1 if there is any.
"""
import csv
import io
import json
import re
import subprocess
import sys

PITOT = sys.argv[1]
differences = []


def answer(*words):
    done = subprocess.run([PITOT, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return done.stdout.decode('utf-8', 'replace') if done.returncode in (0, 4) else None


def flat(row, columns):
    """A row's members by the keys that CSV has: those of a group behind the group's."""
    members = {}
    for column in columns:
        value = row.get(column['key'])
        if column['kind'] == 'group':
            for member in column['columns']:
                members[f'{column["key"]}_{member["key"]}'] = value and value[member['key']]
        else:
            members[column['key']] = value
    return members


def rows_of_table(document):
    return [flat(row, document['columns']) for row in document['rows']]


def rows_of_peek(document):
    """CSV has a row for the self and the total of a function, which are members of it in JSON."""
    for function in document['functions']:
        def row(role, of, share, **more):
            return {'function': function['name'], 'role': role, 'name': of['name'],
                    'share_of_function': share, **more}

        def other(role, of):
            calls = {'calls': of['calls']} if 'calls' in of else {}
            return row(role, of, of['share'], value=of['value'], inlined=of['inlined'], **calls)

        has_calls = 'calls' in function
        total, own = function['total'], function['self']
        yield from (other('caller', of) for of in function['callers'])
        yield row('self', function, ..., value=own, inlined=False, **({'calls': None} if has_calls else {}))
        yield row('total', function, None if total is None else 1, value=total, inlined=False,
                  **({'calls': function['calls']} if has_calls else {}))
        yield from (other('callee', of) for of in function['callees'])


def rows_of_traces(document):
    """CSV has the frames and the labels as one text each."""
    for trace in document['traces']:
        yield {'value': trace['value'], 'share': trace['share'], 'records': trace['records'],
               'stack': ';'.join(frame['name'] for frame in trace['frames']),
               'labels': ... if trace['labels'] else ''}


def rows_of_tags(document):
    for key in document['keys']:
        for value in key['values']:
            yield {'key': key['key'], 'text': value.get('text', value.get('number')),
                   'unit': value.get('unit', ''),
                   **{name: value[name] for name in ('value', 'share', 'records')}}


def is_same(cell, member):
    """Do a cell of CSV and a member of JSON say the same? An absent member of a row is its zero."""
    if member is ...:
        return True
    if member is None:
        return cell in ('', '0', 'false')
    if isinstance(member, bool):
        return cell == ('true' if member else 'false')
    if isinstance(member, float):
        return cell != '' and abs(float(cell) - member) <= 1e-5 * max(1, abs(member))
    if isinstance(member, int):
        return cell != '' and float(cell) == member
    return re.sub(r"^'('*[-=+@\t\r\n])", r'\1', cell) == member


def compare_csv(words, wanted, text):
    lines = list(csv.DictReader(io.StringIO(text)))
    wanted = list(wanted)
    if len(lines) != len(wanted):
        differences.append(f'{words}: CSV has {len(lines)} rows, JSON {len(wanted)}')
        return
    for number, (line, row) in enumerate(zip(lines, wanted)):
        if set(line) != set(row):
            differences.append(f'{words}: only one of CSV and JSON has {sorted(set(line) ^ set(row))}')
            return
        differences.extend(f'{words}: row {number}, {key}: CSV {line[key]!r}, JSON {row[key]!r}'
                           for key in row if not is_same(line[key], row[key]))


def is_percent_of(text, share):
    if share is None:
        return text in ('-', '')
    if text == '<0.01%':
        return 0 < abs(share) < 1e-4
    number = text.rstrip('%')
    digits = len(number.partition('.')[2])
    return abs(float(number) - 100 * share) <= 0.501 * 10 ** -digits


def compare_text(words, document, text):
    """The cells before the name, in the order of the titles; names may be made brief."""
    shown = [c for c in document['columns'] if 'title' in c and c['kind'] not in ('name', 'file')]
    lines = text.split('\n\n', 1)[1].split('\n')
    titles = lines[0].split()
    if sorted(titles) != sorted([c['title'] for c in shown] + ['function']):
        differences.append(f'{words}: text has the titles {titles}')
        return
    by_title = {c['title']: c for c in shown}
    for line, row in zip(lines[1:], document['rows']):
        if row.get('folded'):
            continue
        for title, cell in zip(titles, line.split()):
            if title in by_title and by_title[title]['kind'] == 'share' and not is_percent_of(cell, row[by_title[title]['key']]):
                differences.append(f'{words}: {title} of {row["name"]}: text {cell}, JSON {row[by_title[title]["key"]]}')


def compare(report, options, rows_of, profiles, has_text):
    words = [report, *options]
    found = answer(*words, '--json', *profiles)
    if found is None:
        return False
    document = json.loads(found)
    compare_csv([*words, *profiles], rows_of(document), answer(*words, '--csv', *profiles))
    if has_text:
        compare_text([*words, *profiles], document, answer(*words, '--color=never', *profiles))
    return True


compared = 0
for profile in sys.argv[2:]:
    for report, options, rows_of, profiles, has_text in [
            ('top', ['-n', '0'], rows_of_table, [profile], True),
            ('tree', ['--min=0'], rows_of_table, [profile], True),
            ('tree', ['--min=0.1'], rows_of_table, [profile], True),
            ('diff', [], rows_of_table, [profile, profile], False),
            ('peek', ['.'], rows_of_peek, [profile], False),
            ('traces', ['-n', '0', '--labels'], rows_of_traces, [profile], False),
            ('tags', ['--values=0'], rows_of_tags, [profile], False)]:
        compared += compare(report, options, rows_of, profiles, has_text)
print('\n'.join(differences[:20]))
print(f'{compared} answers')
sys.exit(1 if differences or compared < 100 else 0)
