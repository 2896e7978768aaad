# cause: starting-programs today
# A program is started for each number.
import subprocess
def today(i):
    return subprocess.run(['/bin/echo', str(i)], stdout=subprocess.PIPE).stdout
def main():
    return sum(len(today(i)) for i in range(250))
print(main())
