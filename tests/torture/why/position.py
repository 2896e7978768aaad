# cause: searching-lists number_of
# list.index finds the number of each name.
class Catalogue:
    def __init__(self, names):
        self.names = list(names)

    def number_of(self, name):
        return self.names.index(name)


def all_numbers(catalogue):
    return sum(catalogue.number_of(name) for name in catalogue.names)


print(all_numbers(Catalogue(f'article {i}' for i in range(7000))))
