# cause: json save
# A document is written as JSON again and again.
import json


def save(rows):
    return len(json.dumps(rows, indent=1))


def main():
    rows = [{'name': 'row %d' % i, 'value': i} for i in range(300)]
    for _ in range(120):
        save(rows)


main()
