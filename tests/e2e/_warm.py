"""A process that has the library imported and forks for every command: as apart as a new one, without its imports."""

import atexit
import gc
import importlib
import importlib.util
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

_USED_LATER = (
    "jinja2", "numpy", "openai.resources.chat", "scipy.optimize", "sqlalchemy.dialects.sqlite",
)  # fmt: skip
"""What commands import when they need it, and what starts no threads and reads no settings: no framework."""

_SERVER = "import sys; sys.path.insert(0, {folder!r}); import _warm; _warm._serve(socket_of={number})"


def can_fork() -> bool:
    """Whether this system has what is needed; elsewhere every command is a new process."""
    return hasattr(os, "fork") and hasattr(socket, "send_fds")


@dataclass
class WarmPython:
    """The process; it starts with the first command, and ends with us."""

    _server: subprocess.Popen[bytes] | None = None
    _line: socket.socket | None = None

    def run(
        self, arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], streams: Sequence[IO[Any]]
    ) -> int:
        """``tracer-hooks`` with ``arguments`` as a process of its own in ``folder``; its exit code.

        ``streams`` are what it reads and what it writes to.
        """
        line = self._started()
        try:
            return self._asked(line, arguments, folder, environment, streams)
        except BaseException:  # its answer may still come: the next command is asked of another process
            self._end()
            raise

    def _asked(
        self,
        line: socket.socket,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        streams: Sequence[IO[Any]],
    ) -> int:
        request = json.dumps({"arguments": list(arguments), "folder": str(folder), "environment": dict(environment)})
        socket.send_fds(line, [b"."], [stream.fileno() for stream in streams])
        line.sendall(len(request.encode()).to_bytes(4, "big") + request.encode())
        return int.from_bytes(_exactly(line, 4), "big", signed=True)

    def _started(self) -> socket.socket:
        if self._line is None:
            self._line, theirs = socket.socketpair()
            with theirs:
                code = _SERVER.format(folder=str(Path(__file__).parent), number=theirs.fileno())
                self._server = subprocess.Popen([sys.executable, "-c", code], pass_fds=[theirs.fileno()])
            atexit.register(self._end)
        return self._line

    def _end(self) -> None:
        if self._line is not None and self._server is not None:
            self._line.close()
            self._server.kill()
            self._server.wait()
        self._line = self._server = None


def _exactly(line: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = line.recv(count - len(found))
        if not more:
            raise EOFError("the process that forks for every command has ended")
        found += more
    return found


def _serve(socket_of: int) -> None:
    """What the process does: a child for each request, until nobody is there to ask."""
    import tracer_hooks

    ours = [found.name for found in pkgutil.walk_packages(tracer_hooks.__path__, "tracer_hooks.")]
    for name in (*ours, *_USED_LATER):
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a child that ends looks through all that lives, which takes longer than most commands
    line = socket.socket(fileno=socket_of)
    while True:
        _, streams, _, _ = socket.recv_fds(line, 1, 3)
        if not streams:
            return
        asked = json.loads(_exactly(line, int.from_bytes(_exactly(line, 4), "big")))
        child = os.fork()
        if not child:
            line.close()
            _become_the_command(asked, streams)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        line.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))


def _become_the_command(asked: dict[str, Any], streams: list[int]) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.argv[:] = ["-c", *asked["arguments"]]
    # As in `python -c` with PYTHONPATH: the current folder, the variable's, the rest.
    sys.path[0] = ""
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(open(number, mode, closefd=False), encoding="utf-8", line_buffering=number == 2)  # noqa: SIM115
        for number, mode in enumerate(("rb", "wb", "wb"))
    )
    from tracer_hooks.cli import main

    try:
        main()
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise
        _exit(ended.code)
    _exit(0)


def _exit(code: int) -> NoReturn:
    """End as Python does, but do not take apart every module that was imported: that is longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
