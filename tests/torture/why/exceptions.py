# cause: exceptions parse
# Most texts are no numbers, and each costs an exception.
def parse(text):
    try:
        return int(text)
    except ValueError:
        return None


def main():
    bad = 0
    for i in range(700000):
        if parse('x%d' % (i & 7)) is None:
            bad += 1
    print(bad)


main()
