"""How an error travelled on from the decisive step."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.attribution._reading._numbers import canonical, number_set, numbers_in
from tracer_hooks.attribution._reading._roles import Role
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.attribution._rules._errors import report_of_error
from tracer_hooks.attribution._rules._signal import Signal
from tracer_hooks.schema import Evidence

MAX_SPREAD = 8
_MAX_VALUES = 6


def spread_of(trace: Trace, origin: int, signals: Sequence[Signal]) -> tuple[Evidence, ...]:
    """The later steps that took the error over, in order, each with the passage that shows it."""
    found: dict[int, Evidence] = {}
    report = report_of_error(trace, origin)
    if report is not None:
        index, quote = report
        found[index] = Evidence(
            step=index, quote=quote, why=f"{trace.steps[index].agent!r} reports the error of step {origin}"
        )
    for value in _values(trace, origin, signals):
        for later in range(origin + 1, len(trace.steps)):
            if later in found or trace.roles[later] is Role.PERSON:
                continue
            passage = trace.locate(later, value)
            if passage:
                found[later] = Evidence(step=later, quote=passage, why=f"takes over {value!r} from step {origin}")
    if not found:
        for later in trace.consumers(origin):
            words = trace.first_words(later)
            if words:
                found[later] = Evidence(step=later, quote=words, why=f"builds on step {origin}, which it was shown")
    return tuple(found[index] for index in sorted(found)[:MAX_SPREAD])


def _values(trace: Trace, origin: int, signals: Sequence[Signal]) -> list[str]:
    """What the step brought into the run: the wrong value when a rule knows it, else its new numbers."""
    known = [one.value for one in signals if one.step == origin and one.value]
    if known:
        return list(dict.fromkeys(known))
    before = set(trace.task_numbers)
    for earlier in range(max(0, origin - 20), origin):
        for passage in trace.passages(earlier):
            before |= number_set(passage.text)
    content = trace.content(origin)
    fresh = (
        [match.group() for match in numbers_in(content.text) if canonical(match.group()) not in before]
        if content
        else []
    )
    return [number for number in dict.fromkeys(fresh) if len(canonical(number)) >= 2][:_MAX_VALUES]
