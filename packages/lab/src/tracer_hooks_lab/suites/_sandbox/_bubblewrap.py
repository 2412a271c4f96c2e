"""Sandbox in bubblewrap: command line, system-call filter, the interpreter's files, and a probe whether it works."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tracer_hooks_lab.suites._sandbox._child import INTERPRETER_FLAGS
from tracer_hooks_lab.suites._sandbox._job import CHILD, MIB, Job, ReportTo, SandboxLimits, Start, finish

BOX: Final = "/box"
"""The one folder that can be written to, a file system in memory with a size of its own."""
_CHILD_INSIDE: Final = "/sandbox/child.py"
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_APART: Final = (
    "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--hostname", "sandbox", "--cap-drop", "ALL",
    "--die-with-parent", "--new-session",
)  # fmt: skip
"""Own users, processes, network, file systems, message queues and host name; none of the superuser's rights, and an end
when the caller ends. No ``/proc``, which would show the machine, and no ``/dev/shm``, which has no size."""


@dataclass(frozen=True, kw_only=True)
class Bubblewrap:
    """An installed bubblewrap that works; call it to start a process."""

    path: str
    """Where it is."""
    version: str
    """Its version."""
    executable: str
    """The interpreter that runs inside."""
    shown: tuple[str, ...]
    """Files and folders of the machine that can be read inside, each at its own place."""
    hidden: tuple[str, ...]
    """Folders in these that are empty inside."""
    call_filter: bytes
    """The program that says which system calls the kernel refuses."""

    @contextlib.contextmanager
    def __call__(self, report_to: ReportTo, limits: SandboxLimits) -> Iterator[Start]:
        """Start it in an empty folder, which is gone when it ends."""
        stage = [_CHILD_INSIDE, "held", f"{report_to.lines},{report_to.started}", json.dumps(limits.bounds())]
        with tempfile.TemporaryFile() as refused:
            refused.write(self.call_filter)
            refused.seek(0)
            command = [*self._mounts(limits), "--seccomp", str(refused.fileno()), "--", self.executable]
            yield Start(
                arguments=[self.path, *_APART, *command, *INTERPRETER_FLAGS, *stage], open_fds=[refused.fileno()]
            )

    def _mounts(self, limits: SandboxLimits) -> list[str]:
        mounts: list[str] = []
        for path in self.shown:
            mounts += ["--ro-bind", path, path]
        for path in self.hidden:
            mounts += ["--tmpfs", path, "--remount-ro", path]
        for path in _DEVICES:
            mounts += ["--dev-bind", path, path]
        mounts += ["--ro-bind", str(CHILD), _CHILD_INSIDE]
        # The root, where bubblewrap has put all this together, could be filled without end otherwise.
        return [*mounts, "--size", str(math.ceil(limits.disk_mib * MIB)), "--tmpfs", BOX, "--remount-ro", "/",
                "--chdir", BOX]  # fmt: skip


_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_X32_FROM: Final = 0x40000000
"""Numbers from here on are the x32 writing of the same calls, which only x86_64 has."""
_SAME: Final[Mapping[str, int]] = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
}  # fmt: skip
_X86_64: Final[Mapping[str, int]] = {
    **_SAME, "clone": 56, "fork": 57, "vfork": 58, "socket": 41, "ptrace": 101, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "unshare": 272, "setns": 308, "mount": 165, "umount2": 166,
    "pivot_root": 155, "chroot": 161, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250,
    "add_key": 248, "request_key": 249, "shmget": 29, "shmat": 30, "msgget": 68, "semget": 64,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320, "reboot": 169, "swapon": 167, "swapoff": 168,
    "personality": 135, "acct": 163, "syslog": 103, "quotactl": 179, "settimeofday": 164, "clock_settime": 227,
    "adjtimex": 159, "clock_adjtime": 305, "iopl": 172, "ioperm": 173, "modify_ldt": 154, "vhangup": 153,
}  # fmt: skip
_AARCH64: Final[Mapping[str, int]] = {
    **_SAME, "clone": 220, "socket": 198, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
    "kcmp": 272, "unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
    "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "keyctl": 219, "add_key": 217, "request_key": 218,
    "shmget": 194, "shmat": 196, "msgget": 186, "semget": 190, "name_to_handle_at": 264, "open_by_handle_at": 265,
    "init_module": 105, "finit_module": 273, "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294,
    "reboot": 142, "swapon": 224, "swapoff": 225, "personality": 92, "acct": 89, "syslog": 116, "quotactl": 60,
    "settimeofday": 170, "clock_settime": 112, "adjtimex": 171, "clock_adjtime": 266, "vhangup": 58,
}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """Numbers by which the kernel of one kind of processor calls itself and its calls."""

    audit_number: int
    refused: Mapping[str, int]
    has_x32: bool = False


MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": Machine(0xC000003E, _X86_64, has_x32=True),
    "aarch64": Machine(0xC00000B7, _AARCH64),
}
"""By ``platform.machine()``; elsewhere there is no filter, and bubblewrap is not used."""


def call_filter(machine: Machine) -> bytes:
    """The filter's program. A refused call gives EPERM; one in another kind of processor's writing kills."""
    numbers = sorted(machine.refused.values())
    program = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, machine.audit_number, if_true=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    if machine.has_x32:
        program.append(_step(_AT_LEAST, _X32_FROM, if_true=len(numbers) + 1))
    program += [_step(_EQUAL, number, if_true=len(numbers) - place) for place, number in enumerate(numbers)]
    return b"".join([*program, _step(_RETURN, _ALLOW), _step(_RETURN, _REFUSE)])


def _step(code: int, value: int, *, if_true: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, 0, value)


_SITE_FOLDERS: Final = ("site-packages", "dist-packages")
_LOADER_CACHE: Final = "/etc/ld.so.cache"

# Asked of the interpreter itself, which knows its layout best, be it pyenv's, conda's, uv's or a distribution's. Every
# extension module is loaded (but those for a screen or a terminal, which there is not inside), so that the loader has
# found all shared libraries that any of them needs; their names are those by which it will look for them again.
_QUESTION: Final = """
import ctypes, glob, importlib, json, os, sys
found = []
class Info(ctypes.Structure):
    _fields_ = [("addr", ctypes.c_void_p), ("name", ctypes.c_char_p)]
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Info), ctypes.c_size_t, ctypes.c_void_p)
def note(info, size, data):
    if info.contents.name:
        found.append(os.fsdecode(info.contents.name))
    return 0
