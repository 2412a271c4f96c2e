"""How a run ended, from what it gave, what it raised and what the check says."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tracer_hooks._api.judging._verdict import Ruling, Undecided
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.schema import RunOutcome, to_text
from tracer_hooks.telemetry import ABANDONED, CANCELLED, INTERRUPTED

# Ranks, worst first; a failed check stands between the last two by its score.
_RAISED, _NO_ANSWER, _PASSED = -1.0, -0.5, 2.0


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A run's outcome with the reason, and a rank that compares attempts."""

    outcome: RunOutcome
    reason: str | None = None
    rank: float = 0.0
    verdict: Verdict | None = None
    """What the check said, where one was asked."""


def judge_error(error: BaseException) -> Judged:
    """The outcome of a run that raised: cancelled and broken-off runs are UNKNOWN, others FAILED."""
    if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, SystemExit)):
        return Judged(outcome=RunOutcome.UNKNOWN, reason=CANCELLED)
    if isinstance(error, GeneratorExit):
        return Judged(outcome=RunOutcome.UNKNOWN, reason=ABANDONED)
    text = to_text(error).partition("\nTraceback")[0]  # AutoGen 0.7 puts the whole traceback into its message
    reason = f"{type(error).__name__}: {text}".rstrip(": ")
    return Judged(outcome=RunOutcome.FAILED, reason=reason, rank=_RAISED)


def judge_result(result: RunResult, ruling: Ruling | None) -> Judged:
    """The outcome of a run that ended by itself.

    An interrupt is UNKNOWN, and so is what nobody could judge. A check decides. Without one a run with an answer
    SUCCEEDED, whatever stopped the framework, and one without an answer FAILED.
    """
    if result.interrupted:
        return Judged(outcome=RunOutcome.UNKNOWN, reason=INTERRUPTED)
    if isinstance(ruling, Undecided):
        return Judged(outcome=RunOutcome.UNKNOWN, reason=ruling.reason)
    if ruling is None and not result.text.strip():
        stopped = f" ({result.stop_reason})" if result.stop_reason else ""
        return Judged(outcome=RunOutcome.FAILED, reason=f"no answer{stopped}", rank=_NO_ANSWER)
    if ruling is not None and not ruling.passed:
        reason = f"check: {ruling.reason or 'not passed'}"
        return Judged(outcome=RunOutcome.FAILED, reason=reason, rank=ruling.rank, verdict=ruling)
    rank = _PASSED + (ruling.rank if ruling is not None else 0.0)
    return Judged(outcome=RunOutcome.SUCCEEDED, reason=result.stop_reason, rank=rank, verdict=ruling)
