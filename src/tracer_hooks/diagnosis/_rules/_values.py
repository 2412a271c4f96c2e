"""Where a value that is known to be wrong came from."""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, provenance_of
from tracer_hooks.diagnosis._reading._roles import Role, is_checker
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, find_value, is_number, numbers_in
from tracer_hooks.diagnosis._rules._signal import DECISIVE, MODERATE, WEAK, Family, Signal
from tracer_hooks.schema import ErrorMode


def wrong_values(trace: RunReading) -> Iterator[Signal]:
    """The first step that brought in a value which the check, or the reference, shows to be wrong.

    When nothing tells which part of a rejected answer is wrong, the answer itself is followed back, with less weight.
    """
    verdict = trace.known_outcome
    for rank, value in enumerate(verdict.wrong[:4]):
        yield from _brought_in(trace, value, DECISIVE if rank == 0 else MODERATE, verdict.expected)
    for value in verdict.answered[:1]:
        yield from _brought_in(trace, value, MODERATE, ())


def _brought_in(trace: RunReading, value: str, weight: float, expected: tuple[str, ...]) -> Iterator[Signal]:
    if is_number(value) and canonical(value) in trace.task_numbers:
        return  # given in the task: it tells nothing about who brought it in
    origin = _origin(trace, value)
    if origin is None:
        return
    planned = _planned(trace, value)
    if planned is not None and planned.step < origin[0]:
        # Who works out what a colleague asked for is not the first to have brought the value in.
        yield Signal(
            family=Family.VALUE,
            step=planned.step,
            weight=weight,
            mode=ErrorMode.FM_1_1,
            why=planned.why,
            quote=planned.quote,
            value=value,
        )
        return
    step, quote, relayed = origin
    agent = trace.steps[step].agent
    seen = _saw(trace, step, expected)
    yield Signal(
        family=Family.VALUE,
        step=step,
        weight=weight - (WEAK if relayed else 0.0),
        mode=_mode(agent, seen=seen),
        why=_told(trace, value, step, relayed=relayed)
        + (" The value that was expected had come up by then." if seen else ""),
        quote=quote,
        value=value,
    )


def _planned(trace: RunReading, value: str) -> Departure | None:
    """The step that asks for the calculation which gives the value."""
    wanted = _number(value)
    if wanted is None:
        return None
    return next((one for one in provenance_of(trace).planned if _number(one.value or "") == wanted), None)


def _number(value: str) -> str | None:
    """The one number of a value."""
    found = [canonical(match.group()) for match in numbers_in(value)]
    return found[0] if len(found) == 1 else None


def _origin(trace: RunReading, value: str) -> tuple[int, str | None, bool] | None:
    """The step that a value comes from, a quotation, and whether only a tool or a terminal said it there."""
    for index, role in enumerate(trace.roles):
        if role is Role.PERSON or trace.is_brief(index):
            continue
        said = trace.locate(index, value, "content", "arguments")
        if said is not None and role is Role.AGENT:
            return index, said, False
        # What comes back from a hand-over is the words of the other agent, whose own step tells them.
        delegated = trace.steps[index].recipient is not None
        relayed = trace.locate(index, value, *(("content",) if delegated else ("content", "result")))
        if relayed is None:
            continue
        if role is Role.AGENT:
            return index, relayed, True
        author = trace.author_before(index)
        if author is not None:
            return author, None, True
    return None


def _told(trace: RunReading, value: str, step: int, *, relayed: bool) -> str:
    """Where the value first came up, and what is wrong with it."""
    agent = trace.steps[step].agent
    reports = (index for index in range(step + 1, len(trace.steps)) if trace.roles[index] is Role.REPORTER)
    if not relayed:
        first = f"{agent!r} is the first of the team to say {value!r}"
    elif trace.locate(step, value, "content", "result") is not None:
        first = f"{value!r} first comes up here, in what a tool gave {agent!r}"
    else:
        source = next((index for index in reports if trace.locate(index, value)), step)
        runner = trace.steps[source].agent
        first = f"{value!r} first comes up in step {source}, in what {runner!r} reports after this step"
    in_answer = find_value(trace.final_text, value) >= 0
    wrong = "it stands in the rejected answer" if in_answer else "the reason of the failure names it as wrong"
    return f"{first}; {wrong}."


def _saw(trace: RunReading, step: int, expected: tuple[str, ...]) -> bool:
    """Tell whether the right value had been said before, so that it was dropped rather than never found."""
    return any(
        trace.locate(index, value, "content", "result") is not None
        for value in expected
        for index in range(step + 1)
        if trace.roles[index] is not Role.PERSON
        and not trace.is_brief(index)
        and (index < step or trace.steps[step].tool_calls)
    )


def _mode(agent: str, *, seen: bool) -> ErrorMode:
    if is_checker(agent):
        return ErrorMode.FM_3_3
    return ErrorMode.FM_2_5 if seen else ErrorMode.FM_3_2
