# cause: moving-elements drain
# The first item of a list is removed again and again.
def drain(queue):
    total = 0
    while queue:
        total += queue.pop(0)
    return total
def main():
    t = 0
    for _ in range(2):
        t += drain(list(range(150000)))
    print(t)
main()
