"""Attacks on the sandbox of the code suites, as data.

Each is the body of a function ``f`` that returns ``'escaped'`` when what it did was allowed, or does something that the
scene of the test shows: the secret turns up in a result, a file outside appears or changes, the decoy dies, the
listener is reached. No attack does harm where it succeeds: it writes to the test's own folder, signals the test's own
decoy, connects to the test's own listener, and what could fill or stop a machine is not run without bubblewrap.

The names in capitals are given: SECRET and TARGET (paths outside, one that exists and one that does not), FOLDER (the
folder of both), DECOY (a process of the test), PORT (its listener), SITE (a folder of installed packages), HOST (the
machine's name).
"""

# ruff: noqa: E501 - a table
import textwrap
from dataclasses import dataclass
from typing import Final

ESCAPED: Final = "escaped"


@dataclass(frozen=True)
class Attack:
    """One attempt to get out, or to take more than is allowed."""

    name: str
    body: str
    seen: str
    """How it would be seen to succeed, in words."""
    without: str = "held"
    """What becomes of it without bubblewrap: ``held``, or ``open``, where nothing certain holds it."""
    bare: bool = True
    """Whether it is run in a plain interpreter, to see that it would succeed where nothing holds it."""

    @property
    def code(self) -> str:
        """The answer's code."""
        return "def f():\n" + textwrap.indent(self.body.strip("\n"), "    ") + "\n"


_VALUE = "f() gives 'escaped'"
_LEAK = "the secret is in the result"
_FILE = "a file outside is made or changed"
DEAD = "the decoy is not alive any more"
_LIBC = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"

READING: Final = (
    Attack("read a file", "return open(SECRET).read()", _LEAK, "open"),
    Attack("read by os.open", "import os; return os.read(os.open(SECRET, os.O_RDONLY), 99)", _LEAK, "open"),
    Attack("read upwards", "return open('../' * 40 + SECRET).read()", _LEAK, "open"),
    Attack("read through /proc/self/root", "return open('/proc/self/root' + SECRET).read()", _LEAK, "open"),
    Attack("read through the parent's root",
           "import os; return open(f'/proc/{os.getppid()}/root' + SECRET).read()", _LEAK, "open", bare=False),
    Attack("read by mmap",
           "import mmap\nwith open(SECRET, 'rb') as file: return mmap.mmap(file.fileno(), 0, prot=1)[:]", _LEAK, "open"),
    Attack("read by linecache", "import linecache; return linecache.getlines(SECRET)", _LEAK, "open"),
    Attack("import from outside",
           "import runpy; return runpy.run_path(SECRET, {})", _LEAK, "open", bare=False),
    Attack("list a folder", "import os; return 'escaped' if os.listdir(FOLDER) else ''", _VALUE, "open"),
    Attack("list the home folder",
           "import os; return 'escaped' if os.listdir(os.path.expanduser('~')) else ''", _VALUE, "open", bare=False),
    Attack("read the users' names", "return 'escaped' if open('/etc/passwd').read() else ''", _VALUE, "open"),
    Attack("use installed packages", "import sys; sys.path.append(SITE); import pydantic; return 'escaped'", _VALUE,
           "open", bare=False),
    Attack("list installed packages", "import os; return 'escaped' if os.listdir(SITE) else ''", _VALUE, "open"),
    Attack("environment of a process", "return open(f'/proc/{DECOY}/environ').read()", _LEAK, "open"),
    Attack("arguments of a process", "return open(f'/proc/{DECOY}/cmdline').read()", _LEAK, "open"),
    Attack("memory of a process", f"""
        {_LIBC.strip()}
        import os
        at = int(next(line for line in open(f'/proc/{{DECOY}}/maps') if 'r--p' in line).split('-')[0], 16)
        memory = os.open(f'/proc/{{DECOY}}/mem', os.O_RDONLY)
        return 'escaped' if os.pread(memory, 4, at) else ''
    """, _VALUE, "open", bare=False),
    Attack("processes of the machine",
           "import os; return 'escaped' if str(DECOY) in os.listdir('/proc') else ''", _VALUE, "open"),
    Attack("name of the machine", "import os; return 'escaped' if os.uname().nodename == HOST else ''", _VALUE, "open"),
    Attack("the kernel's tables", "import os; return 'escaped' if os.listdir('/sys') else ''", _VALUE, "open", bare=False),
    Attack("switches of the kernel", "open('/proc/sys/kernel/hostname').close(); return 'escaped'", _VALUE, "open"),
    Attack("other devices", "import os; return 'escaped' if os.listdir('/dev').__len__() > 4 else ''", _VALUE, "open"),
    Attack("services of the machine",
           "import os; return 'escaped' if os.path.exists('/run') or os.path.exists('/var/run') else ''", _VALUE, "open",
           bare=False),
)  # fmt: skip
"""What is of the machine and not for the code."""