for folder in sys.path:
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.so"))):
        name = os.path.basename(path).partition(".")[0]
        if not name.startswith(("_test", "xx", "_xx", "_tkinter", "_curses", "readline")):
            try:
                importlib.import_module(name)
            except ImportError:
                pass
ctypes.CDLL(None).dl_iterate_phdr(note, None)
answer = json.dumps({"path": sys.path, "loaded": found}).encode()
os.write(1, b"\\n" + answer + b"\\n")
os._exit(0)
"""


@dataclass(frozen=True, kw_only=True)
class InterpreterFiles:
    """Files that have to be seen inside, each at its own place."""

    executable: str
    """The interpreter, which is no virtual environment's."""
    shown: tuple[str, ...]
    """Files and folders, outer ones first."""
    hidden: tuple[str, ...]
    """Folders in these that hold the packages of others."""
    loader_cache: str | None
    """The loader's list of libraries, which an interpreter needs whose own library lies at an unusual place."""


def interpreter_files(*, timeout_s: float = 60.0) -> InterpreterFiles:
    """The files of the interpreter that runs this process, or of the one that its virtual environment rests on.

    Raises:
        OSError: The interpreter cannot be started.
        subprocess.SubprocessError: It fails or takes too long.
        ValueError: It gives no answer.
    """
    executable = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    asked = subprocess.run(
        [executable, *INTERPRETER_FLAGS, "-c", _QUESTION],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=True, env={}, cwd="/",
    )  # fmt: skip
    answer = json.loads(asked.stdout.splitlines()[-1])
    folders = [os.path.normpath(path) for path in answer["path"] if path and os.path.exists(path)]
    libraries = [os.path.normpath(path) for path in answer["loaded"] if os.path.isabs(path) and os.path.isfile(path)]
    hidden = [os.path.join(folder, name) for folder in folders for name in _SITE_FOLDERS]
    return InterpreterFiles(
        executable=executable,
        shown=tuple(_outermost([executable, *folders, *libraries])),
        hidden=tuple(path for path in hidden if os.path.isdir(path)),
        loader_cache=_LOADER_CACHE if os.path.isfile(_LOADER_CACHE) else None,
    )


