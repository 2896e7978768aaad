"""record_services.py PITOT SERVICE ROUNDS: what recording costs a service under load.

Runs the service alone, and below pitot record by the kernel's events and by the library, in turn. Each run
answers the same number of requests. Prints the wall time of the load, and the CPU time of the service with
all that started it (the recorder, too), as ratios of medians to the service alone. Exit status 1: a ratio is
above 1.02 by more than the runs of the service alone vary; 2: a run failed; 77: something is not installed.
"""
import glob
import os
import pwd
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

LIMIT = 1.02
PITOT, NAME, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
ROOM = os.getcwd()
PORT = str(random.randrange(20000, 40000))

NODE = "require('http').createServer((q, r) => { let s = 0; for (let i = 0; i < 20000; i++) s += i % 7; " \
       f"r.end(JSON.stringify({{s}})); }}).listen({PORT}, '127.0.0.1');\n"
JAVA = f'''import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
public class Service {{
    public static void main(String[] a) throws Exception {{
        HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", {PORT}), 64);
        s.createContext("/", e -> {{
            long n = 0;
            for (int i = 0; i < 200000; i++) n += i % 7;
            byte[] b = Long.toString(n).getBytes();
            e.sendResponseHeaders(200, b.length);
            e.getResponseBody().write(b);
            e.close();
        }});
        s.start();
    }}
}}
'''
NGINX = f'''daemon off; worker_processes 2; pid {ROOM}/nginx.pid; error_log {ROOM}/nginx.err;
events {{ }}
http {{ access_log off; client_body_temp_path {ROOM}/t1; proxy_temp_path {ROOM}/t2; fastcgi_temp_path {ROOM}/t3;
uwsgi_temp_path {ROOM}/t4; scgi_temp_path {ROOM}/t5;
server {{ listen 127.0.0.1:{PORT}; location / {{ return 200 "hello"; }} }} }}
'''


def write(name, text):
    with open(name, 'w', encoding='ascii') as out:
        out.write(text)
    return os.path.join(ROOM, name)


def ab(count):
    return ['ab', '-q', '-k', '-n', str(count), '-c', '8', f'http://127.0.0.1:{PORT}/']


def needs(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        print('not installed:', ', '.join(missing))
        sys.exit(77)


def quiet(command, **more):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, **more)


def postgres():
    """A cluster of the user nobody, whom the server's commands become."""
    folders = sorted(glob.glob('/usr/lib/postgresql/*/bin'))
    if folders:
        os.environ['PATH'] += ':' + folders[-1]
    needs('postgres', 'initdb', 'pgbench', 'createdb', 'setpriv')
    owner = pwd.getpwnam('nobody')
    becomes = ['setpriv', f'--reuid={owner.pw_uid}', '--clear-groups'] if os.getuid() == 0 else []
    data = os.path.join(ROOM, 'data')
    os.mkdir(data)
    if becomes:
        os.chown(data, owner.pw_uid, -1)
        for folder in (ROOM, os.path.dirname(ROOM)):
            os.chmod(folder, 0o755)
    quiet(becomes + ['initdb', '-D', data, '-A', 'trust', '-U', 'pitot'])
    client = ['-h', '127.0.0.1', '-p', PORT, '-U', 'pitot']

    def fill():
        if subprocess.run(['createdb'] + client + ['bench'], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            quiet(['pgbench'] + client + ['-i', '-q', 'bench'])

    return (becomes + ['postgres', '-D', data, '-p', PORT, '-h', '127.0.0.1', '-k', ''],
            ['pgbench'] + client + ['-n', '-S', '-c', '4', '-t', '5000', 'bench'], fill)


def service():
    """Command, load, what to do before the load."""
    if NAME == 'redis':
        needs('redis-server', 'redis-benchmark')
        return (['redis-server', '--port', PORT, '--save', '', '--dir', ROOM],
                ['redis-benchmark', '-p', PORT, '-q', '-n', '200000', '-t', 'get,set'], None)
    if NAME == 'postgres':
        return postgres()
    if NAME == 'nginx':
        needs('nginx', 'ab')
        return ['nginx', '-c', write('nginx.conf', NGINX), '-p', ROOM], ab(60000), None
    if NAME == 'node':
        needs('node', 'ab')
        return ['node', write('service.js', NODE)], ab(20000), None
    needs('java', 'javac', 'ab')
    quiet(['javac', write('Service.java', JAVA)])
    return ['java', '-cp', ROOM, 'Service'], ab(20000), None


def listens():
    for _ in range(600):
        try:
            socket.create_connection(('127.0.0.1', int(PORT)), 1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def run(command, load, prepare):
    """Wall seconds of the load, CPU seconds of the service and what started it."""
    with open('said', 'wb') as said:
        server = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
    try:
        if not listens():
            raise RuntimeError('nothing listens')
        if prepare:
            prepare()
        begun = time.monotonic()
        quiet(load)
        wall = time.monotonic() - begun
    finally:
        server.send_signal(signal.SIGTERM)
        usage = os.wait4(server.pid, 0)[2]
    return wall, usage.ru_utime + usage.ru_stime


def end(*_):
    """A service does not outlive the test: run() ends it."""
    raise RuntimeError('ended by a signal')


def main():
    signal.signal(signal.SIGTERM, end)
    command, load, prepare = service()
    kinds = {'alone': command}
    for engine in ('perf', 'bpf', 'preload'):
        kinds[engine] = [PITOT, 'record', '-q', f'--engine={engine}', '-o', f'{engine}.pb.gz'] + command
        if engine == 'bpf' and subprocess.run([PITOT, 'record', '-q', '--engine=bpf', '-o', 'probe.pb.gz', 'true'],
                                              stderr=subprocess.DEVNULL, check=False).returncode:
            del kinds[engine]
    runs = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for kind, line in kinds.items():
            runs[kind].append(run(line, load, prepare))
    failed, said = False, []
    for i, what in enumerate(('wall', 'CPU')):
        alone = [r[i] for r in runs['alone']]
        middle = statistics.median(alone)
        noise = (max(alone) - min(alone)) / middle / 2
        said.append(f'{what} alone {middle:.2f} s, +-{100 * noise:.0f} %')
        for kind in kinds:
            if kind == 'alone':
                continue
            ratio = statistics.median(r[i] for r in runs[kind]) / middle
            failed |= ratio > LIMIT + noise
            said.append(f'{kind} {ratio:.2f}x')
    print(', '.join(said))
    sys.exit(failed)


try:
    main()
except (RuntimeError, OSError, subprocess.SubprocessError) as problem:
    print(problem)
    sys.exit(2)
