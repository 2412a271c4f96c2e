"""The stronger way: bubblewrap, in which there is nothing but the interpreter, its standard library and one folder."""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tracer_hooks.suites._sandbox._child import INTERPRETER_FLAGS
from tracer_hooks.suites._sandbox._job import CHILD, ReportTo, Start
from tracer_hooks.suites._sandbox._limits import MIB, SandboxLimits

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
