"""The promise that a bug of ours never reaches the user's run.

Every call that tracer-hooks makes on its own account from inside a user's team goes through :func:`guard` or
:func:`guarded`: an exception becomes one log line and the run goes on. With ``TRACER_HOOKS_STRICT=1`` (our own tests)
it is raised instead. The switch is an environment variable of our own, because ``PYTEST_CURRENT_TEST`` is also set in
our users' test suites.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

from tracer_hooks._background import process_lock
from tracer_hooks._text import on_one_line


class _SafeLines(logging.Filter):
    """Makes each message one line without characters that steer a terminal: it may quote what a team wrote."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            record.msg, record.args = on_one_line(record.getMessage()), None
        except Exception:  # logging says what is wrong with a message that cannot be formatted
            return True
        return True


logger = logging.getLogger("tracer_hooks")
logger.addFilter(_SafeLines())


def look_first(gate: logging.Filter) -> None:
    """Let ``gate`` see every message of ours before it is made one line, while it still has its arguments."""
    if gate not in logger.filters:
        logger.filters.insert(0, gate)


P = ParamSpec("P")
T = TypeVar("T")

_warned: set[str] = set()
_warned_lock = process_lock()


def is_strict() -> bool:
    """Tell whether our own bugs are raised instead of logged."""
    return os.environ.get("TRACER_HOOKS_STRICT", "") not in ("", "0", "false")


def report(what: str, error: Exception) -> None:
    """Log one line about a bug of ours, or raise it when strict. Call it from an ``except`` block."""
    if is_strict():
        raise error
    logger.warning(
        "tracer-hooks could not %s (%s: %s). Your team is not affected; TRACER_HOOKS_STRICT=1 shows the traceback.",
        what,
        type(error).__name__,
        error,
    )


def guard(what: str) -> _Guard:
    """Run the block; turn an exception in it into one log line that begins "tracer-hooks could not {what}"."""
    return _Guard(what)


class _Guard:
    # A class, since a generator behind contextlib costs three times as much, and there are dozens in a short run.
    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception) or is_strict():
            return False
        report(self._what, error)
        return True


def guarded(what: str, fallback: T) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function so that it returns ``fallback`` and logs one line instead of raising."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                report(what, error)
                return fallback

        return call

    return decorate


def warn_once(key: str, message: str, *args: object) -> None:
    """Log ``message`` as a warning the first time that ``key`` is seen in this process."""
    with _warned_lock:
        if key in _warned:
            return
        _warned.add(key)
    logger.warning(message, *args)
