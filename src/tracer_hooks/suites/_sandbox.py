"""Code of an LLM, run apart from us and tested."""

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from tracer_hooks.errors import ConfigError
from tracer_hooks.suites import _sandbox_child

_IS_POSIX: Final = os.name == "posix"
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """What the tested code may use."""

    wall_s: float = 10.0
    """Seconds for the code and all tests together; then everything it started is killed."""
    cpu_s: float = 5.0
    """Seconds of processor time, rounded up to whole ones."""
    memory_mib: int = 512
    """Address space, the interpreter's own included; less than 64 does not start."""
    file_mib: int = 4
    """Size of the largest file, and of everything printed."""
    open_files: int = 32
    """Files open at a time."""
    output_chars: int = 4000
    """Characters of the printed text that are kept."""

    def __post_init__(self) -> None:
        for name in ("wall_s", "cpu_s", "memory_mib", "file_mib", "open_files"):
            value = getattr(self, name)
            if not value > 0 or not math.isfinite(value):
                raise ConfigError(f"{name} must be a number above 0, got {value!r}")
        if self.output_chars < 0:
            raise ConfigError(f"output_chars must be 0 or more, got {self.output_chars!r}")


@dataclass(frozen=True, kw_only=True)
class AssertOutcome:
    """How one test ended."""

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
    """How code did in its tests."""

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

    @property
    def passed(self) -> bool:
        """Whether all tests passed."""
        return all(outcome.passed for outcome in self.outcomes)


@dataclass(frozen=True, kw_only=True)
class _Test:
    text: str
    expression: str
    expected: Any


def run_python(code: str, *, tests: Sequence[str], limits: SandboxLimits | None = None) -> SandboxResult:
    """Run ``code`` in a process of its own and test it.

    A test has the form ``assert EXPRESSION == LITERAL``. The process gets the expression only and hands out the
    ``repr`` of its value; the comparison is made here. So code cannot pass by printing what a test would print, by
    ending the process early, by overloading ``==``, or by tampering with what runs it: it has to give the value.

    What it holds back: code that an LLM wrote in good faith, and its accidents. The process has an empty environment
    but for a fixed hash seed, a temporary folder as working directory that is deleted afterwards, and no site
    packages. Limits of the operating system bound processor time, memory, file size, open files and processes; after
    the wall-clock limit its whole process group is killed. On Linux it is put into network and user namespaces of
    its own where the kernel allows it. An audit hook refuses sockets, processes, signals, ``ctypes``, and writes
    outside the folder.

    What it does not hold back: code that sets out to break in. Python's audit hooks are no security boundary, files
    that the user can read can be read, and the limit on processes does not bind the superuser. Run hostile code in a
    container or a virtual machine.

    Args:
        code: A module's text. It runs under another name than ``__main__``.
        tests: What to test, in this order, in one process: state that the code keeps is seen by later tests.
        limits: What it may use; the defaults suit a function of a few lines.

    Raises:
        ConfigError: The system is not POSIX, or a test has another form.
    """
    if not _IS_POSIX:
        raise ConfigError("running code needs a POSIX system (Linux, macOS); on Windows run it under WSL")
    limits, parsed, started = limits or SandboxLimits(), [_parsed(test) for test in tests], time.monotonic()
    job = {"code": code, "expressions": [test.expression for test in parsed]}
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as report:
        stdin.write(json.dumps(job).encode())
        stdin.seek(0)
        exit_status = _run_child(stdin, output, report, limits)
        lines = _report_lines(report, limits)
        printed = _head(output, limits.output_chars)
    ending = _ending(exit_status, limits)
    outcomes = tuple(_outcomes(parsed, lines, ending))
    return SandboxResult(
        outcomes=outcomes,
        error=next((outcome.error for outcome in outcomes if outcome.error), _code_error(lines) or ending),
        output=printed,
        timed_out=exit_status is None,
        elapsed_s=time.monotonic() - started,
        had_network=not any(line.get("network_left") is True for line in lines[:1]),
    )


def _parsed(test: str) -> _Test:
    try:
        (statement,) = ast.parse(test.strip()).body
        if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
            compare = statement.test
            if len(compare.ops) == 1 and isinstance(compare.ops[0], ast.Eq):
                expected = ast.literal_eval(compare.comparators[0])
                return _Test(text=test, expression=ast.unparse(compare.left), expected=expected)
    except (SyntaxError, ValueError, RecursionError):
        pass
    raise ConfigError(f"a test has to be 'assert EXPRESSION == LITERAL', got {test!r}")


def _run_child(stdin: IO[bytes], output: IO[bytes], report: IO[bytes], limits: SandboxLimits) -> int | None:
    """The exit status of the process, None when it was killed for its time."""
    bounds = {
        "RLIMIT_CPU": math.ceil(limits.cpu_s),
        "RLIMIT_AS": limits.memory_mib * _MIB,
        "RLIMIT_FSIZE": limits.file_mib * _MIB,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_NPROC": 0,
        "RLIMIT_CORE": 0,
    }
    script = str(Path(_sandbox_child.__file__).resolve())
    arguments = [script, "enter", str(report.fileno()), json.dumps(bounds)]
    with tempfile.TemporaryDirectory(prefix="answer-") as folder:
        process = subprocess.Popen(
            [sys.executable, *_sandbox_child.INTERPRETER_FLAGS, *arguments],
            stdin=stdin,
            stdout=output,
            stderr=output,
            cwd=os.path.realpath(folder),
            env={"PYTHONHASHSEED": "0"},
            pass_fds=[report.fileno()],
            start_new_session=True,
        )
        try:
            return process.wait(timeout=limits.wall_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _kill_group(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left of it; macOS says the latter
        os.killpg(process.pid, signal.SIGKILL)  # the leader of its own session, hence also the group's id
    process.wait()


def _report_lines(report: IO[bytes], limits: SandboxLimits) -> list[Mapping[str, Any]]:
    """What the process reported. The code can write here too, and gains nothing by it; other lines are passed over."""
    report.seek(0)
    lines: list[Mapping[str, Any]] = []
    for raw in report.read(limits.file_mib * _MIB).splitlines():
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            lines.append(line)
    return lines


def _head(output: IO[bytes], characters: int) -> str:
    output.seek(0)
    return output.read(4 * characters).decode("utf-8", "replace")[:characters]


def _ending(exit_status: int | None, limits: SandboxLimits) -> str | None:
    if exit_status is None:
        return f"killed after {limits.wall_s:g} s"
    if exit_status >= 0:
        return None if exit_status == 0 else f"the process ended with exit status {exit_status}"
    if -exit_status == signal.SIGXCPU:
        return f"killed after {math.ceil(limits.cpu_s)} s of processor time"
    return f"the process died of signal {-exit_status}"


def _code_error(lines: Sequence[Mapping[str, Any]]) -> str | None:
    return next((str(line["code_error"]) for line in lines if "code_error" in line), None)


def _outcomes(tests: Sequence[_Test], lines: Sequence[Mapping[str, Any]], ending: str | None) -> list[AssertOutcome]:
    code_error = _code_error(lines)
    found: dict[int, Mapping[str, Any]] = {}
    for line in lines:
        number = line.get("test")
        if isinstance(number, int):
            found.setdefault(number, line)
    missing = code_error or ending or "the process ended before this test"
    return [_outcome(test, found.get(number), missing) for number, test in enumerate(tests)]


def _outcome(test: _Test, line: Mapping[str, Any] | None, missing: str) -> AssertOutcome:
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
