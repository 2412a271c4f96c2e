"""Signals of a step: what rules over the structure of a run say of it, as log-odds that it is the decisive one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from tracer_hooks._guard import guard
from tracer_hooks.diagnosis._provenance import Departure, DepartureKind, provenance_of
from tracer_hooks.diagnosis._reading._errors import OUTAGE, failure_text, last_successes, limit_reached, prints_error
from tracer_hooks.diagnosis._reading._roles import Role, is_checker, is_planner
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, is_number, numbers_in
from tracer_hooks.schema import ErrorMode, RunOutcome, StepKind

HINT = 0.25
"""A prior: position, being the last to speak."""
WEAK = 0.5
"""Seen in many runs that go well."""
MODERATE = 1.0
"""Often at fault."""
STRONG = 2.0
"""Rarely there without being at fault."""
DECISIVE = 3.0
"""Ties the step to the failure itself: the wrong value, the exception that ended the run."""
NOTHING_SEEN = -1.0
"""Log-odds of a step on which no rule has a word."""


class Family(Enum):
    """Kinds of rule; of one family only the strongest signal on a step counts, since they see the same thing."""

    ERROR = "error"
    TOOL = "tool"
    VALUE = "value"
    ARITHMETIC = "arithmetic"
    PROVENANCE = "provenance"
    CONTRADICTION = "contradiction"
    """No rule has it; its column stays, since shipped weights name it."""
    ASSUMPTION = "assumption"
    POSITION = "position"


@dataclass(frozen=True, slots=True)
class Signal:
    """Word of a rule on one step."""

    family: Family
    step: int
    weight: float
    mode: ErrorMode
    """How the agent went wrong, if it did there."""


_STOPPED = re.compile(r"CancelledError|KeyboardInterrupt|GeneratorExit|GraphInterrupt|\bcancell?ed\b|\binterrupted\b")
_BAD_ARGUMENTS = re.compile(
    r"TypeError|ValueError|KeyError|ValidationError|IndexError|ZeroDivision|invalid|missing|required|unexpected"
    r"|not (?:a )?valid|must be|unknown|no such|not found|does not exist|cannot parse|malformed",
    re.IGNORECASE,
)


def raised_steps(run: RunReading) -> Iterator[Signal]:
    """Steps that gave no reply since something raised in them."""
    last = run.acts[-1] if run.acts else -1
    for index in run.acts:
        step = run.steps[index]
        if step.kind is not StepKind.ERROR and step.error is None:
            continue
        if step.error and (_STOPPED.search(step.error[:500]) or _echoes_tool(run, index)):
            continue  # stopped from outside, or the same exception as a tool's, on its way up
        ended_it = index >= last or bool(step.error and _same_error(step.error, run.trajectory.outcome_reason))
        yield Signal(Family.ERROR, index, DECISIVE if ended_it else MODERATE, ErrorMode.FM_3_1)


def _echoes_tool(run: RunReading, index: int) -> bool:
    error = run.steps[index].error or ""
    failures = (call.error for step in run.steps[max(0, index - 5) : index + 1] for call in step.failed_tools)
    return any(failure and (failure.strip() in error or error.strip() in failure) for failure in failures)


def _same_error(error: str, reason: str | None) -> bool:
    return bool(reason) and error.strip()[:80] in (reason or "")


def reported_errors(run: RunReading) -> Iterator[Signal]:
    """Errors that a terminal or an environment printed: the author of the code answers for them, not the messenger."""
    reports = [index for index, role in enumerate(run.roles) if role is Role.REPORTER]
    failing = [index for index in reports if prints_error(run, index)]
    succeeded_after = max(set(reports) - set(failing), default=-1)
    for order, report in enumerate(failing):
        author = run.author_before(report)
        if author is None or run.roles[author] is Role.REPORTER:
            continue
        overcome = succeeded_after > report and run.trajectory.outcome is not RunOutcome.FAILED
        first = MODERATE if overcome else STRONG
        yield Signal(Family.ERROR, author, first if order == 0 else WEAK, ErrorMode.FM_3_2)


def failed_tools(run: RunReading) -> Iterator[Signal]:
    """Failed tool calls; the caller answers for them, less so when a later call of the same tool went well."""
    succeeded = last_successes(run)
    for index in run.acts:
        for call in run.steps[index].tool_calls:
            failure = failure_text(call)
            if failure is None:
                continue
            overcome = succeeded.get(call.name, -1) > index
            bad_arguments = _BAD_ARGUMENTS.search(failure[:2_000]) is not None and not OUTAGE.search(failure[:2_000])
            weight = WEAK if overcome else STRONG + (WEAK if bad_arguments else 0.0)
            if bad_arguments:
                mode = ErrorMode.FM_2_6
            else:  # it ended there, or went on without what the tool owed it
                mode = ErrorMode.FM_3_1 if run.next_act(index) is None else ErrorMode.FM_2_2
            yield Signal(Family.TOOL, index, weight, mode)


def wrong_values(run: RunReading) -> Iterator[Signal]:
    """The first step that brought in a value which the check, or the reference, shows to be wrong.

    When nothing tells which part of a rejected answer is wrong, the answer itself is followed back, with less weight.
    """
    outcome = run.known_outcome
    for rank, value in enumerate(outcome.wrong[:4]):
        yield from _brought_in(run, value, DECISIVE if rank == 0 else MODERATE, outcome.expected)
    for value in outcome.answered[:1]:
        yield from _brought_in(run, value, MODERATE, ())


def _brought_in(run: RunReading, value: str, weight: float, expected: tuple[str, ...]) -> Iterator[Signal]:
    if is_number(value) and canonical(value) in run.task_numbers:
        return  # given in the task: it tells nothing about who brought it in
    origin = _origin(run, value)
    if origin is None:
        return
    step, relayed = origin
    planned = _planned(run, value)
    if planned is not None and planned.step < step:
        # Who works out what a colleague asked for is not the first to have brought the value in.
        yield Signal(Family.VALUE, planned.step, weight, ErrorMode.FM_1_1)
        return
    if is_checker(run.steps[step].agent):
        mode = ErrorMode.FM_3_3
    else:
        mode = ErrorMode.FM_2_5 if _was_said(run, step, expected) else ErrorMode.FM_3_2
    yield Signal(Family.VALUE, step, weight - (WEAK if relayed else 0.0), mode)


def _planned(run: RunReading, value: str) -> Departure | None:
    """The step that asks for the calculation which gives the value."""
    wanted = _number(value)
    if wanted is None:
        return None
    return next((one for one in provenance_of(run).planned if _number(one.value or "") == wanted), None)


def _number(value: str) -> str | None:
    """The one number of a value."""
    found = [canonical(match.group()) for match in numbers_in(value)]
    return found[0] if len(found) == 1 else None


def _origin(run: RunReading, value: str) -> tuple[int, bool] | None:
    """The step that a value comes from, and whether only a tool or a terminal said it there."""
    for index, role in enumerate(run.roles):
        if role is Role.PERSON or run.is_brief(index):
            continue
        if role is Role.AGENT and run.locate(index, value, "content", "arguments") is not None:
            return index, False
        # What comes back from a hand-over is the words of the other agent, whose own step tells them.
        delegated = run.steps[index].recipient is not None
        if run.locate(index, value, *(("content",) if delegated else ("content", "result"))) is None:
            continue
        author = index if role is Role.AGENT else run.author_before(index)
        if author is not None:
            return author, True
    return None


def _was_said(run: RunReading, step: int, expected: tuple[str, ...]) -> bool:
    """Tell whether the right value had been said before, so that it was dropped rather than never found."""
    return any(
        run.locate(index, value, "content", "result") is not None
        for value in expected
        for index in range(step + 1)
        if run.roles[index] is not Role.PERSON
        and not run.is_brief(index)
        and (index < step or run.steps[step].tool_calls)
    )


_MODES = {
    DepartureKind.MISCOPIED: ErrorMode.FM_2_5,
    DepartureKind.DROPPED: ErrorMode.FM_2_5,
    DepartureKind.PLANNED: ErrorMode.FM_1_1,
}
"""All others contradict what was given or shown: FM-2.6."""
_SURE = 0.7
"""Strength from which a departure is a finding by itself."""
_TELLS = 0.4
"""Strength below which a departure only says where a value of the answer was made."""
_MOST = 8
_SHORT = 9


def departures(run: RunReading) -> Iterator[Signal]:
    """The departures of the run's values, the likeliest with most weight."""
    nearness = min(1.0, (_SHORT / max(1, len(run.acts))) ** 0.5)
    for rank, departure in enumerate(provenance_of(run).departures[:_MOST]):
        # By resemblance alone a long run has many false slips; what is computed does not age.
        is_computed = departure.kind is DepartureKind.MISCALCULATED
        ages = departure.leads_to_answer and not is_computed
        weight = _weight(departure, rank, _follows_a_failure(run, departure)) * (nearness if ages else 1.0)
        yield Signal(
            Family.ARITHMETIC if is_computed else Family.PROVENANCE,
            departure.step,
            round(weight, 4),
            _MODES.get(departure.kind, ErrorMode.FM_2_6),
        )


