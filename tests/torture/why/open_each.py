# cause: whole-files setting
# A file of settings is opened for each question.
import os
import tempfile

PATH = os.path.join(tempfile.mkdtemp(), 'settings.ini')
with open(PATH, 'w', encoding='utf-8') as file:
    file.write('colour=blue\nsize=3\n')


def setting(name):
    with open(PATH, encoding='utf-8') as lines:
        for line in lines:
            key, _, value = line.partition('=')
            if key == name:
                return value.strip()
    return None


total = 0
for _ in range(40000):
    total += int(setting('size'))
print(total)
