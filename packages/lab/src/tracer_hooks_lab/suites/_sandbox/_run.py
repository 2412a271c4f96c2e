"""Code of an LLM, run apart from us and tested."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Sequence
from typing import Final

from tracer_hooks.config import BubblewrapUse, bubblewrap_use
from tracer_hooks.errors import ConfigError
from tracer_hooks.extension import warn_once
from tracer_hooks_lab.suites._sandbox._bubblewrap import BubblewrapState, bubblewrap_state, note_failure, start_problem
from tracer_hooks_lab.suites._sandbox._job import (
    Finished,
    Job,
    SandboxLimits,
    SandboxResult,
    code_error,
    finish,
    in_process,
    outcomes,
    parsed,
)

_IS_POSIX: Final = os.name == "posix"
_SIGNAL_FROM: Final = 128
"""bubblewrap ends with this and the signal's number where the process in it died of a signal."""


def run_python(
    code: str,
    *,
    tests: Sequence[str],
    limits: SandboxLimits | None = None,
    bubblewrap: BubblewrapUse | None = None,
) -> SandboxResult:
    """Run ``code`` in a process of its own and test it.

    A test has the form ``assert EXPRESSION == LITERAL``. The process gets the expression only and hands out the
    ``repr`` of its value; the comparison is made here. So code cannot pass by printing what a test would print, by
    ending the process early, by overloading ``==``, or by tampering with what runs it: it has to give the value.

    In both ways the process has an empty environment but for a fixed hash seed, an empty folder as working directory
    that is gone afterwards, and no site packages; limits bound processor time, memory, file size and open files; an
    audit hook refuses sockets, processes, signals, ``ctypes``, and writes outside the folder, with a sentence for
    whoever reads the answer; and after the wall-clock limit everything is killed.

    **With bubblewrap** (Linux on x86_64 or aarch64, where it is installed and the kernel allows it) the kernel holds
    all of this, also against code that sets out to break in and has done away with the audit hook. Inside there are
    processes, users, a network and file systems of its own: no file of the machine but the interpreter, its standard
    library and their shared libraries, none of them writable, no ``/proc``; no network; no process of the machine to
    signal or to read; no second process or thread; and no more than ``disk_mib`` on the disk. A hole in the kernel
    would let code out, as from every container.

    **Without it** code is held back that an LLM wrote in good faith, and its accidents; not code that sets out to
    break in. Python's audit hooks are no security boundary: such code can start processes, signal those of the same
    user, the caller included, read what the user can read and write what he can write, and fill the disk. On Linux it
    is put into a network of its own where the kernel allows it. One line in the log says that this way was taken.

    Args:
        code: A module's text. It runs under another name than ``__main__``.
        tests: What to test, in this order, in one process: state that the code keeps is seen by later tests.
        limits: What it may use; the defaults suit a function of a few lines.
        bubblewrap: ``auto`` takes it where it works, ``required`` runs nothing without it, ``off`` does without;
            default ``TRACER_HOOKS_BUBBLEWRAP``, else ``auto``.

    Returns:
        How it did; ``isolation`` says which way it was held.

    Raises:
        ConfigError: The system is not POSIX, a test has another form, or bubblewrap is required and does not work.
    """
    if not _IS_POSIX:
        raise ConfigError("running code needs a POSIX system (Linux, macOS); on Windows run it under WSL")
    limits, sorted_tests = limits or SandboxLimits(), [parsed(test) for test in tests]
    job = Job(code=code, expressions=[test.expression for test in sorted_tests], limits=limits)
    held = _in_bubblewrap(job, bubblewrap_use(bubblewrap))
    done = held or finish(job, in_process)
    ending = _ending(done, limits, in_bubblewrap=held is not None)
    found = outcomes(sorted_tests, done.lines, ending)
    left = held is not None or any(line.get("network_left") is True for line in done.lines[:1])
    return SandboxResult(
        outcomes=found,
        error=next((outcome.error for outcome in found if outcome.error), code_error(done.lines) or ending),
        output=done.printed,
        timed_out=done.status is None,
        elapsed_s=done.elapsed_s,
        had_network=not left,
        isolation="process" if held is None else "bubblewrap",
    )


def demand_isolation(use: BubblewrapUse | None = None) -> None:
    """Refuse to go on where bubblewrap is required and does not work, before any code is to be run.

    Raises:
        ConfigError: It is so.
    """
    if bubblewrap_use(use) == "required":
        state = bubblewrap_state()
        if not state.works:
            raise _not_without(state)


def isolation_in_words(use: BubblewrapUse | None = None) -> str:
    """Describe what holds code that is run now, for a data card."""
    if bubblewrap_use(use) == "off":
        return "a process with limits, without bubblewrap (switched off)"
    state = bubblewrap_state()
    if state.bubblewrap is None:
        return f"a process with limits, without bubblewrap ({state.problem})"
    return f"bubblewrap {state.bubblewrap.version}"


def _in_bubblewrap(job: Job, use: BubblewrapUse) -> Finished | None:
    """Run the job in bubblewrap; None where the weaker way is to be taken."""
    if use == "off":
        _say_weaker("it is switched off", "TRACER_HOOKS_BUBBLEWRAP=required demands it")
        return None
    state = bubblewrap_state()
    if state.bubblewrap is not None:
        done = finish(job, state.bubblewrap)
        problem = None if done.started or done.status is None else start_problem(done.printed)
        if problem is None:
            return done
        note_failure(problem)
        state = bubblewrap_state()
    if use == "required":
        raise _not_without(state)
    _say_weaker(str(state.problem), state.advice)
    return None


def _not_without(state: BubblewrapState) -> ConfigError:
    return ConfigError(
        f"no code is run without bubblewrap, which is required here and does not work: {state.problem}. Next: "
        f"{state.advice}, or set TRACER_HOOKS_BUBBLEWRAP=auto"
    )


def _say_weaker(why: str, advice: str) -> None:
    warn_once(
        "suites-sandbox",
        "Code of the suites runs without bubblewrap (%s): limits hold accidents back, but not code that sets out to "
        "break in. Next: %s.",
        why,
        advice,
    )


def _ending(done: Finished, limits: SandboxLimits, *, in_bubblewrap: bool) -> str | None:
    """Describe how the process ended, None when it ended well."""
    status, cpu_s = done.status, math.ceil(limits.cpu_s)
    if status is None:
        return f"killed after {limits.wall_s:g} s"
    # bubblewrap gives a signal as a status, which the code could give as well, but not so soon.
    if in_bubblewrap and status == _SIGNAL_FROM + signal.SIGXCPU and done.elapsed_s >= cpu_s:
        status = -signal.SIGXCPU
    if status == -signal.SIGXCPU:
        return f"killed after {cpu_s} s of processor time"
    if status < 0:
        return f"the process died of signal {-status}"
    if in_bubblewrap and status > _SIGNAL_FROM:
        return f"the process ended with exit status {status}, which stands for signal {status - _SIGNAL_FROM}"
    return None if status == 0 else f"the process ended with exit status {status}"
