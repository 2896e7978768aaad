# cause: compiling-expressions is_word
# A regular expression is compiled again for each word.
import re


def is_word(text):
    re.purge()
    return re.match(r'^[a-z]+(-[a-z]+)*$', text) is not None


def main():
    for i in range(1500):
        is_word('word-%d' % i)


main()