def _follows_a_failure(run: RunReading, departure: Departure) -> bool:
    """Tell whether a value from nowhere comes right after a tool of the same agent failed, which is then the cause."""
    if departure.kind is not DepartureKind.UNSUPPORTED:
        return False
    agent = run.steps[departure.step].agent
    calls = [
        call
        for step in run.steps[max(0, departure.step - 1) : departure.step + 1]
        if step.agent == agent
        for call in step.tool_calls
    ]
    return any(failure_text(call) is not None for call in calls)


def _weight(departure: Departure, rank: int, follows_a_failure: bool) -> float:
    if follows_a_failure:
        return WEAK
    if departure.strength >= _SURE:
        return DECISIVE + MODERATE if departure.leads_to_answer and rank == 0 else STRONG + WEAK
    if rank == 0 and departure.leads_to_answer:
        return STRONG if departure.strength >= _TELLS else MODERATE
    return MODERATE if rank == 0 else WEAK * departure.strength


MADE_UP = re.compile(
    r"(?<!not )(?<!n't )(?<!without )\b(?:let(?:'s| us| me) (?:assume|suppose|pretend|imagine|simulate)"
    r"|(?:i|we)(?:'ll| will| shall| can)? (?:assume|simulate|pretend|suppose) (?!you|that you)"
    r"|assuming (?:that )?(?:the|we|it|a)|hypothetical(?:ly)?|placeholder|for (?:demonstration"
    r"|illustration|illustrative)(?: purposes)?"
    r"|(?:mock|dummy|fake|simulated|made-up|fabricated|synthetic) (?:data|value|number|result|response"
    r"|figure|output)s?|as an educated guess)",
    re.IGNORECASE,
)
MAKES_UP = (
    *("assum", "suppos", "pretend", "imagine", "simulat", "hypothetical", "placeholder", "demonstration", "illustrat"),
    *("mock", "dummy", "fake", "made-up", "fabricated", "synthetic", "educated guess"),
)
"""Every match of :data:`MADE_UP` has one of these, in lower case."""
PLACEHOLDER_IN_CODE = re.compile(
    r"YOUR_[A-Z_]{3,}|your_?api_?key|path[_/]to[_/]\w|X(?<!\wX)X{3,}\b|#.{0,40}\b(?:placeholder"
    r"|replace (?:this )?with|dummy|mock|hypothetical|simulat\w+|assum\w+)\b"
    r"|<(?i:(?:insert|your)[ _-]\w)",
)