WRITING: Final = (
    Attack("write a file", "open(TARGET, 'w').write('x'); return ''", _FILE),
    Attack("write by os.open", "import os; os.write(os.open(TARGET, os.O_CREAT | os.O_WRONLY), b'x')", _FILE),
    Attack("write by _io.FileIO", "import _io; _io.FileIO(TARGET, 'w').write(b'x')", _FILE),
    Attack("make a node", "import os; os.mknod(TARGET)", _FILE, "open"),
    Attack("make a pipe", "import os; os.mkfifo(TARGET)", _FILE, "open"),
    Attack("make a folder", "import os; os.mkdir(TARGET)", _FILE),
    Attack("make a link", "import os; os.symlink('/etc', TARGET)", _FILE),
    Attack("make a hard link", "import os; os.link(SECRET, TARGET)", _FILE),
    Attack("move a file out", "import os; open('a', 'w').close(); os.replace('a', TARGET)", _FILE),
    Attack("write relative to a folder", """
        import os
        folder = os.open(FOLDER, os.O_RDONLY)
        os.close(os.open(os.path.basename(TARGET), os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    """, _FILE),
    Attack("write through a link", "import os; os.symlink(TARGET, 'a'); open('a', 'w').write('x')", _FILE),
    Attack("write through an open file", """
        import os
        file = os.open(SECRET, os.O_RDONLY)
        open(f'/proc/self/fd/{file}', 'r+').write('x')
    """, _FILE),
    Attack("copy a file", "import shutil; shutil.copy(SECRET, TARGET)", _FILE),
    Attack("empty a file", "import os; os.truncate(SECRET, 0)", _FILE),
    Attack("remove a file", "import os; os.remove(SECRET)", _FILE),
    Attack("change rights", "import os; os.chmod(SECRET, 0o777)", _FILE),
    Attack("change a date", "import os; os.utime(SECRET, (1, 1))", _FILE),
    Attack("a database", "import sqlite3; c = sqlite3.connect(TARGET); c.execute('create table t(x)'); c.commit()", _FILE),
    Attack("a shelf", "import dbm.dumb; dbm.dumb.open(TARGET, 'n').close()", _FILE),
    Attack("a temporary file", "import tempfile; tempfile.mkstemp(dir=FOLDER)", _FILE),
    Attack("a socket's file", "import socket; socket.socket(socket.AF_UNIX).bind(TARGET)", _FILE),
    Attack("write at the end", "import atexit; atexit.register(lambda: open(TARGET, 'w').write('x')); return ''", _FILE),
    Attack("change the interpreter", "import os; open(os.__file__, 'r+').close(); return 'escaped'", _VALUE, bare=False),
    Attack("write to the root", "open('/a', 'w').close(); return 'escaped'", _VALUE, bare=False),
    Attack("shared memory's folder", "open('/dev/shm/a', 'w').close(); return 'escaped'", _VALUE, bare=False),
    Attack("write to own memory", "open('/proc/self/mem', 'r+b').close(); return 'escaped'", _VALUE),
)  # fmt: skip
"""What is outside of the folder."""

