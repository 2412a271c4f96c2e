"""One process that runs tested code: limits, what goes in and out, how it ended, and its tests compared outside."""

from __future__ import annotations

import ast
import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal, Protocol

from tracer_hooks.errors import ConfigError
from tracer_hooks_lab.suites._sandbox._child import INTERPRETER_FLAGS

MIB: Final = 1024 * 1024
_ABOVE_ZERO: Final = ("wall_s", "cpu_s", "memory_mib", "file_mib", "disk_mib", "open_files")


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """Limits of the tested code. All of them hold with and without bubblewrap, but for ``disk_mib``."""

    wall_s: float = 10.0
    """Seconds for the code and all tests together; then everything it started is killed."""
    cpu_s: float = 5.0
    """Seconds of processor time, rounded up to whole ones."""
    memory_mib: int = 512
    """Address space, the interpreter's own included; less than 64 does not start."""
    file_mib: int = 4
    """Size of the largest file, and of everything printed."""
    disk_mib: int = 16
    """Size of all files together; without bubblewrap nothing holds the code to it."""
    open_files: int = 32
    """Files open at a time."""
    output_chars: int = 4000
    """Characters of the printed text that are kept."""

    def __post_init__(self) -> None:
        for name in _ABOVE_ZERO:
            value = getattr(self, name)
            if not value > 0 or not math.isfinite(value):
                raise ConfigError(f"{name} must be a number above 0, got {value!r}")
        if self.output_chars < 0:
            raise ConfigError(f"output_chars must be 0 or more, got {self.output_chars!r}")

    def bounds(self) -> dict[str, int]:
        """The limits of the operating system, by their names in the module ``resource``."""
        return {
            "RLIMIT_CPU": math.ceil(self.cpu_s),
            "RLIMIT_AS": math.ceil(self.memory_mib * MIB),
            "RLIMIT_FSIZE": math.ceil(self.file_mib * MIB),
            "RLIMIT_NOFILE": math.ceil(self.open_files),
            "RLIMIT_NPROC": 0,
            "RLIMIT_CORE": 0,
        }


Isolation = Literal["bubblewrap", "process"]
"""What held the code: ``bubblewrap``, or ``process``, a process of its own with limits and an audit hook."""


@dataclass(frozen=True, kw_only=True)
class AssertOutcome:
    """Outcome of one test."""

    test: str
    """The test as it was given."""
    passed: bool
    """Whether the left side gave the right side's value."""
    value: str | None = None
    """What the left side gave, as ``repr``; None when it gave nothing."""
    error: str | None = None
    """What went wrong; None for a test that passed."""


@dataclass(frozen=True, kw_only=True)
class SandboxResult:
    """Results of code in its tests."""

    outcomes: tuple[AssertOutcome, ...]
    """One for each test, in their order."""
    error: str | None
    """The first thing that went wrong, in the code or in a test; None when all passed."""
    output: str
    """What the code printed, cut to the limit."""
    timed_out: bool
    """Whether it was killed for its wall-clock limit."""
    elapsed_s: float
    """Seconds that it took, starting the interpreter included."""
    had_network: bool
    """Whether the kernel let it keep the machine's network; the audit hook then is all that holds it back."""
    isolation: Isolation
    """What held the code."""

    @property
    def passed(self) -> bool:
        """Tell whether all tests passed."""
        return all(outcome.passed for outcome in self.outcomes)


ReportLine = Mapping[str, Any]
"""One line of what the process inside reported. The code can write such lines too; it has to know the value."""


@dataclass(frozen=True, kw_only=True)
class ParsedTest:
    """A test, and what its left side has to give."""

    text: str
    expression: str
    expected: Any


def parsed(test: str) -> ParsedTest:
    """``test``, taken apart.

    Raises:
        ConfigError: It has another form.
    """
    try:
        (statement,) = ast.parse(test.strip()).body
        if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
            compare = statement.test
            if len(compare.ops) == 1 and isinstance(compare.ops[0], ast.Eq):
                expected = ast.literal_eval(compare.comparators[0])
                return ParsedTest(text=test, expression=ast.unparse(compare.left), expected=expected)
    except (SyntaxError, ValueError, RecursionError):
        pass
    raise ConfigError(f"a test has to be 'assert EXPRESSION == LITERAL', got {test!r}")


def code_error(lines: Sequence[ReportLine]) -> str | None:
    """Return the error that the code raised before any test, None when it ran to its end."""
    return next((str(line["code_error"]) for line in lines if "code_error" in line), None)


def outcomes(tests: Sequence[ParsedTest], lines: Sequence[ReportLine], ending: str | None) -> tuple[AssertOutcome, ...]:
    """Return the outcome of each test; ``ending`` is how the process ended, None when it ended well.

    The first line about a test counts, and one that the code wrote counts like any other: it gains nothing, since
    only the right value passes, and the process is never told what that is.
    """
    found: dict[int, ReportLine] = {}
    for line in lines:
        number = line.get("test")
        if isinstance(number, int):
            found.setdefault(number, line)
    missing = code_error(lines) or ending or "the process ended before this test"
    return tuple(_outcome(test, found.get(number), missing) for number, test in enumerate(tests))


def _outcome(test: ParsedTest, line: ReportLine | None, missing: str) -> AssertOutcome:
    if line is None:
        return AssertOutcome(test=test.text, passed=False, error=missing)
    value = line.get("value")
    if not isinstance(value, str):
        return AssertOutcome(test=test.text, passed=False, error=str(line.get("error")))
    try:
        passed = bool(ast.literal_eval(value) == test.expected)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # the repr of no plain value
        passed = False
    error = None if passed else f"{test.expression} gave {value[:200]}"
    return AssertOutcome(test=test.text, passed=passed, value=value, error=error)


ENVIRONMENT: Final[Mapping[str, str]] = {"PYTHONHASHSEED": "0"}
"""All that the process inside gets: the same code has to give the same verdict every time."""
CHILD: Final = Path(__file__).resolve().with_name("_child.py")
"""The program that runs inside."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """Code and tests to be run."""

    code: str
    expressions: Sequence[str]
    limits: SandboxLimits


@dataclass(frozen=True, kw_only=True)
class Finished:
    """Result of a job."""

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
    """Arguments and settings that start a process."""

    arguments: Sequence[str]
    cwd: str | None = None
    open_fds: Sequence[int] = ()
    """Open files that it has besides its report."""


class Starting(Protocol):
    """A way of holding the process, as a context that lives as long as the process."""

    def __call__(self, report_to: ReportTo, limits: SandboxLimits) -> contextlib.AbstractContextManager[Start]:
        """Prepare the start of a process that reports to ``report_to``."""


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


@contextlib.contextmanager
def in_process(report_to: ReportTo, limits: SandboxLimits) -> Iterator[Start]:
    """Start it in a temporary folder that is deleted afterwards."""
    stage = [str(CHILD), "enter", f"{report_to.lines},{report_to.started}", json.dumps(limits.bounds())]
    with tempfile.TemporaryDirectory(prefix="answer-") as folder:
        yield Start(arguments=[sys.executable, *INTERPRETER_FLAGS, *stage], cwd=os.path.realpath(folder))
