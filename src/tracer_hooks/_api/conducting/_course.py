r"""The course of a call: which attempts are made, in which order, and what happens between them.

The one place that knows it. It does no input or output: it says what is to be done next (an *act*, see
:mod:`~tracer_hooks._api.conducting._acts`), a driver does that in its own way (plain, awaited, streaming) and gives the
answer. So the four ways of calling a team cannot come to differ, and the order can be tested without any of them::

    opened -> judged -> closed -> (prepared -> opened -> judged -> closed)* -> finished
       \         \         \            \                                      /
        '---------'---------'------------'----- broken off, at any point -----'
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

from tracer_hooks._api.conducting._acts import Act, Announce, AskCheck, CallTeam, Conclude, PrepareRetry, Reopen, Wait
from tracer_hooks._api.conducting._boundary import RetryBoundary
from tracer_hooks._api.conducting._session import Ended, Opened, Session
from tracer_hooks._api.judging import Judged, judge_error
from tracer_hooks._api.runs import Attempt
from tracer_hooks._guard import guard, report
from tracer_hooks.schema import RunOutcome

Acts = Generator[Act, Any, Any]

_LOST = Judged(outcome=RunOutcome.UNKNOWN, reason="tracer-hooks could not follow it")


class Stage(StrEnum):
    """How far a call has come."""

    OPENED = "opened"
    """An attempt goes on."""
    JUDGED = "judged"
    """The attempt gave a result, and it is known what that is worth."""
    CLOSED = "closed"
    """The attempt is over and recorded."""
    PREPARED = "prepared"
    """It was diagnosed, and the next attempt knows what to try."""
    FINISHED = "finished"
    """Nothing more happens."""


class Course:
    """The state machine of one call.

    Only what the team itself raised can fail an attempt, and an attempt is closed once: what breaks the course off
    finds it either inside an attempt, which is then closed as broken off, or between two, with nothing left to close.

    Args:
        session: What is done for the call.
        opened: The first attempt.
        retries: Whether a failed attempt may be followed by another one; not in a stream that the caller must not see
            twice.
        streams: Whether the call gives its result item by item.

    Attributes:
        stage: How far it has come.
    """

    def __init__(self, session: Session, opened: Opened, *, retries: bool = True, streams: bool = False) -> None:
        self.stage = Stage.OPENED
        self.session = session
        self._retries = retries
        self._streams = streams
        self._open: Opened | None = opened
        self._ended = Ended()
        self._acts = self._attempts(opened)

    # --- for the drivers -------------------------------------------------------------------------------------------
    def start(self) -> Act | None:
        """The first act."""
        return self.answer(None)

    def answer(self, answer: Any) -> Act | None:
        """Tell what came of the last act; gives the next one, or None at the end."""
        try:
            return self._acts.send(answer)
        except StopIteration:
            self.stage = Stage.FINISHED
        except Exception as error:  # ours: what the team gave is delivered all the same
            self._end(_LOST, self._ended)
            report("conduct the call", error)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.break_off(error)

    def break_off(self, error: BaseException) -> None:
        """End the course where it stands, since the caller was cancelled or let go; at its end nothing happens."""
        self._end(judge_error(error), Ended(error=error))

    def becomes_stream(self) -> Course:
        """The call turns out to give its result item by item; gives the course."""
        self._streams, self._retries = True, self.session.options.retry_streams
        return self

    @property
    def error(self) -> BaseException | None:
        """What the caller is to get as an exception: the best attempt's, of a stream the last one's."""
        attempts = self.session.run.attempts
        if not attempts:
            return self._ended.error
        return (attempts[-1] if self._streams else self.session.run.best).error

    @property
    def value(self) -> Any:
        """What the caller is to get: the best attempt's native result, of a stream what the generator returned."""
        if self._streams or not self.session.run.attempts:
            return self._ended.value
        return self.session.run.native

    # --- the course ------------------------------------------------------------------------------------------------
    def _attempts(self, opened: Opened) -> Acts:
        session = self.session
        attempt = yield from self._attempt(opened)
        while attempt is not None and self._retries and session.wants_retry(attempt):
            is_prepared: bool = yield PrepareRetry(session, attempt)
            if not is_prepared:
                break
            self.stage = Stage.PREPARED
            if session.recovery.wait_s > 0:
                yield Wait(session.recovery.wait_s)
            if self._streams:
                yield Announce(RetryBoundary.after(attempt, session.recovery.repair))
            reopened: Opened | None = yield Reopen(session, opened)
            if reopened is None:
                break
            opened = reopened
            attempt = yield from self._attempt(opened)
        if attempt is not None:
            if not self._retries:
                session.leave_failed(attempt)
            yield Conclude(session)

    def _attempt(self, opened: Opened) -> Generator[Act, Any, Attempt | None]:
        """One attempt; None when it turned out to be no run."""
        session, self.stage, self._open = self.session, Stage.OPENED, opened
        ended: Ended = yield CallTeam(session, opened)
        self._ended, judged = ended, _LOST
        if ended.error is not None:
            judged = judge_error(ended.error)
        elif ended.result is not None and session.is_run(opened, ended):
            ruling = yield AskCheck(session, opened, ended.result)
            judged = session.judge(ended.result, ruling)
        self.stage, self._open = Stage.JUDGED, None
        attempt = session.close(opened, judged, ended)
        self.stage = Stage.CLOSED
        return attempt

    def _end(self, judged: Judged, ended: Ended) -> None:
        """End before the end; an attempt that goes on is closed like this."""
        if self.stage is Stage.FINISHED or sys.is_finalizing():  # nothing can be imported or stored any more
            return
        self.stage = Stage.FINISHED
        opened, self._open = self._open, None
        try:
            with guard("end the call"):
                self._acts.close()
                if opened is not None:
                    self.session.close(opened, judged, ended)
        finally:
            if opened is not None:
                opened.run.finish()  # nothing to do but after a fault of ours
            self.session.recovery.break_off(self.session.run)
            self.session.finish_off_the_loop()
