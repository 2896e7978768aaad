#!/usr/bin/env python3
"""press_tab.py SHELL SCRIPT <LINES: types each line and the tab key into an interactive bash or zsh that has
loaded the completion script, and prints the words of the command line that follows, one line for each:
"top --mine". In a line \\t is a further tab.
"""
import os
import pty
import re
import select
import sys
import time

MARK = 'ready-' + 'for-keys'
START = {
    'bash': ['bash', '--norc', '--noprofile', '-i'],
    'zsh': ['zsh', '-f', '-i'],
}
# A command that prints the words it gets, beside the true one that the script asks.
SETUP = {
    'bash': 'bind "set enable-bracketed-paste off"; bind "set bell-style none"; . "{script}"; PS1=ready-; PS1+=for-keys',
    'zsh': 'unsetopt zle_bracketed_paste; fpath=("{folder}" $fpath); autoload -U compinit; compinit -u -D; unsetopt beep; '
           'unsetopt automenu; setopt nobeep; PS1=ready-; PS1+=for-keys',
}


def main():
    shell, script = sys.argv[1:3]
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM='dumb', COLUMNS='1000', PS1='$ ', HOME=os.getcwd())
        os.execvp(START[shell][0], START[shell])
    seen = ''

    def wait_for(pattern):
        nonlocal seen
        ends = time.monotonic() + 300
        while not re.search(pattern, seen):
            if not select.select([terminal], [], [], max(0, ends - time.monotonic()))[0]:
                sys.exit('%s does not print %r: %r' % (shell, pattern, seen[-2000:]))
            seen += os.read(terminal, 65536).decode(errors='replace')
        found, seen = seen, ''
        return found

    os.write(terminal, (SETUP[shell].format(script=script, folder=os.path.dirname(script)) + '\n').encode())
    wait_for(MARK)
    for line in sys.stdin:
        typed = line.rstrip('\n').replace('\\t', '\t') + '\t'
        # The start of the line comments it out, once it is completed; it is printed as a whole then.
        os.write(terminal, typed.encode() + (b'\x01echo "<" \x05 ">"\n'))
        found = wait_for(r'\n< ([^\n]*) >\r*\n[^\n]*' + MARK)
        print(re.findall(r'\n< pitot ([^\n]*?) *>\r*\n', found)[-1])
    os.write(terminal, b'exit\n')
    os.close(terminal)
    os.waitpid(child, 0)


if __name__ == '__main__':
    main()
