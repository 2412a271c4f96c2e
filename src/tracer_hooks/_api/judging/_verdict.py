"""What a check says about a run, and how checks of every kind are asked."""

from __future__ import annotations

import inspect
import numbers
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks._api.judging._awaiting import run_awaitable
from tracer_hooks._guard import logger, warn_once
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry import Content
from tracer_hooks.values import compare_values

PASS_SCORE = 0.5
"""A score from here on counts as passed."""


Judgement = bool | float | Verdict | re.Match[str] | None
Check = Callable[..., Judgement | Awaitable[Judgement]]
"""``check(result)`` or ``check(result, task)``; sync or async. It gives a bool, a score from 0 to 1, the match of a
regular expression, or a :class:`Verdict`."""

Expected = str | Mapping[str, str] | Callable[[str], str | None]
"""The expected answer: one for all tasks, by task, or from a function of the task."""


@dataclass(frozen=True)
class Undecided:
    """A run that nobody could judge: its outcome is not known."""

    reason: str
    """Why."""


Ruling = Verdict | Undecided
"""What came of asking."""


def expected_answer(expected: Expected | None, task: str) -> str | Undecided | None:
    """The expected answer for ``task``; None where none was given, undecided where it lacks this task or raises."""
    if expected is None or isinstance(expected, str):
        return expected
    try:
        answer = expected.get(task) if isinstance(expected, Mapping) else expected(task)
        if answer is not None:
            return to_text(answer)  # numbers are natural answers
        said, content = "expected= has no answer for the task", repr(task[:80])
    except Exception as error:
        said, content = f"expected= raised {type(error).__name__}:", to_text(error)
    why = f"{said} {content}".rstrip(": ")
    warn_once(f"{why}, {id(expected)}", "%s %s; the outcome of such a run is not known", said, Content(content))
    return Undecided(why)


def known_answer(expected: Expected | None, task: str) -> str | None:
    """The expected answer for ``task``, where there is one that can be looked up."""
    answer = expected_answer(expected, task)
    return answer if isinstance(answer, str) else None


def ask_check(check: Check, result: RunResult, task: str) -> Ruling:
    """Ask ``check`` in synchronous code; an asynchronous one runs in an event loop of its own."""
    try:
        return verdict_of(check, result, task)
    except Exception as error:
        return _raised(check, error)


def verdict_of(check: Check, result: RunResult, task: str) -> Ruling:
    """What ``check`` says; a failed assertion is a verdict, any other exception of the check is raised."""
    try:
        judgement = _call(check, result, task)
        if inspect.isawaitable(judgement):
            judgement = run_awaitable(judgement)
        return _ruling(check, judgement)
    except AssertionError as error:
        return _raised(check, error)


async def ask_check_async(check: Check, result: RunResult, task: str) -> Ruling:
    """Ask ``check`` in asynchronous code."""
    try:
        judgement = _call(check, result, task)
        if inspect.isawaitable(judgement):
            judgement = await judgement
        return _ruling(check, judgement)
    except Exception as error:
        return _raised(check, error)


def compare(expected: str, text: str) -> Verdict:
    """Whether ``text`` states the expected answer: the same value in any writing, or for text the same words."""
    comparison = compare_values(expected, text)
    return Verdict(passed=comparison.same, reason=comparison.reason)


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
    kind = type(error).__name__
    logger.warning("%s raised %s: %s; the run counts as failed", _name(check), kind, Content(text))
    return Verdict(passed=False, reason=reason)


def _ruling(check: Check, judgement: Any) -> Ruling:
    """The table of what a check may return. What is in none of its rows decides nothing, and is said once."""
    name = _name(check)
    if isinstance(judgement, Verdict):
        if _is_bool(judgement.passed) and (judgement.score is None or _is_score(judgement.score)):
            return judgement
        odd = f"a Verdict with passed={_short(judgement.passed)} and score={_short(judgement.score)}"
    elif _is_bool(judgement):
        passed = bool(judgement)
        return Verdict(passed=passed, reason=None if passed else f"{name} returned False")
    elif judgement is None:
        return Verdict(passed=False, reason=f"{name} returned None; did it forget to return?")
    elif isinstance(judgement, re.Match):
        return Verdict(passed=True)
    elif _is_score(judgement):
        score = float(judgement)
        reason = None if score >= PASS_SCORE else f"{name} scored {score:g}, below {PASS_SCORE:g}"
        return Verdict(passed=score >= PASS_SCORE, reason=reason, score=score)
    else:
        odd = _short(judgement)
    message = "%s returned %s, expected a bool, a score from 0 to 1, or a Verdict"
    key = f"{name} {id(check)} {type(judgement).__name__}"
    warn_once(key, f"{message}; the outcome of such a run is not known", name, Content(odd))
    return Undecided(message % (name, odd))


def _is_bool(value: Any) -> bool:
    # By name: numpy is not loaded for it. Its class is called bool_ before numpy 2.
    return isinstance(value, bool) or (type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"))


def _is_score(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):  # numpy's numbers are Real, too
        return False
    try:
        return bool(0 <= value <= 1)  # type: ignore[operator]  # not for NaN; no float(), which a large fraction overflows
    except Exception:  # a number of the user's own
        return False


def _short(value: Any) -> str:
    try:
        return repr(value)[:80]
    except Exception:  # the user's own __repr__
        return f"a {type(value).__name__} whose repr() raises"


def _name(check: Check) -> str:
    name = getattr(check, "__name__", type(check).__name__)
    return "the check" if name == "<lambda>" else to_text(name)
