"""One process that runs code, whichever way it is held: what goes in, what came out, how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Protocol

from tracer_hooks.suites._sandbox._limits import MIB, SandboxLimits
from tracer_hooks.suites._sandbox._tests import ReportLine

ENVIRONMENT: Final[Mapping[str, str]] = {"PYTHONHASHSEED": "0"}
"""All that the process inside gets: the same code has to give the same verdict every time."""
CHILD: Final = Path(__file__).resolve().with_name("_child.py")
"""The program that runs inside."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be run."""

    code: str
    expressions: Sequence[str]
    limits: SandboxLimits


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What came of a job."""

    started: bool
    """Whether it came to the code; what it did before is not the code's doing."""
    lines: Sequence[ReportLine]
    """What the process reported."""
    printed: str
    """What it printed, cut to the limit of characters."""
    status: int | None
    """Its exit status, less than 0 for a signal; None when it was killed for its time."""
    elapsed_s: float
    """Seconds from its start to its end."""


@dataclass(frozen=True, kw_only=True)
class ReportTo:
    """Open files that the process writes to."""

    lines: int
    """For its lines. The code can write here, and empty it."""
    started: int
    """The end of a pipe that it writes to and closes before the code runs, so that the code cannot undo it."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """How a process is started."""

    arguments: Sequence[str]
    cwd: str | None = None
    open_fds: Sequence[int] = ()
    """Open files that it has besides its report."""


class Starting(Protocol):
    """A way of holding the process, as a context that lives as long as the process."""

    def __call__(self, report_to: ReportTo, limits: SandboxLimits) -> contextlib.AbstractContextManager[Start]:
        """How to start a process that reports to ``report_to``."""


def finish(job: Job, starting: Starting) -> Finished:
    """Run ``job`` to its end. Its files have no name, so that nothing is left of them."""
    began = time.monotonic()
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as report,
        _pipe() as (started_read, started_write),
    ):
        stdin.write(json.dumps({"code": job.code, "expressions": list(job.expressions)}).encode())
        stdin.seek(0)
        report_to = ReportTo(lines=report.fileno(), started=started_write)
        with starting(report_to, job.limits) as start:
            process = subprocess.Popen(
                start.arguments,
                stdin=stdin,
                stdout=output,
                stderr=output,
                cwd=start.cwd,
                env=dict(ENVIRONMENT),
                pass_fds=[report_to.lines, report_to.started, *start.open_fds],
                start_new_session=True,
            )
            status = _wait(process, job.limits.wall_s)
        return Finished(
            started=_has_something(started_read),
            lines=_lines(report, job.limits),
            printed=_head(output, job.limits.output_chars),
            status=status,
            elapsed_s=time.monotonic() - began,
        )


@contextlib.contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def _has_something(pipe: int) -> bool:
    os.set_blocking(pipe, False)
    try:
        return bool(os.read(pipe, 1))
    except BlockingIOError:  # empty, and our own end is still open
        return False


def _wait(process: subprocess.Popen[bytes], wall_s: float) -> int | None:
    try:
        return process.wait(timeout=wall_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left of it; macOS says the latter
            os.killpg(process.pid, signal.SIGKILL)  # the leader of its own session, hence also the group's id
        process.wait()


def _lines(report: IO[bytes], limits: SandboxLimits) -> list[ReportLine]:
    report.seek(0)
    lines: list[ReportLine] = []
    for raw in report.read(limits.bounds()["RLIMIT_FSIZE"] or MIB).splitlines():
        try:
            line: Any = json.loads(raw)
        except (ValueError, RecursionError):  # the code can write here too; such lines are passed over
            continue
        if isinstance(line, dict):
            lines.append(line)
    return lines


def _head(output: IO[bytes], characters: int) -> str:
    output.seek(0)
    return output.read(4 * characters).decode("utf-8", "replace")[:characters]
