# cause: dates read_row
# A date is parsed from text for each row.
from datetime import datetime


def read_row(text):
    return datetime.strptime(text, '%Y-%m-%d %H:%M:%S')


def main():
    last = None
    for i in range(60000):
        last = read_row('2024-05-%02d 12:%02d:00' % (i % 28 + 1, i % 60))
    print(last)


main()