def made_up_data(run: RunReading) -> Iterator[Signal]:
    """The first step of each agent that goes on with assumed, simulated or placeholder data."""
    if MADE_UP.search(run.trajectory.task[:20_000]):
        return  # the task itself asks for it
    seen: set[str] = set()
    for index in run.acts:
        agent, passage = run.steps[index].agent, run.content(index)
        if passage is None or agent in seen or run.is_brief(index):
            continue
        lower = passage.text.lower()
        assumed = any(part in lower for part in MAKES_UP) and MADE_UP.search(passage.prose)
        if assumed or PLACEHOLDER_IN_CODE.search(passage.text):
            yield Signal(Family.ASSUMPTION, index, WEAK if seen else MODERATE, ErrorMode.FM_2_2)
            seen.add(agent)


_LONG = 5
"""From this many steps on, an early error has more to carry it on than a late one."""


def positional_priors(run: RunReading) -> Iterator[Signal]:
    """A hint at the first act on the task, in runs long enough, and one at the last responsible speaker."""
    first = _first_work(run)
    if first is not None and len(run.steps) >= _LONG:
        yield Signal(Family.POSITION, first, HINT + HINT / 2, ErrorMode.FM_1_1)
    if run.last_speaker is not None:
        stopped = limit_reached(run)
        yield Signal(
            Family.POSITION,
            run.last_speaker,
            WEAK if stopped and len(run.steps) < _LONG else HINT,
            ErrorMode.FM_1_5 if stopped else ErrorMode.FM_1_1,
        )


