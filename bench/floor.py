"""floor.py: the work by which bench/requests and bench/page know the machine's speed."""
import os
import resource
import subprocess


def floor_s(profile, turns):
    """CPU seconds of inflating the profile: the fastest turn."""
    times = []
    for _ in range(turns):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([os.path.join(os.environ['PITOT_BUILD'], 'bench', 'inflate'), profile], check=True,
                       stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)
