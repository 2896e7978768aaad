# cause: joining-text add
# Rows are put before a string that grows.
class Page:
    def __init__(self):
        self.html = ''
    def add(self, row):
        self.html = row + self.html
def main():
    page = Page()
    for i in range(40000):
        page.add('<tr><td>%d</td></tr>\n' % i)
    print(len(page.html))
main()
