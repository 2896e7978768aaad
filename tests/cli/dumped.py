"""dumped.py: stacks of `pitot dump --json`, for what compares them with known ones."""
import json

PART = 1 << 22


def samples(path):
    """The samples, one after the other: a dump of minutes does not fit into memory."""
    with open(path) as dump:
        text = dump.read(PART)
        at = text.index('"samples":[') + len('"samples":[')
        while True:
            try:
                sample, at = json.JSONDecoder().raw_decode(text, at + (text[at:at + 1] == ','))
            except ValueError:  # the rest of the sample, or the end
                more = dump.read(PART)
                if not more and text[at:at + 1] == ']':
                    return
                if not more:
                    raise
                text, at = text[at:] + more, 0
                continue
            yield sample


def stacks(path):
    """The samples: [frames, is whole], frames innermost first, with name, file and line. A stack that is not whole may
    lack its outermost frames, as its end says."""
    for sample in samples(path):
        yield [[{'name': f.get('function', ''), 'file': f.get('file', ''), 'line': f.get('line', 0)}
                for f in sample['frames']], sample['end'] in ('root', 'unchecked')]