PROCESSES: Final = (
    Attack("kill", "import os; os.kill(DECOY, 9)", DEAD),
    Attack("kill by pidfd", "import os, signal; signal.pidfd_send_signal(os.pidfd_open(DECOY), 9)", DEAD, "open"),
    Attack("kill a group", "import os; os.killpg(DECOY, 9)", DEAD),
    Attack("kill by libc", f"{_LIBC}libc.kill(DECOY, 9)", DEAD),
    Attack("slow a process down", "import os; os.setpriority(os.PRIO_PROCESS, DECOY, 19); return 'escaped'", _VALUE, "open"),
    Attack("move a process", "import os; os.sched_setaffinity(DECOY, {0}); return 'escaped'", _VALUE, "open"),
    Attack("limit a process",
           "import resource; resource.prlimit(DECOY, resource.RLIMIT_NOFILE, (64, 64)); return 'escaped'", _VALUE),
    Attack("trace a process", f"{_LIBC}return 'escaped' if libc.ptrace(16, DECOY, 0, 0) == 0 else ''", _VALUE, bare=False),
    Attack("fork", "import os\nif os.fork() == 0: os._exit(0)\nreturn 'escaped'", _VALUE),
    Attack("fork with a terminal", "import os\nif os.forkpty()[0] == 0: os._exit(0)\nreturn 'escaped'", _VALUE),
    Attack("fork by libc", f"{_LIBC}import os\nchild = libc.fork()\nif child == 0: os._exit(0)\n"
           "return 'escaped' if child > 0 else ''", _VALUE),
    Attack("spawn", "import os, sys; os.posix_spawn(sys.executable, ['python', '-c', ''], {}); return 'escaped'", _VALUE),
    Attack("subprocess", "import subprocess, sys; subprocess.run([sys.executable, '-c', '']); return 'escaped'", _VALUE),
    Attack("shell", "import os; return 'escaped' if os.system('true') == 0 else ''", _VALUE),
    Attack("become a shell",
           "import os; os.execv('/bin/sh', ['sh', '-c', 'echo escaped'])", "'escaped' is printed"),
    Attack("multiprocessing",
           "import multiprocessing as m; p = m.get_context('fork').Process(target=int); p.start(); p.join()\n"
           "return 'escaped'", _VALUE),
    Attack("import the starter of processes again", """
        import importlib.util, os, sys
        sys.modules.pop('_posixsubprocess', None)
        spec = importlib.util.find_spec('_posixsubprocess')
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module = getattr(module, 'fork_exec')
        inner, outer = os.pipe()
        module([b'python', b'-c', b''], [os.fsencode(sys.executable)], True, (), None, None, -1, -1, -1, -1, -1, -1,
               inner, outer, False, False, -1, None, None, None, -1, None, True)
        return 'escaped'
    """, _VALUE, "open"),
    Attack("a thread", "import threading; threading.Thread(target=int).start(); return 'escaped'", _VALUE, "open"),
    Attack("a pool of threads",
           "from concurrent.futures import ThreadPoolExecutor as P; P(8).submit(int).result(); return 'escaped'", _VALUE,
           "open"),
)  # fmt: skip
"""Processes: those of the machine, and more of its own."""

NETWORK: Final = (
    Attack("connect", "import socket; socket.create_connection(('127.0.0.1', PORT), 2)", "the listener is reached"),
    Attack("connect by _socket",
           "import _socket; s = _socket.socket(); s.connect(('127.0.0.1', PORT))", "the listener is reached"),
    Attack("fetch", "import urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{PORT}/', timeout=2)",
           "the listener is reached"),
    Attack("a server of its own",
           "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); return 'escaped'", _VALUE),
    Attack("a local socket", "import socket; socket.socket(socket.AF_UNIX).bind('\\0tracer'); return 'escaped'", _VALUE),
    Attack("a socket by libc", f"{_LIBC}return 'escaped' if libc.socket(2, 1, 0) >= 0 else ''", _VALUE),
)  # fmt: skip
"""The network."""

RIGHTS: Final = (
    Attack("more memory allowed",
           "import resource as r; r.setrlimit(r.RLIMIT_AS, (r.RLIM_INFINITY,) * 2); return 'escaped'", _VALUE, bare=False),
    Attack("the superuser", "import os; os.setuid(0); return 'escaped' if os.getuid() == 0 else ''", _VALUE, "open",
           bare=False),
    Attack("another root", "import os; os.chroot('.'); return 'escaped'", _VALUE, "open", bare=False),
    Attack("new namespaces", f"{_LIBC}return 'escaped' if libc.unshare(0x10000000) == 0 else ''", _VALUE, bare=False),
    Attack("mount", f"{_LIBC}return 'escaped' if libc.mount(b'none', b'/box', b'tmpfs', 0, None) == 0 else ''", _VALUE,
           bare=False),
    Attack("remount", f"{_LIBC}return 'escaped' if libc.mount(b'none', b'/', b'', 4096 | 32, None) == 0 else ''", _VALUE,
           bare=False),
    Attack("rename the machine", f"{_LIBC}return 'escaped' if libc.sethostname(b'a', 1) == 0 else ''", _VALUE, bare=False),
    Attack("input and output of the kernel", f"{_LIBC}return 'escaped' if libc.syscall(425, 4, bytes(120)) >= 0 else ''",
           _VALUE, bare=False),
    Attack("shared segments", f"{_LIBC}import sys\nsegment = libc.shmget(0, 1 << 20, 0o1600)\n"
           "if segment < 0: return ''\nlibc.shmctl(segment, 0, None)\nreturn 'escaped'", _VALUE),
)  # fmt: skip
"""Rights that are not its own."""

