"""Calls itself, builtins and methods; half of its time is in one function."""
import math


def price(n):
    total = 0.0
    for i in range(1, n):
        total += math.sqrt(i) / (i + total)
    return total


def discount(n):
    return sum(i % 7 for i in range(n))


def search(depth):
    if depth == 0:
        return price(200)
    return search(depth - 1) + search(depth - 1)


class Till:
    def serve(self, customers):
        return [price(3000) + discount(1500) for _ in range(customers)]


if __name__ == '__main__':
    search(6)
    print(len(Till().serve(60)))
