"""Worth of a run: its result is read, the check is asked, and the outcome follows."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import numbers
import re
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tracer_hooks._guard import guard, warn_once
from tracer_hooks.frameworks import Adapter, RunResult, StreamCollector, TeamCall, Verdict
from tracer_hooks.repair import NOT_RIGHT
from tracer_hooks.schema import RunOutcome, to_text
from tracer_hooks.telemetry import ABANDONED, CANCELLED, INTERRUPTED, Content
from tracer_hooks.values import compare_values


class SafeCollector:
    """An adapter's collector; a failure in it is ours, and leaves the stream as it is."""

    def __init__(self, adapter: Adapter, call: TeamCall) -> None:
        self.last: Any = None
        self._collector: StreamCollector | None = None
        with guard("look at a stream"):
            self._collector = adapter.collector(call)

    def see(self, item: Any) -> None:
        """Look at one item."""
        self.last = item
        if self._collector is not None:
            self._collector.see(item)

    def result(self) -> RunResult:
        """Return the result that came out."""
        return self._collector.result() if self._collector is not None else RunResult(text="", native=self.last)


def read_result(read: Callable[[], RunResult], native: Any) -> RunResult:
    """Return the result of ``read``; when it fails, which is ours, whatever text can be found in ``native``."""
    with guard("read the result"):
        return read()
    return RunResult(text=_text_of(native), native=native)


def _text_of(native: Any) -> str:
    from tracer_hooks.frameworks.plain import answer_text

    with guard("read the answer"):
        return answer_text(native)
    return ""


_RUNNER: contextvars.ContextVar[asyncio.Runner | None] = contextvars.ContextVar("tracer_hooks_loop", default=None)


@contextmanager
def shared_loop(runner: asyncio.Runner) -> Iterator[None]:
    """Await in the event loop of ``runner`` meanwhile, and not in a new one each time.

    A model client keeps connections that die with their loop, so a team that is there once needs one loop for all its
    runs. It must not be used by two threads at a time.
    """
    token = _RUNNER.set(runner)
    try:
        yield
    finally:
        _RUNNER.reset(token)


def run_awaitable(awaitable: Awaitable[Any]) -> Any:
    """The result of ``awaitable``, also where an event loop is running: it then gets a loop and thread of its own."""

    async def finish() -> Any:
        return await awaitable

    if not loop_is_running():
        kept = _RUNNER.get()
        if kept is None or kept.get_loop().is_running():  # in another thread, which may have our context
            return asyncio.run(finish())
        return kept.run(finish(), context=contextvars.copy_context())
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(finish()))
        except BaseException as error:
            failure.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="tracer-hooks-await", daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def loop_is_running() -> bool:
    """Tell whether the calling thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


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
    """A run that nobody could judge: its outcome is not known, and nobody is told, blamed or asked again for it."""

    reason: str
    """Why; of an exception its kind alone, since its text may hold a key or an address."""
    error: BaseException | None = None
    """What the check raised."""


Ruling = Verdict | Undecided
"""What came of asking."""
_NOT_KNOWN = "the outcome of such a run is not known"


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
    warn_once(f"{why}, {id(expected)}", f"%s %s; {_NOT_KNOWN}", said, Content(content))
    return Undecided(why)


def known_answer(expected: Expected | None, task: str) -> str | None:
    """The expected answer for ``task``, where there is one that can be looked up."""
    answer = expected_answer(expected, task)
    return answer if isinstance(answer, str) else None


def ask_check(check: Check, result: RunResult, task: str) -> Ruling:
    """Ask ``check`` in synchronous code; an asynchronous one runs in an event loop of its own.

    Only what it says, and a failed assertion, is a verdict: an exception is a fault of the check, or of what it needs.
    """
    try:
        judgement = _call(check, result, task)
        if inspect.isawaitable(judgement):
            judgement = run_awaitable(judgement)
        return _ruling(check, judgement)
    except (Exception, asyncio.CancelledError) as error:
        return _ruling_of_raised(check, error, task)


async def ask_check_async(check: Check, result: RunResult, task: str) -> Ruling:
    """The same in asynchronous code."""
    try:
        judgement = _call(check, result, task)
        if inspect.isawaitable(judgement):
            judgement = await judgement
        return _ruling(check, judgement)
    except asyncio.CancelledError as error:
        asked = asyncio.current_task()
        if asked is None or asked.cancelling():  # else a task of the check's own was cancelled
            raise
        return _ruling_of_raised(check, error, task)
    except Exception as error:
        return _ruling_of_raised(check, error, task)


def compare_with_expected(expected: str, text: str) -> Verdict:
    """Tell whether ``text`` states the expected answer: the same value in any writing, or for text the same words."""
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


def _ruling_of_raised(check: Check, error: BaseException, task: str) -> Ruling:
    name, kind, text = _check_name(check), type(error).__name__, to_text(error)
    if isinstance(error, AssertionError):
        return Verdict(passed=False, reason=text or f"an assertion of {name} does not hold")
    said = f"%s raised %s: %s, on the task %s; {_NOT_KNOWN}"
    warn_once(f"{kind} {id(check)}", said, name, kind, Content(text), Content(repr(task[:80])))
    return Undecided(f"the check raised {kind}", error)


def _ruling(check: Check, judgement: Any) -> Ruling:
    """The table of what a check may return. What is in none of its rows decides nothing, and is said once."""
    name = _check_name(check)
    if isinstance(judgement, Verdict):
        if _is_bool(judgement.passed) and (judgement.score is None or _is_score(judgement.score)):
            return judgement
        odd = f"a Verdict with passed={_short_repr(judgement.passed)} and score={_short_repr(judgement.score)}"
    elif _is_bool(judgement):
        passed = bool(judgement)
        return Verdict(passed=True) if passed else _without_reason(f"{name} returned False")
    elif judgement is None:
        forgot = f"{name} returned None; did it forget to return?"
        warn_once(f"{forgot} {id(check)}", f"%s {_NOT_KNOWN.capitalize()}", forgot)
        return Undecided(forgot)
    elif isinstance(judgement, re.Match):
        return Verdict(passed=True)
    elif _is_score(judgement):
        score = float(judgement)
        if score >= PASS_SCORE:
            return Verdict(passed=True, score=score)
        return _without_reason(f"{name} scored {score:g}, below {PASS_SCORE:g}", score)
    else:
        odd = _short_repr(judgement)
    message = "%s returned %s, expected a bool, a score from 0 to 1, or a Verdict"
    key = f"{name} {id(check)} {type(judgement).__name__}"
    warn_once(key, f"{message}; {_NOT_KNOWN}", name, Content(odd))
    return Undecided(message % (name, odd))


def _without_reason(said: str, score: float | None = None) -> Verdict:
    """A failed run of which nothing more is known: there is nothing that the team could be told."""
    return Verdict(passed=False, reason=said, score=score, feedback=NOT_RIGHT)


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


def _short_repr(value: Any) -> str:
    try:
        return repr(value)[:80]
    except Exception:  # the user's own __repr__
        return f"a {type(value).__name__} whose repr() raises"


def _check_name(check: Check) -> str:
    name = getattr(check, "__name__", type(check).__name__)
    return "the check" if name == "<lambda>" else to_text(name)


# Ranks, worst first; a failed check stands between the last two by its score.
_RAISED, _NO_ANSWER, _PASSED = -1.0, -0.5, 2.0


@dataclass(frozen=True, kw_only=True)
class JudgedRunOutcome:
    """A run's outcome with the reason, and a rank that compares attempts."""

    outcome: RunOutcome
    reason: str | None = None
    rank: float = 0.0
    verdict: Verdict | None = None
    """What the check said, where one was asked."""


