#!/usr/bin/env python3
"""Runs a program on a terminal of its own and talks to it by a script from standard input.

    send TEXT     types the text; \\n, \\t and \\xNN as in C
    expect TEXT   waits until the program has printed it, or fails after 300 s
    knock KEYS TEXT
                  types the keys each second until the program has printed the text
    size R C      gives the terminal R rows and C columns, from the beginning
    end           waits until the program ends
    show          prints, as they came, the bytes that the terminal got

Exit status: the program's, or 1 with what was printed if something did not come.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 300


def unescape(text):
    return text.encode().decode("unicode_escape").encode("latin-1")


def main():
    script = [line.rstrip("\n") for line in sys.stdin]
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
        for line in script:
            if line.startswith("size "):
                rows, columns = map(int, line.split()[1:])
                fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background ignores it
        os.execv(sys.argv[1], sys.argv[1:])
    seen, rest = b"", b""

    def read(deadline):
        nonlocal seen, rest
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b""
        seen += data
        rest += data
        return bool(data)

    for line in script:
        verb, _, text = line.partition(" ")
        if verb == "send":
            os.write(terminal, unescape(text))
            continue
        if verb == "show":
            sys.stdout.buffer.write(seen)
        if verb in ("show", "size"):
            continue
        keys, knock_at = "", 0.0
        if verb == "knock":
            keys, text = text.split(" ")
        wanted, deadline = unescape(text), time.monotonic() + PATIENCE
        while verb == "end" or wanted not in rest:
            if keys and time.monotonic() >= knock_at:
                os.write(terminal, unescape(keys))
                knock_at = time.monotonic() + 1
            if not read(min(deadline, knock_at) if keys else deadline):
                if keys and time.monotonic() < deadline:
                    continue
                if verb == "end":
                    break
                sys.stderr.write("did not come: %r after %r\n" % (wanted, seen[-2000:]))
                os.close(terminal)
                os.waitpid(child, 0)
                return 1
        if verb in ("expect", "knock"):
            rest = rest[rest.index(wanted) + len(wanted):]
    status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status)


sys.exit(main())
