# cause: searching-lists lookup
# "in" searches a list.
def lookup(names, n):
    hits = 0
    for i in range(n):
        if ("name%d" % i) in names:
            hits += 1
    return hits


def main():
    lookup(["name%d" % (i * 2) for i in range(3000)], 9000)


main()
