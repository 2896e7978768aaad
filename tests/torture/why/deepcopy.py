# cause: serializing snapshot
# A whole tree of objects is copied for each step.
import copy


def snapshot(state):
    return copy.deepcopy(state)


def main():
    state = {i: [i, {'a': i}] for i in range(300)}
    for _ in range(120):
        snapshot(state)


main()
