# cause: copying-objects all_lines
# sum(lists, []) copies the list for each part.
def parts():
    return [[i, i + 1, i + 2] for i in range(9000)]


def all_lines():
    return sum(parts(), [])


print(len(all_lines()))
