"""dumped.py: stacks of `pitot dump --json`, for what compares them with known ones."""
import json


def stacks(path):
    """The samples: [frames, is whole], frames innermost first, with name, file and line. A stack that is not whole may
    lack its outermost frames, as its end says."""
    with open(path) as dump:
        for sample in json.load(dump)['samples']:
            yield [[{'name': f.get('function', ''), 'file': f.get('file', ''), 'line': f.get('line', 0)}
                    for f in sample['frames']], sample['end'] in ('root', 'unchecked')]