def judge_error(error: BaseException) -> JudgedRunOutcome:
    """The outcome of a run that raised: cancelled and broken-off runs are UNKNOWN, others FAILED."""
    if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, SystemExit)):
        return JudgedRunOutcome(outcome=RunOutcome.UNKNOWN, reason=CANCELLED)
    if isinstance(error, GeneratorExit):
        return JudgedRunOutcome(outcome=RunOutcome.UNKNOWN, reason=ABANDONED)
    text = to_text(error).partition("\nTraceback")[0]  # AutoGen 0.7 puts the whole traceback into its message
    reason = f"{type(error).__name__}: {text}".rstrip(": ")
    return JudgedRunOutcome(outcome=RunOutcome.FAILED, reason=reason, rank=_RAISED)


def judge_result(result: RunResult, ruling: Ruling | None) -> JudgedRunOutcome:
    """The outcome of a run that ended by itself.

    An interrupt is UNKNOWN, and so is what nobody could judge. A check decides. Without one a run with an answer
    SUCCEEDED, whatever stopped the framework, and one without an answer FAILED.
    """
    if result.interrupted:
        return JudgedRunOutcome(outcome=RunOutcome.UNKNOWN, reason=INTERRUPTED)
    if isinstance(ruling, Undecided):
        return JudgedRunOutcome(outcome=RunOutcome.UNKNOWN, reason=ruling.reason)
    if ruling is None and not result.text.strip():
        stopped = f" ({result.stop_reason})" if result.stop_reason else ""
        return JudgedRunOutcome(outcome=RunOutcome.FAILED, reason=f"no answer{stopped}", rank=_NO_ANSWER)
    if ruling is not None and not ruling.passed:
        reason = f"check: {ruling.reason or 'not passed'}"
        return JudgedRunOutcome(outcome=RunOutcome.FAILED, reason=reason, rank=ruling.rank, verdict=ruling)
    rank = _PASSED + (ruling.rank if ruling is not None else 0.0)
    return JudgedRunOutcome(outcome=RunOutcome.SUCCEEDED, reason=result.stop_reason, rank=rank, verdict=ruling)
