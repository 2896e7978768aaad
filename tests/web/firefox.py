"""firefox.py: drives headless Firefox by WebDriver BiDi over a WebSocket (RFC 6455); nothing but the standard library."""
import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time

LIMIT_S = 120


def find():
    """The browser's path, or None."""
    return shutil.which('firefox-esr') or shutil.which('firefox')


class FirefoxError(Exception):
    pass


class Firefox:
    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix='pitot-firefox.')
        self.process = subprocess.Popen(
            [find(), '--headless', '--no-remote', '--profile', self.home, '--remote-debugging-port', '0', 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors='replace')
        port = None
        for line in self.process.stderr:
            found = re.search(r'WebDriver BiDi listening on ws://127\.0\.0\.1:(\d+)', line)
            if found:
                port = int(found.group(1))
                break
        if port is None:
            raise FirefoxError('it does not listen')
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=LIMIT_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f'GET /session HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                             f'Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n').encode())
        self.buffer = b''
        while b'\r\n\r\n' not in self.buffer:
            self._more()
        self.buffer = self.buffer.split(b'\r\n\r\n', 1)[1]
        self.last_id = 0
        self.complaints = []  # what pages threw, and what the browser refused them
        self.version = self.send('session.new', capabilities={})['capabilities']['browserVersion']
        self.send('session.subscribe', events=['log.entryAdded'])
        return self

    def __exit__(self, *_):
        try:
            self.send('browser.close')
        except (FirefoxError, OSError):
            pass
        self.socket.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def _more(self):
        more = self.socket.recv(1 << 20)
        if not more:
            raise FirefoxError('the browser has ended')
        self.buffer += more

    def _take(self, size):
        while len(self.buffer) < size:
            self._more()
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def _read_message(self):
        message = b''
        while True:
            head = self._take(2)
            size = head[1] & 0x7f
            if size >= 126:
                size = struct.unpack('>H' if size == 126 else '>Q', self._take(2 if size == 126 else 8))[0]
            part = self._take(size)
            if head[0] & 0x0f in (0, 1):
                message += part
                if head[0] & 0x80:
                    return json.loads(message)

    def send(self, method, **params):
        self.last_id += 1
        text = json.dumps({'id': self.last_id, 'method': method, 'params': params}).encode()
        mask = os.urandom(4)
        size = len(text)
        head = struct.pack('>BB', 0x81, 0x80 | size) if size < 126 else \
            struct.pack('>BBH', 0x81, 0xfe, size) if size < 65536 else struct.pack('>BBQ', 0x81, 0xff, size)
        masked = bytes(c ^ mask[i % 4] for i, c in enumerate(text))
        self.socket.sendall(head + mask + masked)
        while True:
            message = self._read_message()
            if message.get('method') == 'log.entryAdded' and message['params']['level'] == 'error':
                self.complaints.append(message['params']['text'])
            if message.get('id') == self.last_id:
                if message.get('type') == 'error':
                    raise FirefoxError(f'{method}: {message["message"]}')
                return message['result']

    def open(self, address, width=1280, height=800):
        page = Page(self, self.send('browsingContext.create', type='tab')['context'])
        self.send('browsingContext.setViewport', context=page.context, viewport={'width': width, 'height': height})
        self.send('browsingContext.navigate', context=page.context, url=address, wait='complete')
        page.wait('document.documentElement.dataset.ready !== undefined')
        return page


class Page:
    def __init__(self, browser, context):
        self.browser, self.context = browser, context

    def eval(self, expression):
        answer = self.browser.send('script.evaluate', target={'context': self.context}, awaitPromise=True,
                                   expression=f'Promise.resolve({expression}).then(v => JSON.stringify(v === undefined ? null : v))')
        if answer['type'] != 'success':
            raise FirefoxError(answer['exceptionDetails']['text'])
        return json.loads(answer['result']['value'])

    def wait(self, expression):
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                if self.eval(f'Boolean({expression})'):
                    return
            except FirefoxError:  # another document is on its way
                pass
            if time.monotonic() > deadline:
                raise FirefoxError(f'never true: {expression}')
            time.sleep(0.05)

    def text(self, selector):
        return self.eval(f'document.querySelector({json.dumps(selector)}).textContent')

    def click(self, x, y):
        self.browser.send('input.performActions', context=self.context, actions=[
            {'type': 'pointer', 'id': 'mouse', 'actions': [{'type': 'pointerMove', 'x': int(x), 'y': int(y)},
                                                           {'type': 'pointerDown', 'button': 0}, {'type': 'pointerUp', 'button': 0}]}])

    def key(self, key):
        code = {'Escape': '\ue00c', 'Enter': '\ue007', 'ArrowDown': '\ue015'}.get(key, key)
        self.browser.send('input.performActions', context=self.context, actions=[
            {'type': 'key', 'id': 'keys', 'actions': [{'type': 'keyDown', 'value': code}, {'type': 'keyUp', 'value': code}]}])

    def screenshot(self, path):
        data = self.browser.send('browsingContext.captureScreenshot', context=self.context)['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))
