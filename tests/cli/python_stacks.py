"""python_stacks.py EXPECTED ROUNDS: spends CPU time at places whose stacks it writes to the file EXPECTED, a
JSON object: the name of the innermost function, which no other place has, to the list of [name, file, line] of its
callers, innermost first. Stacks go through Python and C in each way that a stack can."""
import ctypes
import functools
import gc
import itertools
import json
import random
import re
import sys
import threading
import time
import weakref
import zlib

HOLD_S = 0.012
expected = {}


def name_of(code):
    return getattr(code, 'co_qualname', code.co_name)


def callers(frame):
    found = []
    while frame is not None:
        found.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def hold(label, seconds=HOLD_S):
    space = {}
    name = 'hold_%s' % label
    exec(compile('def %s(clock, end):\n    while clock() < end:\n        n = 3000\n        while n: n -= 1\n' % name,
                 '<%s>' % name, 'exec'), space)
    busy = space.pop(name)
    clock = time.thread_time
    end = clock() + seconds
    expected[name] = [['hold', __file__, sys._getframe().f_lineno + 1]] + callers(sys._getframe(1))
    busy(clock, end)


# ---- ways to go on: each calls go(), which takes the next ----

def by_call(go):
    go()


def by_sorted(go):
    def key(x):
        if x == 1: go()
        return x
    sorted([3, 1, 2], key=key)


def by_map(go):
    list(map(lambda x: go(), [1]))


def by_re(go):
    def replaced(match):
        go()
        return ''
    re.sub('a', replaced, 'bac')


def by_json(go):
    json.loads('{"a": {"b": 1}}', object_hook=lambda d: go() if 'b' in d else d)


def by_ctypes(go):
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    done = []

    def compared(a, b):
        if not done:
            done.append(1)
            go()
        return a[0] - b[0]
    numbers = (ctypes.c_int * 3)(3, 1, 2)
    ctypes.CDLL(None).qsort(numbers, 3, 4, compare(compared))


def by_generator(go):
    def steps():
        yield 1
        go()
        yield 2
    for _ in steps():
        pass


def by_yield_from(go):
    def inner():
        go()
        yield 1

    def outer():
        yield from inner()
    next(outer())


def by_expression(go):
    sum(1 for _ in [1] if go() is None)


def by_comprehension(go):
    [go() for _ in [1]]


def by_exec(go):
    exec(compile('\n\ndef made(go):\n\n    go()\nmade(go)\n', '<made %d>' % id(go), 'exec'), {'go': go})


def by_getattr(go):
    class Any:
        def __getattr__(self, name):
            go()
            return 1
    Any().thing


def by_property(go):
    class Has:
        @property
        def thing(self):
            return go()
    Has().thing


def by_with(go):
    class Held:
        def __enter__(self):
            go()

        def __exit__(self, *args):
            pass
    with Held():
        pass


def by_exit(go):
    class Held:
        def __enter__(self):
            pass

        def __exit__(self, *args):
            go()
            return True
    with Held():
        raise ValueError


def by_del(go):
    class Gone:
        def __del__(self):
            go()
    gone = Gone()
    del gone


def by_weakref(go):
    class Gone:
        pass
    gone = Gone()
    ref = weakref.ref(gone, lambda _: go())
    del gone
    del ref


def by_collection(go):
    class Gone:
        def __del__(self):
            go()
    gone = Gone()
    gone.self = gone
    del gone
    gc.collect()


def by_class(go):
    class Body:
        go()


def by_init(go):
    class Made:
        def __init__(self):
            go()
    Made()


def by_hot_init(go):
    """Since 3.13 a frame that CPython shows to nobody stands below __init__ once a call of a class is hot."""
    class Made:
        def __init__(self, go):
            if go: go()
    for i in range(100):
        Made(go if i == 99 else None)


def by_partial(go):
    functools.partial(by_call, go)()


def by_reduce(go):
    functools.reduce(lambda a, b: go(), [1, 2])


def by_itertools(go):
    next(itertools.starmap(lambda a: go(), [(1,)]))


def by_compare(go):
    class Same:
        def __eq__(self, other):
            go()
            return True
    Same() in [Same()]


def by_except(go):
    try:
        raise KeyError
    except KeyError:
        go()
    finally:
        pass


def by_decorated(go):
    @functools.lru_cache(None)
    def cached():
        return go()
    cached()


def by_iterator(go):
    class Items:
        def __iter__(self):
            return self

        def __next__(self):
            go()
            raise StopIteration
    for _ in Items():
        pass


def by_coroutine(go):
    async def inner():
        go()

    async def outer():
        await inner()
    try:
        outer().send(None)
    except StopIteration:
        pass


def by_thread(go):
    thread = threading.Thread(target=go)
    thread.start()
    thread.join()


WAYS = [f for name, f in sorted(globals().items()) if name.startswith('by_')]


def take(ways, label):
    if not ways:
        hold(label)
    else:
        ways[0](lambda: take(ways[1:], label))


def without_lock(label):
    """C code that has released the lock: another thread runs Python meanwhile."""
    space = {}
    name = 'hold_%s' % label
    exec(compile('def %s(f, data):\n    f(data, 9)\n' % name, '<%s>' % name, 'exec'), space)
    noise = random.Random(1)
    data = bytes(noise.getrandbits(4) for _ in range(150000))
    expected[name] = [['without_lock', __file__, sys._getframe().f_lineno + 2]] + callers(sys._getframe(1))
    for _ in range(3):
        space[name](zlib.compress, data)


def freed(count):
    """Code that is gone by the time that anyone looks, much of it at the same addresses."""
    for i in range(count):
        space = {'hold': hold, 'i': i}
        exec(compile('\n' * (i % 7) + 'def gone_%d(hold, i):\n' % i + '\n' * (i % 5) + '    hold("gone" + str(i), 0.004)\n'
                     + 'gone_%d(hold, i)\n' % i, '<gone %d>' % i, 'exec'), space)
        del space
        gc.collect()


def main():
    rounds = int(sys.argv[2])
    gc.disable()  # or one of by_collection is collected anywhere
    for way in WAYS:
        take([way], way.__name__)
    choice = random.Random(7)
    for i in range(rounds):
        take([choice.choice(WAYS) for _ in range(choice.randrange(2, 14))], 'r%d' % i)
    take([by_call] * 90, 'deep')
    thread = threading.Thread(target=without_lock, args=('zlib',))
    thread.start()
    without_lock('zlib_main')
    thread.join()
    freed(rounds * 2)
    with open(sys.argv[1], 'w') as f:
        json.dump(expected, f)


main()
