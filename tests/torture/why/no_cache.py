# own: ways
# A recursion computes the same numbers again and again.
class Stairs:
    def __init__(self, steps):
        self.steps = steps

    def ways(self, left):
        if left <= 1:
            return 1
        return sum(self.ways(left - s) for s in self.steps if s <= left)


print(Stairs((1, 2, 3)).ways(24))