def _first_work(run: RunReading) -> int | None:
    """The first act that is neither the handing over of the task nor planning."""
    for index in run.acts:
        step = run.steps[index]
        if not (run.is_brief(index) or step.kind is StepKind.HANDOFF or is_planner(step.agent)):
            return index
    return run.acts[0] if run.acts else None


RULES: tuple[Callable[[RunReading], Iterator[Signal]], ...] = (
    raised_steps,
    reported_errors,
    failed_tools,
    wrong_values,
    departures,
    made_up_data,
    positional_priors,
)


def signals_of(run: RunReading) -> list[Signal]:
    """What every rule says; a rule that fails on an odd trajectory is left out, with one log line."""
    found: list[Signal] = []
    for rule in RULES:
        with guard(f"apply the rule {rule.__name__!r} to a trajectory"):
            found += list(rule(run))
    return found


# The share of belief that the kind of the best evidence earns. People who label failed runs contradict each other in
# every fourth case, and rules see only the surface. Values are trusted no further than they earned on the development
# half of Who&When: told the expected answer, the step that first brought the wrong value in was the labelled one in
# 36 % of runs of 5 to 10 steps and in 10 % of runs of 50. So trust in them falls with the length of the run.
_TRUST_VALUE = 0.5
_SHORT_RUN = 10
# A value that the wrong answer was followed back to, and that a calculation or a source contradicts.
_FOLLOWED_BACK = DECISIVE + MODERATE
_TRUST = ((_FOLLOWED_BACK, 0.8), (DECISIVE, 0.7), (STRONG, 0.5), (MODERATE, 0.4), (0.0, 0.3))
_TELL_HOW = (Family.ARITHMETIC, Family.PROVENANCE, Family.TOOL)


def trust_in(top: Sequence[Signal], length: int) -> float:
    """The share of belief that the best evidence on a step earns, for want of a calibration on labelled runs."""
    if any(one.family is Family.VALUE and one.weight >= DECISIVE for one in top):
        return _TRUST_VALUE * min(1.0, math.sqrt(_SHORT_RUN / max(1, length)))
    strongest = max((one.weight for one in top), default=0.0)
    return next(trust for weight, trust in _TRUST if strongest >= weight)


def mode_in(signals: Sequence[Signal]) -> ErrorMode | None:
    """The error mode that the signals on one step speak for; None without signals.

    That a value is wrong does not yet say how the agent went wrong: a signal that does, such as a sum that does not add
    up or a failed tool, is believed before it.
    """
    heaviest = max(signals, key=lambda one: one.weight, default=None)
    if heaviest is None or heaviest.family is not Family.VALUE:
        return heaviest.mode if heaviest is not None else None
    telling = [one for one in signals if one.family in _TELL_HOW and one.weight >= MODERATE]
    return max(telling, key=lambda one: one.weight).mode if telling else heaviest.mode