AMOUNTS: Final = (
    Attack("memory", "return 'escaped' if len(bytearray(2 << 30)) else ''", _VALUE, bare=False),
    Attack("memory in pieces", "kept = [bytearray(1 << 20) for _ in range(1024)]; return 'escaped'", _VALUE, bare=False),
    Attack("processor time", "while True: pass", "the process is not ended", bare=False),
    Attack("processor time, no signal heard",
           "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", "the process is not ended",
           bare=False),
    Attack("one calculation", "return 10 ** 10 ** 9 and 'escaped'", _VALUE, bare=False),
    Attack("wall clock", "import time; time.sleep(600); return 'escaped'", _VALUE, bare=False),
    Attack("wall clock, exceptions caught", """
        import time
        try: time.sleep(600)
        except BaseException: time.sleep(600)
        return 'escaped'
    """, _VALUE, bare=False),
    Attack("one large file", "open('a', 'wb').write(bytes(8 << 20)); return 'escaped'", _VALUE, bare=False),
    Attack("one long file with a hole", "import os; open('a', 'wb').truncate(1 << 34); return 'escaped'", _VALUE, bare=False),
    Attack("many files", """
        for number in range(100):
            with open(f'a{number}', 'wb') as file: file.write(bytes(1 << 20))
        return 'escaped'
    """, _VALUE, "open", bare=False),
    Attack("open files", "kept = [open('/dev/null') for _ in range(200)]; return 'escaped'", _VALUE, bare=False),
    Attack("files in memory", "import os; kept = [os.memfd_create('a') for _ in range(200)]; return 'escaped'", _VALUE,
           bare=False),
    Attack("much text", "for _ in range(100): print('x' * (1 << 20), flush=True)\nreturn 'escaped'", _VALUE, bare=False),
    Attack("a long value", "return 'escaped' * 1_000_000", _VALUE, bare=False),
)  # fmt: skip
"""More than is allowed."""

FORGERY: Final = (
    Attack("lines in the report", """
        import os
        for file in range(3, 30):
            try: os.write(file, b'{"test": 0, "passed": true}\\n{"passed": [true]}\\n')
            except OSError: pass
        os._exit(0)
    """, "the test passes", bare=False),
    Attack("the report emptied", """
        import os
        for file in range(3, 30):
            try: os.ftruncate(file, 0)
            except OSError: pass
        os._exit(0)
    """, "the test passes, or the weaker way is taken", bare=False),
    Attack("words of bubblewrap", """
        import os
        for file in range(3, 30):
            try: os.ftruncate(file, 0)
            except OSError: pass
        print('bwrap: no permissions', flush=True)
        os._exit(1)
    """, "the test passes, or the weaker way is taken", bare=False),
    Attack("a value that equals everything", """
        class Same(str):
            def __eq__(self, other): return True
            __hash__ = None
            def __repr__(self): return '[...]'
        return Same()
    """, "the test passes", bare=False),
)  # fmt: skip
"""A verdict that was not earned."""

ATTACKS: Final = (*READING, *WRITING, *PROCESSES, *NETWORK, *RIGHTS, *AMOUNTS, *FORGERY)

DISARM: Final = """
import gc, sys
sys.modules.pop('_posixsubprocess', None)
for thing in gc.get_objects():
    if type(thing).__name__ == 'function' and thing.__name__ in ('hook', 'check') and thing.__closure__:
        for cell in thing.__closure__:
            if isinstance(cell.cell_contents, tuple) and cell.cell_contents:
                cell.cell_contents = (OSError,) if isinstance(cell.cell_contents[0], type) else ('nothing',)
            elif isinstance(cell.cell_contents, frozenset):
                cell.cell_contents = frozenset()
            elif callable(cell.cell_contents) and cell.cell_contents.__name__ in ('check', 'is_inside'):
                cell.cell_contents = lambda *anything: True
"""
"""Does away with the audit hook, as code can that sets out to: what holds then is the kernel."""
