"""frames_python.py library|work TICKS-LIBRARY [distinct]: a program of bench/frames. With `library`: prints the nanoseconds of a tick 100
and 400 functions deep, of a multiplication, and the CPU seconds of all threads; with a depth in place of it, works that deep for 1 s
of CPU time. distinct: the functions are 400 different ones, else one."""
import ctypes
import statistics
import sys
import time

SHALLOW, DEEP, ROUNDS, TICKS = 100, 400, 7, 1000
mode, library = sys.argv[1:3]
is_distinct = len(sys.argv) > 3
here = ctypes.CDLL(library)
here.take_ticks.restype = here.multiply_ns.restype = ctypes.c_double
sys.setrecursionlimit(5000)

functions = []
for number in range(400 if is_distinct else 1):
    exec(compile(f'\n\ndef go_{number}(depth, work):\n    if depth: return functions[depth % len(functions)](depth - 1, work)\n'
                 f'    return work()\n', f'/a/folder/of/files/file_{number}.py', 'exec'))
    functions.append(globals()[f'go_{number}'])


def spend():
    end = time.process_time() + 1
    n = 0
    while time.process_time() < end:
        for n in range(1000):
            pass


if mode == 'library':
    here.learn_slot()
    ticks = {SHALLOW: [], DEEP: []}
    multiply = []
    for _ in range(ROUNDS):
        for depth, figures in ticks.items():
            figures.append(functions[0](depth, lambda: here.take_ticks(TICKS)))
        multiply.append(here.multiply_ns(10_000_000))
    print(*(statistics.median(figures) for figures in (*ticks.values(), multiply)))
else:
    functions[0](int(mode), spend)
    print(here.multiply_ns(10_000_000))
