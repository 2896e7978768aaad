#!/usr/bin/env python3
"""remote_server.py PROFILE LOG [unix SOCKET | tls CERT KEY CA]: a server of profiles on loopback, for
remote.t.sh. Prints its port (or "unix") once it listens; every request becomes a line of LOG."""
import http.server
import os
import socket
import socketserver
import ssl
import sys
import threading
import time

profile = open(sys.argv[1], 'rb').read()
log = open(sys.argv[2], 'a', buffering=1)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def address_string(self):
        return 'local'

    def answer(self, body, status=200, kind='application/octet-stream', headers=()):
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def redirect(self, to):
        self.answer(b'', 302, headers=[('Location', to)])

    def do_GET(self):
        log.write('GET %s\n' % self.path)
        path = self.path.split('?')[0]
        if path in ('/pprof/profile', '/pprof/heap', '/odd/place', '/pprof/seven'):
            self.answer(profile)
        elif path == '/pprof/symbol':
            self.answer(b'num_symbols: 7\n', kind='text/plain')
        elif path == '/pprof/cmdline':
            self.answer(b'/usr/local/bin/server\0-x\0')
        elif path == '/slow':
            time.sleep(300)
        elif path == '/drip':
            self.send_response(200)
            self.end_headers()
            for _ in range(3000):
                self.wfile.write(b'x')
                self.wfile.flush()
                time.sleep(0.1)
        elif path == '/endless':
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b'x' * 65536)
        elif path == '/cut':
            self.send_response(200)
            self.send_header('Content-Length', str(len(profile)))
            self.end_headers()
            self.wfile.write(profile[:len(profile) // 2])
        elif path == '/redirect':
            self.redirect('/pprof/profile')
        elif path == '/loop':
            self.redirect('/loop')
        elif path == '/to-file':
            self.redirect('file:///etc/passwd')
        elif path == '/empty':
            self.answer(b'')
        elif path == '/busy':
            self.answer(b'no profile today\ncome back\n', 503, 'text/plain; charset=utf-8',
                        [('X-Go-Pprof', '1')])
        else:
            self.answer(b'404 page not found\n', 404, 'text/plain')

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        log.write('POST %s %s\n' % (self.path, self.headers.get('Content-Type')))
        if not self.path.endswith('/symbol') or 'deaf' in self.path:
            return self.answer(b'', 404)
        lines = [b'num_symbols: 1']
        for word in body.split(b'+'):
            number = int(word, 16)
            if number % 16 != 15:
                lines.append(b'0x%x function_%x' % (number, number))
        self.answer(b'\n'.join(lines) + b'\n', kind='text/plain')


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        pass


class UnixServer(Server):
    address_family = socket.AF_UNIX

    def server_bind(self):
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = 'local', 0


mode = sys.argv[3] if len(sys.argv) > 3 else ''
if mode == 'unix':
    server = UnixServer(sys.argv[4], Handler)
    print('unix', flush=True)
else:
    server = Server(('127.0.0.1', 0), Handler)
    if mode == 'tls':
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[4], sys.argv[5])
        if len(sys.argv) > 6:
            context.load_verify_locations(sys.argv[6])
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_port, flush=True)
# Whoever started us may be gone without saying so.
threading.Thread(target=lambda: (time.sleep(1800), os._exit(1)), daemon=True).start()
server.serve_forever()
