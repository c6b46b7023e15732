"""What the programs of bench/ stand on: a temporary folder with nginx,
symcached and load in it, all of which is gone when the rig is left."""

import collections
import contextlib
import ctypes
import fcntl
import glob
import json
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("SYMCACHE_BUILD", TOP + "/build"))
NGINX = os.environ.get("SYMCACHE_NGINX", "/usr/sbin/nginx")
CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"

# value of main= for an nginx that is measured
PINNED = "worker_cpu_affinity auto;"

# requests and bytes in a run of so many seconds, in which nginx used cpu
# seconds; status: answers that are neither 2xx nor 3xx
Load = collections.namedtuple(
    "Load", "requests bytes seconds status failed p50 p99 cpu")

# of swarm.c; took and at in seconds
Answer = collections.namedtuple("Answer", "path status body took at")


class Rig:
    def __enter__(self):
        check = [TOP + "/tools/packages", "check", "bench"]
        if subprocess.call(check) != 0:
            sys.exit(1)
        own_network()
        self.dir = tempfile.mkdtemp(prefix="symcache-bench.")
        os.chmod(self.dir, 0o755)
        self.running = []
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return self

    def __exit__(self, *_):
        for s in (signal.SIGTERM, signal.SIGINT):
            signal.signal(s, signal.SIG_IGN)
        for p in reversed(self.running[:]):
            self.stop(p)
        shutil.rmtree(self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes)
                    else content.encode())
        return path

    # processes

    def start(self, name, command, ready, seconds=60):
        """Starts a program and waits until ready() is true."""
        log = self.path(name + ".out")
        with open(log, "ab") as out:
            p = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=out)
        self.running.append(p)
        end = time.monotonic() + seconds
        while not ready():
            if p.poll() is not None or time.monotonic() > end:
                with open(log, errors="replace") as f:
                    sys.exit("%s does not run:\n%s" % (name, f.read()))
            time.sleep(0.02)
        return p

    def stop(self, p, sign=signal.SIGTERM):
        if p in self.running:
            self.running.remove(p)
        if p.poll() is None:
            for pid in [p.pid, *children(p.pid)]:
                if state(pid) == "T":
                    os.kill(pid, signal.SIGCONT)
            p.send_signal(sign)
        try:
            p.wait(30)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()

    def nginx(self, server, workers=1, main="", http="", name="nginx",
              under=()):
        """Starts nginx; returns it with its port and worker_processes."""
        port = free_port()
        temp = "".join("%s_temp_path %s;\n" % (t, self.path(name + "." + t))
                       for t in ("client_body", "proxy", "fastcgi", "uwsgi",
                                 "scgi"))
        conf = self.write(name + ".conf", f"""
            load_module {BUILD}/ngx_symcache_module.so;
            {"user root;" if os.geteuid() == 0 else ""}
            daemon off;
            worker_processes {workers};
            pid {self.path(name)}.pid;
            error_log {self.path(name)}.log;
            {main}
            events {{ worker_connections 19000; }}
            http {{
                {temp}
                access_log off;
                sendfile on;
                tcp_nopush on;
                keepalive_requests 100000000;
                {http}
                server {{
                    listen 127.0.0.1:{port} backlog=4096;
                    {server}
                }}
            }}
            """)
        p = self.start(name, [*under, NGINX, "-p", self.dir, "-c", conf],
                       lambda: accepts(("127.0.0.1", port)))
        p.port = port
        p.url = "http://127.0.0.1:%d" % port
        return p

    def symcached(self, config):
        sock = self.path("symcached.sock")
        self.port = free_port()
        config = {"listen": "unix:" + sock,
                  "downloads": self.path("downloads"),
                  **config}
        config["symbolication"] = {"listen": "127.0.0.1:%d" % self.port,
                                   **config.get("symbolication", {})}
        conf = self.write("symcached.json", json.dumps(config, indent=2))
        return self.start("symcached", [BUILD + "/symcached", "-c", conf],
                          lambda: accepts(sock))

    def symbolicated(self, under=()):
        """Starts symbolicated beside symcached, with the same file."""
        address = ("127.0.0.1", self.port)
        p = self.start("symbolicated", [*under, BUILD + "/symbolicated", "-c",
                                        self.path("symcached.json")],
                       lambda: accepts(address))
        p.port, p.url = self.port, "http://%s:%d" % address
        p.answering = [p.pid]    # its child makes names readable
        return p

    def clear(self, *names):
        for n in names:
            shutil.rmtree(self.path(n), ignore_errors=True)

    def wait(self, what, check, seconds=60):
        end = time.monotonic() + seconds
        while not check():
            if time.monotonic() > end:
                sys.exit("timed out: " + what)
            time.sleep(0.05)

    def metric(self, name):
        """A value of symcached's /metrics."""
        out = subprocess.run(
            ["curl", "-s", "--unix-socket", self.path("symcached.sock"),
             "http://symcached/metrics"], capture_output=True, text=True)
        found = re.search(r"^%s (\S+)$" % re.escape(name), out.stdout, re.M)
        return float(found[1]) if found else 0

    # load

    def swarm(self, nginx, connections, mode, paths, held=None):
        """Clients of swarm.c.  held is called when all have asked.  Returns
        the answers and whether all clients have had all of theirs."""
        program = self.path("swarm")
        if not os.path.exists(program):
            subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-o",
                            program, HERE + "/swarm.c"], check=True)
        listed = self.write("paths", "".join(p + "\n" for p in paths))
        p = subprocess.Popen([program, str(nginx.port), str(connections),
                              mode, listed], stdout=subprocess.PIPE, text=True)
        self.running.append(p)
        if p.stdout.readline() != "sent\n":
            sys.exit("swarm did not start")
        if held:
            held()
        answers = [Answer(int(f[0]), int(f[1]), int(f[2]), int(f[3]) / 1e6,
                          float(f[4])) for f in map(str.split, p.stdout)]
        self.running.remove(p)
        return answers, p.wait() == 0

    def wrk(self, server, path, connections, seconds, headers=(), args=()):
        """One run of wrk: Load.  It has the CPUs for itself that workers with
        worker_cpu_affinity do not use, if there are any.  The CPU time is that
        of the processes that answer."""
        workers = answering(server)
        cpus = sorted(os.sched_getaffinity(0))
        if workers != [server.pid]:
            cpus = cpus[len(workers):] or cpus
        # wrk itself takes only whole seconds, so timeout(1) ends it
        command = ["timeout", "-s", "INT", str(seconds), "wrk", "-d600s",
                   "--timeout", "60s", "-t%d" % min(2, len(cpus), connections),
                   "-c%d" % connections, "-s", HERE + "/wrk.lua"]
        for h in headers:
            command += ["-H", h]
        for _ in range(10):
            cpu = cpu_seconds(workers)
            out = subprocess.run(
                [*command, server.url + path, "--", *map(str, args)],
                capture_output=True, text=True,
                preexec_fn=lambda: os.sched_setaffinity(0, cpus))
            cpu = cpu_seconds(workers) - cpu
            found = re.search(r"^FIGURES (.*)$", out.stdout, re.M)
            # there is no answer if other work took all of the CPU
            f = [int(x) for x in found[1].split()] if found else [0]
            if f[0]:
                load = Load(f[0], f[1], f[2] / 1e6, *f[3:], cpu)
                if load.failed:
                    sys.exit("%s: %s" % (path, load))
                return load
        sys.exit("wrk: " + out.stdout + out.stderr)

    # instructions

    def valgrind(self):
        """What stands before the command of a server for counted()."""
        return ("valgrind", "-q", "--tool=callgrind", "--instr-atstart=no",
                "--callgrind-out-file=" + self.path("callgrind.out"))

    def callgrind(self, server, main="", http=""):
        """Starts nginx, to be looked at by counted()."""
        return self.nginx(server, main=main + "master_process off;",
                          http=http, name="callgrind", under=self.valgrind())

    def callgrind_symbolicated(self):
        """Starts symbolicated, to be looked at by counted().  Its filter of
        system calls is left out, which would stop valgrind."""
        library = self.path("unfiltered.so")
        subprocess.run(["cc", "-shared", "-o", library, "-x", "c", "-"],
                       input="int seccomp_load(void *f) { return 0; }",
                       text=True, check=True)
        return self.symbolicated(under=("env", "LD_PRELOAD=" + library,
                                        *self.valgrind()))

    def counted(self, server, run):
        """Instructions of a server below callgrind while run() is called."""
        def control(*option):
            subprocess.run(["callgrind_control", *option, str(server.pid)],
                           check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)

        control("-i", "on")       # from the first time on
        control("-z")
        run()
        control("-d")
        dumps = glob.glob(self.path("callgrind.out.*"))
        with open(dumps[0]) as f:
            found = re.search(r"^(?:summary|totals): (\d+)", f.read(), re.M)
        for d in dumps:
            os.unlink(d)
        return int(found[1])

    def instructions(self, server, request, n=100):
        """Instructions that a server below callgrind needs for a request, once
        it knows the file: the median of five runs, as large answers are sent
        in more or fewer parts."""
        def asked(times):
            return self.counted(
                server, lambda: ask(server.port, *[request] * times))

        ask(server.port, *[request] * 2)
        return statistics.median((asked(n + 1) - asked(1)) / n
                                 for _ in range(5))


