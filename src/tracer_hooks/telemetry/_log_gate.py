"""Log lines pass the gate, too: a message of ours may repeat what an exception said, and that is content."""

from __future__ import annotations

import logging
import weakref

from tracer_hooks._background import process_lock
from tracer_hooks._guard import look_first
from tracer_hooks.config import ContentCapture
from tracer_hooks.telemetry._content_gate import WITHHELD, ContentGate


class Content(str):
    """A text in a log line that people, models or their code wrote."""


_STRICTNESS = (ContentCapture.FULL, ContentCapture.REDACTED, ContentCapture.OFF)


class _LogGate(logging.Filter):
    """Holds log lines to the strictest record mode of the teams in the process.

    A log line does not say which team it is about, and a process seldom has teams of two modes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._gates: weakref.WeakSet[ContentGate] = weakref.WeakSet()
        self._lock = process_lock()

    def hold(self, gate: ContentGate) -> None:
        """Take ``gate`` into account for as long as it is in use."""
        with self._lock:
            self._gates.add(gate)

    def let_go(self) -> None:
        """Forget every gate."""
        with self._lock:
            self._gates.clear()

    def filter(self, record: logging.LogRecord) -> bool:
        """Put what may be said in the place of what was to be said; no line is left out."""
        with self._lock:
            gates = list(self._gates)
        if not gates or getattr(record, "tracer_hooks_gated", False):
            return True
        is_shut = max(_STRICTNESS.index(gate.mode) for gate in gates) == _STRICTNESS.index(ContentCapture.OFF)
        said = _without_content(record) if is_shut else record.getMessage()
        trace = "" if is_shut or not record.exc_info else logging.Formatter().formatException(record.exc_info)
        for gate in gates:
            said, trace = gate.blanked(said), gate.blanked(trace)
        record.msg, record.args = said, None
        record.exc_info, record.exc_text = None, trace or None
        record.tracer_hooks_gated = True
        return True


def _without_content(record: logging.LogRecord) -> str:
    """The message with the class alone of every exception, and a note in the place of every content."""
    args = record.args
    if isinstance(args, tuple):
        record.args = tuple(_shown(one) for one in args)
    return record.getMessage()


def _shown(value: object) -> object:
    if isinstance(value, BaseException):
        return type(value).__name__
    return WITHHELD if isinstance(value, Content) else value


_GATE = _LogGate()


def hold_logs(gate: ContentGate) -> None:
    """Hold the log lines of this process to ``gate``, for as long as it is in use."""
    if gate.is_open:
        return
    _GATE.hold(gate)
    look_first(_GATE)


def release_logs() -> None:
    """Let log lines through as they are, until the next gate that is shut; for tests."""
    _GATE.let_go()
