"""Does a finding of `pitot why --json` name the cause that was planted?

why_causes.py PROGRAM FINDINGS: the program's first lines say which: "cause: ID[|ID...] [FUNCTION]" or
"own: FUNCTION". Prints the findings; the exit status says whether one of the first three fits.
"""
import json
import re
import sys


def planted(path):
    for line in open(path, encoding='utf-8'):
        if found := re.match(r'\W+(cause|own): (\S+) ?(\S*)$', line.rstrip()):
            kind, first, second = found.groups()
            return (set(first.split('|')), second) if kind == 'cause' else ({None}, first)
    raise SystemExit(f'{path}: no cause is planted')


def fits(finding, causes, function):
    """The function is the place, calls the cause, or is on the way to it."""
    if finding['kind'] == 'library' or finding.get('cause') not in causes:
        return False
    names = [finding.get('function', '')] + finding['path'] + [c['function'] for c in finding['callers']]
    return any(re.search(rf'\b{function}\b', name) for name in names) if function else True


def main():
    causes, function = planted(sys.argv[1])
    with open(sys.argv[2], encoding='utf-8') as file:
        findings = json.load(file)['findings']
    for finding in findings:
        print(f"{100 * finding['share']:.1f}% {finding['sentence']}")
    where = [i for i, finding in enumerate(findings) if fits(finding, causes, function)]
    print('the planted cause is finding', where[0] + 1 if where else 'none')
    sys.exit(0 if where and where[0] < 3 else 1)


main()