def tool(name):
    """A program of LLVM, which may have a version behind its name; or None."""
    return shutil.which(name) or next(
        filter(None, (shutil.which("%s-%d" % (name, v))
                      for v in range(30, 13, -1))), None)


def own_network():
    """Goes, as root, into a network of its own, which paces nothing: with BBR
    the cost of an answer jumps by a tenth with bytes of its header."""
    if ctypes.CDLL(None).unshare(0x40000000) != 0:     # CLONE_NEWNET
        return
    with socket.socket() as s:                         # SIOCSIFFLAGS, IFF_UP
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1))
    with contextlib.suppress(OSError), open(CONGESTION, "w") as f:
        f.write("reno")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def accepts(address):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as s:
        return s.connect_ex(address) == 0


def request(path, *headers, method="GET", body=""):
    lines = ["%s %s HTTP/1.1" % (method, path), "Host: localhost", *headers,
             "", body]
    return "\r\n".join(lines).encode()


def ask(port, *requests):
    """Sends requests one after the other over one connection; returns the
    length and the head of the last answer."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        for text in requests:
            s.sendall(text)
            got = b""
            while b"\r\n\r\n" not in got:
                more = s.recv(65536)
                if not more:
                    sys.exit("no answer to: %s" % text)
                got += more
            head, _, rest = got.partition(b"\r\n\r\n")
            found = re.search(rb"\ncontent-length: (\d+)", head.lower())
            length = int(found[1]) if found else 0
            left = length - len(rest)
            while left > 0:
                left -= len(s.recv(min(left, 1 << 20)))
    return len(head) + 4 + length, head.decode("latin-1")


def turns(n, base, *runs):
    """Calls base, runs and base again, n times.  Each returns answers a second
    and answers a CPU second.  Returns the median of the first of base, and
    pairs of medians of both in relation to base: of base itself, the second to
    the first in the turn, which shows what the others are worth, and of runs
    to the mean of the two."""
    for run in (base, *runs):
        run()
    got = [[run() for run in (base, *runs, base)] for _ in range(n)]

    def median(i):
        return [statistics.median(2 * g[i][k] / (g[0][k] + g[-1][k])
                                  for g in got) for k in (0, 1)]
    again = [statistics.median(g[-1][k] / g[0][k] for g in got)
             for k in (0, 1)]
    return (statistics.median(g[0][0] for g in got),
            [again, *(median(i + 1) for i in range(len(runs)))])


def cpu_seconds(pids):
    """User and system time of all threads that these processes have."""
    total = 0
    for pid in pids:
        for stat in glob.glob("/proc/%d/task/*/schedstat" % pid):
            with open(stat) as f:
                total += int(f.read().split()[0])
    return total / 1e9


def private_memory(pids):
    """Bytes that only these processes have, and have written: whether code is
    theirs alone depends on what else runs."""
    total = 0
    for pid in pids:
        with open("/proc/%d/smaps_rollup" % pid) as f:
            for line in f:
                if line.startswith("Private_Dirty:"):
                    total += int(line.split()[1]) * 1024
    return total


def answering(server):
    """The processes of a server that answer: its workers, if it has any."""
    return getattr(server, "answering", None) or children(server.pid) \
        or [server.pid]


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(x) for x in f.read().split()]


def state(pid):
    """As in proc(5): R, S, T, ..."""
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rpartition(")")[2].split()[0]


def table(title, head, rows):
    """Prints a table in Markdown, and what it was measured on."""
    commit = subprocess.run(["git", "-C", TOP, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True).stdout.strip()
    with open("/proc/cpuinfo") as f:
        cpu = re.search(r"^model name\s*: (.*)$", f.read(), re.M)
    with open(CONGESTION) as f:
        tcp = f.read().strip()
    print("%s (commit %s; %s, %d cores; Linux %s, TCP %s; load average %.1f)\n"
          % (title, commit or "unknown", cpu[1] if cpu else os.uname().machine,
             os.cpu_count(), os.uname().release, tcp, os.getloadavg()[0]))
    rows = [[str(c) for c in r] for r in rows]
    width = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    for r in [head, ["-" * w for w in width], *rows]:
        print("| " + " | ".join(c.ljust(w) for c, w in zip(r, width)) + " |")
