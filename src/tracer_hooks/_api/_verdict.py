"""What a check says about a run, and how checks of every kind are asked."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tracer_hooks._api._awaiting import run_awaitable
from tracer_hooks._guard import logger
from tracer_hooks.adapters import RunResult, Verdict
from tracer_hooks.schema import to_text

PASS_SCORE = 0.5
"""A score from here on counts as passed."""


Judgement = bool | float | Verdict | None
Check = Callable[..., Judgement | Awaitable[Judgement]]
"""``check(result)`` or ``check(result, task)``: a bool, a score from 0 to 1, or a :class:`Verdict`; sync or async."""

Expected = str | Mapping[str, str] | Callable[[str], str | None]
"""The expected answer: one for all tasks, by task, or from a function of the task."""


def expected_answer(expected: Expected | None, task: str) -> str | None:
    """The expected answer for ``task``, if there is one."""
    if expected is None or isinstance(expected, str):
        return expected
    answer = expected.get(task) if isinstance(expected, Mapping) else expected(task)
    return None if answer is None else to_text(answer)  # numbers are natural answers


def ask_check(check: Check, result: RunResult, task: str) -> Verdict:
    """Ask ``check`` in synchronous code; an asynchronous one runs in an event loop of its own."""
    try:
        return verdict_of(check, result, task)
    except Exception as error:
        return _raised(check, error)


def verdict_of(check: Check, result: RunResult, task: str) -> Verdict:
    """What ``check`` says; a failed assertion is a verdict, any other exception of the check is raised."""
    try:
        judgement = _call(check, result, task)
        if inspect.isawaitable(judgement):
            judgement = run_awaitable(judgement)
        return _to_verdict(check, judgement)
    except AssertionError as error:
        return _raised(check, error)


async def ask_check_async(check: Check, result: RunResult, task: str) -> Verdict:
    """Ask ``check`` in asynchronous code."""
    try:
        judgement = _call(check, result, task)
        if inspect.isawaitable(judgement):
            judgement = await judgement
        return _to_verdict(check, judgement)
    except Exception as error:
        return _raised(check, error)


def compare(expected: str, text: str) -> Verdict:
    """Whether ``text`` is, or contains as whole words, the expected answer; case and spacing are ignored."""
    wanted, got = " ".join(expected.split()).casefold(), " ".join(text.split()).casefold()
    if wanted == got or (wanted and _contains_words(got, wanted)):
        return Verdict(passed=True)
    return Verdict(passed=False, reason=f"expected {expected!r}, got {text[:200]!r}")


def _call(check: Check, result: RunResult, task: str) -> Any:
    try:
        positional = [
            parameter
            for parameter in inspect.signature(check).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.VAR_POSITIONAL)
        ]
    except (TypeError, ValueError):  # some built-in callables have no signature
        return check(result, task)
    takes_task = len(positional) > 1 or any(p.kind is p.VAR_POSITIONAL for p in positional)
    return check(result, task) if takes_task else check(result)


def _raised(check: Check, error: Exception) -> Verdict:
    text = to_text(error)
    if isinstance(error, AssertionError):
        return Verdict(passed=False, reason=text or f"an assertion of {_name(check)} does not hold")
    reason = f"{type(error).__name__}: {text}".rstrip(": ")
    logger.warning("%s raised %s; the run counts as failed", _name(check), reason)
    return Verdict(passed=False, reason=reason)


def _to_verdict(check: Check, judgement: Any) -> Verdict:
    if isinstance(judgement, Verdict):
        return judgement
    name = _name(check)
    if isinstance(judgement, numbers.Real) and not isinstance(judgement, bool):  # numpy's numbers are Real, too
        score = float(judgement)
        if math.isnan(score):
            return Verdict(passed=False, reason=f"{name} gave NaN")
        reason = None if score >= PASS_SCORE else f"{name} scored {score:g}, below {PASS_SCORE:g}"
        return Verdict(passed=score >= PASS_SCORE, reason=reason, score=score)
    passed = bool(judgement)
    return Verdict(passed=passed, reason=None if passed else f"{name} returned {judgement!r}")


def _name(check: Check) -> str:
    name = getattr(check, "__name__", type(check).__name__)
    return "the check" if name == "<lambda>" else to_text(name)


def _contains_words(text: str, words: str) -> bool:
    at = text.find(words)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(words) : at + len(words) + 1]
        if not (before.isalnum() and words[0].isalnum()) and not (after.isalnum() and words[-1].isalnum()):
            return True
        at = text.find(words, at + 1)
    return False
