"""Whether bubblewrap is there and works: it may be missing, and a kernel or container may refuse what it needs."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from typing import Final

from tracer_hooks.suites._sandbox._bubblewrap import Bubblewrap
from tracer_hooks.suites._sandbox._call_filter import MACHINES, call_filter
from tracer_hooks.suites._sandbox._interpreter import interpreter_files
from tracer_hooks.suites._sandbox._job import Job, finish
from tracer_hooks.suites._sandbox._limits import SandboxLimits

_MISSING: Final = "bubblewrap is not installed"
_TRIAL: Final = Job(code="", expressions=("6 * 7",), limits=SandboxLimits(wall_s=60.0))


@dataclass(frozen=True, kw_only=True)
class BubblewrapState:
    """What became of the probe."""

    bubblewrap: Bubblewrap | None
    """It, when it works."""
    problem: str | None
    """Else why it cannot be used."""

    @property
    def works(self) -> bool:
        """Whether it can be used."""
        return self.bubblewrap is not None

    @property
    def advice(self) -> str:
        """What to do where it does not work."""
        if self.works:
            return ""
        if self.problem == _MISSING:
            return "apt-get install bubblewrap"
        return "run it on Linux, where the kernel and the container allow user namespaces"


_lock = threading.Lock()
_known: list[BubblewrapState] = []


def bubblewrap_state() -> BubblewrapState:
    """Whether bubblewrap can be used, found out once in a process by running a small program in it."""
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
    """What bubblewrap itself said, from what was printed by a process that never came to the code."""
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
