"""The program inside the sandbox: it shuts itself in, runs the tested code, and evaluates expressions with it.

:mod:`tracer_hooks_lab.suites._sandbox` starts it by its path, in an interpreter without site packages, so it imports
nothing but the standard library. Inside bubblewrap, which has taken everything else away, it sets the limits and runs
the code. Elsewhere it is started twice: the first stage leaves the machine's network and sets the limits, then becomes
the second one, which has never loaded ``ctypes``. The second one runs the code.

It is told the expressions, never what they should give: the comparison is made outside, and nothing that is printed,
written or returned in here can pass for a right value without being it.
"""

from __future__ import annotations

import builtins
import json
import os
import sys

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the time that importing typing takes at each start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

MAX_VALUE: Final = 100_000
"""Characters of a value's ``repr`` that are handed out; a longer one is an error."""

_WRITE_FLAGS: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED_EVENTS: Final = (
    "socket.", "subprocess.", "ctypes.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.kill",
    "pty.", "signal.", "resource.", "os.chdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.chflags",
    "os.setxattr", "os.removexattr", "syslog.", "webbrowser.", "ftplib.", "smtplib.", "urllib.", "http.",
    "imaplib.", "nntplib.", "poplib.", "telnetlib.", "sqlite3.", "shutil.", "fcntl.", "sys.unraisablehook",
)  # fmt: skip
"""Beginnings of the audit events that are refused; https://docs.python.org/3/library/audit_events.html."""
_PATH_EVENTS: Final = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.utime")
"""Events whose paths must lie in the folder; the others of this kind are refused above."""
_REFUSED_MODULES: Final = frozenset({"ctypes", "_ctypes", "_xxsubinterpreters", "_interpreters"})


def main() -> None:
    """Run the stage that is asked for."""
    if sys.argv[1] == "held":
        os.environ.pop("PWD", None)  # bubblewrap's
        set_limits(json.loads(sys.argv[3]))
    elif sys.argv[1] == "enter":
        has_left = leave_network()
        set_limits(json.loads(sys.argv[3]))
        stage = ["run", sys.argv[2], "left" if has_left else "shared"]
        os.execv(sys.executable, [sys.executable, *INTERPRETER_FLAGS, __file__, *stage])
    job = json.loads(sys.stdin.buffer.read())
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # what asks for input gets its end at once
    os.close(null)
    report_to, started = map(int, sys.argv[2].split(","))
    os.write(started, b"1")
    os.close(started)
    run(job, report_to, has_left_network=sys.argv[1] == "held" or sys.argv[3] == "left")


INTERPRETER_FLAGS: Final = ("-s", "-S", "-P", "-B", "-X", "utf8")
"""No site packages, no path of the script or the folder, no bytecode files. Not ``-I``, which would ignore the
fixed hash seed: the same code has to give the same verdict every time."""


def leave_network() -> bool:
    """Move into user and network namespaces of our own, where there is no interface; False where this is refused."""
    if sys.platform != "linux":
        return False
    import ctypes

    new_user, new_network = 0x10000000, 0x40000000
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.unshare(new_user | new_network) == 0)
    except (OSError, AttributeError):
        return False


def set_limits(limits: dict[str, int]) -> None:
    """Set the limits of the operating system; one that it does not know or allow is passed over."""
    import resource

    for name, value in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        # At its lower limit of processor time a process gets a signal that says so, at its upper one just SIGKILL.
        wanted = (value, value + 1) if name == "RLIMIT_CPU" else (value, value)
        _, hard = resource.getrlimit(kind)
        lower, upper = wanted if hard == resource.RLIM_INFINITY else (min(one, hard) for one in wanted)
        try:
            resource.setrlimit(kind, (lower, upper))
        except (ValueError, OSError):  # macOS refuses RLIMIT_AS
            continue


