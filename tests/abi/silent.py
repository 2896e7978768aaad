"""silent.py PORT|PATH N COMMAND...: N clients connect that have no token and say nothing, half a request, or a
byte of one now and then. Then the command is run. Prints how many of them the server had not closed when the
command had ended, and exits as it did."""
import select
import socket
import subprocess
import sys
import threading

where, count, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
over = threading.Event()
clients = []


def dribble(client):
    while not over.wait(0.02):
        try:
            client.send(b'x')
        except OSError:
            return


for i in range(count):
    client = socket.socket(socket.AF_UNIX if '/' in where else socket.AF_INET)
    client.connect(where if '/' in where else ('127.0.0.1', int(where)))
    try:
        if i % 3 == 1:
            client.send(b'GET /pprof/profile HTTP/1.1\r\nHost: x\r\n')
        if i % 3 == 2:
            threading.Thread(target=dribble, args=(client,), daemon=True).start()
    except OSError:
        pass  # it had to make room already
    clients.append(client)

status = subprocess.run(command).returncode
ended = select.poll()
for client in clients:
    ended.register(client, select.POLLIN | select.POLLRDHUP)
print(count - len(ended.poll(0)))
sys.exit(status)
