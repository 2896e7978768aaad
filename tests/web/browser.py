"""browser.py: drives headless Chromium through its DevTools pipe; nothing but the standard library.

    with Browser() as browser:
        page = browser.open(path, width=1280, height=800)
        page.key('Enter')
        page.eval('document.title')

The browser reads commands from descriptor 3 and writes to 4: JSON, each message closed by a NUL.
"""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time
import traceback

LIMIT_S = 300
FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--hide-scrollbars', '--remote-debugging-pipe',
         # frames in a sandbox stay in the process of their page, where its session reaches them
         '--disable-features=IsolateSandboxedIframes']
READY = 'document.documentElement.dataset.ready !== undefined || document.querySelector(".broken") !== null'
KEYS = {'Enter': 13, 'Escape': 27, 'Backspace': 8, 'Home': 36, 'Tab': 9,
        'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40}


def find():
    """The browser's path, or None."""
    return shutil.which('chromium') or shutil.which('chromium-browser')


class BrowserError(Exception):
    pass


class Browser:
    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix='pitot-browser.')
        commands_out, self.commands = os.pipe()
        self.answers, answers_in = os.pipe()
        # The shell puts the two pipes where the browser looks for them (sh knows one digit only).
        self.process = subprocess.Popen(
            ['bash', '-c', f'exec "$@" 3<&{commands_out} 4>&{answers_in}', 'bash', find(), *FLAGS,
             f'--user-data-dir={self.home}', 'about:blank'],
            pass_fds=[commands_out, answers_in], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands_out)
        os.close(answers_in)
        self.last_id, self.buffer = 0, b''
        self.complaints = []  # what pages threw and what the browser refused them
        self.requests = []  # addresses that watched pages asked for
        self.dialogs = []  # what they showed in dialogs
        return self

    def __exit__(self, *_):
        try:
            self.send('Browser.close')
        except (BrowserError, OSError):
            pass
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.home, ignore_errors=True)

    def _read_message(self, deadline):
        while b'\0' not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise BrowserError('the browser does not answer')
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise BrowserError('the browser has ended')
            self.buffer += more
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def send(self, method, session=None, **params):
        self.last_id += 1
        command = {'id': self.last_id, 'method': method, 'params': params}
        if session:
            command['sessionId'] = session
        os.write(self.commands, json.dumps(command).encode() + b'\0')
        deadline = time.monotonic() + LIMIT_S
        while True:
            message = self._read_message(deadline)
            if message.get('id') == self.last_id:
                if 'error' in message:
                    raise BrowserError(f'{method}: {message["error"]["message"]}')
                return message['result']
            if message.get('method') == 'Runtime.exceptionThrown':
                self.complaints.append(message['params']['exceptionDetails']['text'])
            if message.get('method') == 'Log.entryAdded':
                self.complaints.append(message['params']['entry']['text'])
            if message.get('method') == 'Network.requestWillBeSent':
                self.requests.append(message['params']['request']['url'])
            if message.get('method') == 'Page.javascriptDialogOpening':
                self.dialogs.append(message['params']['message'])
                self._close_dialog(message['sessionId'])

    def _close_dialog(self, session):
        """Without waiting for an answer: another command is under way."""
        self.last_dialog = getattr(self, 'last_dialog', 1 << 30) + 1
        command = {'id': self.last_dialog, 'method': 'Page.handleJavaScriptDialog', 'sessionId': session,
                   'params': {'accept': True}}
        os.write(self.commands, json.dumps(command).encode() + b'\0')

    def open(self, path, width=1280, height=800, dark=False, fragment='', ready=READY, watch=False):
        """A new page, when `ready` is true in it. watch: what it asks for and shows is noted."""
        target = self.send('Target.createTarget', url='about:blank')['targetId']
        session = self.send('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        page = Page(self, session, target)
        if watch:
            page.send('Network.enable')
            page.send('Page.enable')
        page.send('Runtime.enable')
        page.send('Log.enable')
        page.send('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        page.send('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        url = path if path.startswith('http:') else pathlib.Path(path).resolve().as_uri()
        page.send('Page.navigate', url=url + fragment)
        page.wait(f'document.readyState === "complete" && ({ready})')
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target

    def close(self):
        self.browser.send('Target.closeTarget', targetId=self.target)

    def send(self, method, **params):
        return self.browser.send(method, session=self.session, **params)

    def eval(self, expression):
        answer = self.send('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise BrowserError(str(answer['exceptionDetails']))
        return answer['result'].get('value')

    def eval_in_frame(self, expression):
        """In the first frame of the page, which may be of another origin; None while there is none."""
        frames = self.send('Page.getFrameTree')['frameTree'].get('childFrames')
        if not frames:
            return None
        world = self.send('Page.createIsolatedWorld', frameId=frames[0]['frame']['id'])
        answer = self.send('Runtime.evaluate', expression=expression, returnByValue=True,
                           contextId=world['executionContextId'])
        if 'exceptionDetails' in answer:
            raise BrowserError(str(answer['exceptionDetails']))
        return answer['result'].get('value')

    def wait_in_frame(self, expression):
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                if self.eval_in_frame(f'Boolean({expression})'):
                    return
            except BrowserError as error:  # the frame's document is on its way
                if time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                raise BrowserError(f'never true in the frame: {expression}')
            time.sleep(0.02)

    def wait(self, expression):
        """Until it is true in the page, whichever that is: one that is on its way takes the place of
        the one before it, and what was asked there has no answer."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                if self.eval(f'Boolean({expression})'):
                    return
            except BrowserError as error:
                if 'context' not in str(error) and 'navigated' not in str(error):
                    raise
            if time.monotonic() > deadline:
                raise BrowserError(f'never true: {expression}')
            time.sleep(0.02)

    def text(self, selector):
        return self.eval(f'document.querySelector({json.dumps(selector)}).textContent')

    def key(self, key):
        params = {'key': key, 'windowsVirtualKeyCode': KEYS.get(key, ord(key[0].upper()))}
        if len(key) == 1:
            params['text'] = key
        elif key == 'Enter':
            params['text'] = '\r'
        self.send('Input.dispatchKeyEvent', type='keyDown', **params)
        self.send('Input.dispatchKeyEvent', type='keyUp', **params)

    def type(self, text):
        self.send('Input.insertText', text=text)

    def move(self, x, y):
        self.send('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)

    def painted(self):
        """The browser drops clicks on a page before the page's first frame. A page in the background has no frames."""
        self.eval('new Promise(r => { requestAnimationFrame(() => requestAnimationFrame(() => r(0))); setTimeout(() => r(0), 2000); })')

    def box_of(self, selector):
        """Left, top, width and height. A canvas has its size once it is painted."""
        self.painted()
        return self.eval('(r => [r.left, r.top, r.width, r.height])'
                         f'(document.querySelector({selector!r}).getBoundingClientRect())')

    def click(self, x, y):
        self.painted()
        for kind in ('mousePressed', 'mouseReleased'):
            self.send('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def drag(self, start, end, shift=False):
        self.painted()
        for kind, (x, y) in [('mousePressed', start), ('mouseMoved', end), ('mouseReleased', end)]:
            self.send('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1, modifiers=8 if shift else 0)

    def screenshot(self, path):
        self.painted()
        data = self.send('Page.captureScreenshot', format='png')['data']
        pathlib.Path(path).write_bytes(base64.b64decode(data))


def run_tests(tests):
    """Runs each with one browser and prints TAP. Returns the exit status."""
    failed = 0
    with Browser() as browser:
        for number, test in enumerate(tests, 1):
            browser.complaints.clear()
            try:
                test(browser)
            except (AssertionError, OSError, BrowserError) as error:
                failed += 1
                for line in traceback.format_exc().splitlines()[-4:] + str(error).splitlines():
                    print(f'# {line}')
                print(f'not ok {number} - {test.__name__}', flush=True)
            else:
                print(f'ok {number} - {test.__name__}', flush=True)
    print(f'1..{len(tests)}')
    return 1 if failed else 0
