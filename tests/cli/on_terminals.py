#!/usr/bin/env python3
"""on_terminals.py [shown WORD | columns N] <COMMANDS: runs each line's command with a terminal of its own.

A line is words as the shell quotes them; standard input, output and error are the terminal. Nothing
that it gets may be for a terminal to obey: no control characters but tabs, line feeds (which the
kernel makes CR LF) and gprof's form feeds at the beginnings of pages, no C1 controls, no marks that
turn the direction of writing, nothing but UTF-8. The word "moved" may not begin a line or a column: it
stands behind newlines and tabs of names. With `shown` each must have printed the word; with
`columns` the terminal has so many, and no line may be wider but messages ("pitot: ...").
Prints what is wrong; exit status 1 if anything was.
"""
import fcntl
import os
import pty
import re
import shlex
import struct
import sys
import termios

OBEYED = re.compile(r'[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')


MOVED = re.compile(r'(?:^|[\n\t])moved')


def output_of(words, columns):
    """All that the terminal got, and the exit status (below 0: a signal)."""
    child, terminal = pty.fork()
    if child == 0:
        try:
            if columns:
                fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 40, columns, 0, 0))
            os.execv(words[0], words)
        except OSError:
            os._exit(127)
    os.write(terminal, b'\x04')  # whoever asks gets the end of the input
    got = b''
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # EIO: the last one has closed it
            piece = b''
        if not piece:
            break
        got += piece
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return got, status


def complaint_about(got, status, word, columns):
    if status < 0 or status == 127:
        return 'ended with %d' % status
    try:
        text = got.decode().replace('\r\n', '\n')
    except UnicodeDecodeError as error:
        return str(error)
    bad = OBEYED.search(re.sub(r'(^|\n)\f\n', r'\1\n', text))
    if bad:
        return 'a terminal obeys %r after %r' % (bad[0], text[max(0, bad.start() - 60):bad.start()])
    if MOVED.search(text):
        return 'a name goes on elsewhere: %r' % MOVED.split(text)[0][-100:]
    for line in text.split('\n') if columns else []:
        if len(line) > columns and not line.startswith('pitot: '):
            return '%d columns: %r' % (len(line), line)
    return None if word in text else '%r is not shown: %r' % (word, text[:300])


def main():
    word = sys.argv[2] if sys.argv[1:2] == ['shown'] else ''
    columns = int(sys.argv[2]) if sys.argv[1:2] == ['columns'] else 0
    count, failed = 0, False
    for line in sys.stdin:
        words = [os.fsencode(w) for w in shlex.split(line)]
        if not words:
            continue
        count += 1
        complaint = complaint_about(*output_of(words, columns), word, columns)
        if complaint:
            print('%s: %s' % (line.strip().encode('unicode_escape').decode(), complaint))
            failed = True
    return 1 if failed or not count else 0


sys.stdin.reconfigure(errors='surrogateescape')
sys.exit(main())
