# cause: joining-text|growing-arrays add
# Text that is an attribute grows with +=.
class Page:
    def __init__(self):
        self.body = ''

    def add(self, line):
        self.body += line + '\n'


def render(lines):
    page = Page()
    for i in range(lines):
        page.add(f'a line of the page, number {i}')
    return len(page.body)


print(render(20000))