def _outermost(paths: list[str]) -> list[str]:
    unique = sorted(set(paths), key=lambda path: (path.count("/"), path))
    return [path for path in unique if not _is_below(path, unique)]


def _is_below(path: str, folders: list[str]) -> bool:
    return any(str(parent) in folders for parent in Path(path).parents)


_MISSING: Final = "bubblewrap is not installed"
_TRIAL: Final = Job(code="", expressions=("6 * 7",), limits=SandboxLimits(wall_s=60.0))


@dataclass(frozen=True, kw_only=True)
class BubblewrapState:
    """Result of the probe."""

    bubblewrap: Bubblewrap | None
    """It, when it works."""
    problem: str | None
    """Else why it cannot be used."""

    @property
    def works(self) -> bool:
        """Tell whether it can be used."""
        return self.bubblewrap is not None

    @property
    def advice(self) -> str:
        """Say what to do where it does not work."""
        if self.works:
            return ""
        if self.problem == _MISSING:
            return "apt-get install bubblewrap"
        return "run it on Linux, where the kernel and the container allow user namespaces"


_lock = threading.Lock()
_known: list[BubblewrapState] = []


def bubblewrap_state() -> BubblewrapState:
    """Tell whether bubblewrap can be used, found out once in a process by running a small program in it."""
    with _lock:
        if not _known:
            _known.append(_found())
        return _known[0]


def note_failure(problem: str) -> None:
    """Have it not used any more in this process: it worked once and has failed to start since."""
    with _lock:
        _known[:] = [BubblewrapState(bubblewrap=None, problem=problem)]


def forget() -> None:
    """Have the next call find out anew."""
    with _lock:
        _known.clear()


def start_problem(printed: str) -> str | None:
    """Return bubblewrap's own message, from what was printed by a process that never came to the code."""
    return next((line.strip() for line in printed.splitlines() if line.startswith("bwrap: ")), None)


def _found() -> BubblewrapState:
    result = _made()
    if isinstance(result, Bubblewrap):
        return BubblewrapState(bubblewrap=result, problem=None)
    return BubblewrapState(bubblewrap=None, problem=result)


def _made() -> Bubblewrap | str:
    """It, or why it cannot be used."""
    if sys.platform != "linux":
        return f"bubblewrap needs Linux, this is {sys.platform}"
    machine = MACHINES.get(platform.machine())
    if machine is None:
        return f"its filter of system calls is written for {' and '.join(MACHINES)}, this is {platform.machine()}"
    path = shutil.which("bwrap")
    if path is None:
        return _MISSING
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=True)
        files = interpreter_files()
    except (OSError, subprocess.SubprocessError, ValueError, IndexError, KeyError) as error:
        return f"{type(error).__name__}: {error}"[:300]
    made = Bubblewrap(
        path=path,
        version=asked.stdout.split()[-1] if asked.stdout.split() else "of unknown version",
        executable=files.executable,
        shown=files.shown,
        hidden=files.hidden,
        call_filter=call_filter(machine),
    )
    tried = _tried(made)
    if isinstance(tried, Bubblewrap) or files.loader_cache is None:
        return tried
    # The list names libraries of the machine, so it is shown only to an interpreter that does not start without it.
    again = _tried(replace(made, shown=(*made.shown, files.loader_cache)))
    return again if isinstance(again, Bubblewrap) else tried


def _tried(made: Bubblewrap) -> Bubblewrap | str:
    try:
        done = finish(_TRIAL, made)
    except OSError as error:
        return f"{type(error).__name__}: {error}"[:300]
    if any(line.get("value") == "42" for line in done.lines):
        return made
    last = done.printed.strip().splitlines()[-1:] or [f"its exit status is {done.status}"]
    return (start_problem(done.printed) or f"a trial in it failed: {last[0]}")[:300]