def inside(folder: str) -> Callable[[object], bool]:
    """Tell whether a path lies in ``folder``, decided without looking at the disk or at names that others can replace.

    Links cannot be made in the folder, and folders cannot be opened to be named relative to, so that the text of a
    path says where it leads.
    """
    kind, decoded_type, encoded_type, length = type, str, bytes, len
    folder_parts = [part for part in folder.split("/") if part]

    def is_inside(path: Any) -> bool:
        if kind(path) is encoded_type:
            path = path.decode("utf-8", "surrogateescape")
        if kind(path) is not decoded_type:  # a path-like object could name another file when it is asked again
            return False
        parts: list[str] = [] if path.startswith("/") else folder_parts
        for part in path.split("/"):
            if part == "..":
                parts = parts[:-1]
            elif part not in ("", "."):
                parts = [*parts, part]
        return parts[: length(folder_parts)] == folder_parts

    return is_inside


def opening(is_inside: Callable[[object], bool]) -> Callable[..., None]:
    """The check of the audit event ``open``: anything may be read, only what lies in the folder may be written."""
    status, error, kind, number, text = os.stat, PermissionError, type, int, str
    write_flags, no_file = _WRITE_FLAGS, (OSError, ValueError, TypeError)

    def is_folder(path: Any) -> bool:
        try:
            return status(path).st_mode & 0o170000 == 0o040000
        except no_file:
            return False

    def check(path: object, mode: Any, flags: int | None) -> None:
        if kind(path) is number:  # a file that is open already
            return
        writes = (flags or 0) & write_flags != 0
        if kind(mode) is text:
            writes = writes or mode.strip("rbtU") != ""
        elif is_folder(path):  # os.open, to name files relative to it
            writes = True
        if writes and not is_inside(path):
            raise error(f"the sandbox refuses to open {path!r} other than for reading")

    return check


def guard(folder: str) -> Callable[[str, tuple[Any, ...]], None]:
    """An audit hook that refuses sockets, processes, and writes outside ``folder``.

    It uses names bound here and methods of built-in types only: the tested code can replace anything else.
    """
    is_inside, error = inside(folder), PermissionError
    check_open, refused, path_events, modules = opening(is_inside), _REFUSED_EVENTS, _PATH_EVENTS, _REFUSED_MODULES

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            check_open(*arguments)
        elif event == "import" and arguments[0] in modules:
            raise error(f"the sandbox refuses to import {arguments[0]!r}")
        elif event.startswith(path_events):
            for path in arguments[: 2 if event == "os.rename" else 1]:
                if not is_inside(path):
                    raise error(f"the sandbox refuses {event} of {path!r}")
        elif event.startswith(refused):
            raise error(f"the sandbox refuses {event}")

    return hook


def refuse_processes() -> None:
    """Take away the one way to a new process that has no audit event; ``asyncio`` and others must still import."""
    import _posixsubprocess

    def refuse(*arguments: object) -> None:
        raise PermissionError("the sandbox refuses to start a process")

    _posixsubprocess.fork_exec = refuse  # type: ignore[assignment]


def run(job: dict[str, Any], report_to: int, *, has_left_network: bool) -> None:
    """Run the code, then evaluate each expression, and write one JSON line for each to ``report_to``."""
    write, dumps, evaluate = os.write, json.dumps, eval

    def report(**line: object) -> None:
        write(report_to, dumps(line).encode() + b"\n")

    report(network_left=has_left_network)
    refuse_processes()
    sys.addaudithook(guard(os.getcwd()))
    namespace: dict[str, Any] = {"__name__": "answer", "__builtins__": builtins}
    try:
        exec(compile(job["code"], "<answer>", "exec"), namespace)
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the tested code, too
        report(code_error=describe(error))
        return
    for number, expression in enumerate(job["expressions"]):
        try:
            value = repr(evaluate(expression, namespace))
            if len(value) > MAX_VALUE:
                report(test=number, error=f"the value is longer than {MAX_VALUE} characters")
            else:
                report(test=number, value=value)
        except BaseException as error:
            report(test=number, error=describe(error))


def describe(error: BaseException) -> str:
    """``error`` in one short line, with the line of the tested code that raised it."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<answer>":
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = f"{type(error).__name__}: {error}"[:500]
    except Exception:  # an exception of the tested code that cannot be printed
        text = type(error).__name__
    return text if line is None else f"{text} (line {line})"


if __name__ == "__main__":
    main()
