"""Agents that do again what they have done."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._signal import MODERATE, STRONG, WEAK, Family, Signal
from tracer_hooks.diagnosis._rules._tools import failure_text
from tracer_hooks.schema import ErrorMode

LIMIT_REACHED = re.compile(
    r"max(?:imum)?[ _]?(?:number of )?(?:turns?|messages?|steps?|iterations?|rounds?|iter)\b"
    r"|recursion ?limit|GraphRecursion"
    r"|(?:turn|step|iteration|message) limit|stall|too many (?:steps|turns)|without reaching a stop",
    re.IGNORECASE,
)
_MIN_TEXT = 40
"""Shorter replies recur in every good run ("Thanks", "Approved")."""


def limit_reached(trace: RunReading) -> bool:
    """Tell whether the framework stopped the run for its length."""
    return LIMIT_REACHED.search((trace.trajectory.outcome_reason or "")[:2_000]) is not None


def repeated_messages(trace: RunReading) -> Iterator[Signal]:
    """The first step in which an agent says again what it has said, weighed by how often it does."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index in trace.acts:
        text = " ".join(trace.steps[index].content[:8_000].casefold().split())
        if len(text) >= _MIN_TEXT:
            groups[trace.steps[index].agent, text].append(index)
    yield from _first_repeats(trace, groups, what="message")


def repeated_calls(trace: RunReading) -> Iterator[Signal]:
    """The first step in which an agent makes a call that it has made and that answered the same."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index in trace.acts:
        step = trace.steps[index]
        if not step.tool_calls:
            continue
        calls = [
            (call.name, call.arguments, (call.result or "")[:500], (failure_text(call) or "")[:500])
            for call in step.tool_calls
        ]
        groups[step.agent, json.dumps(calls, sort_keys=True, default=repr)[:8_000]].append(index)
    yield from _first_repeats(trace, groups, what="tool call, with the same result,")


def _first_repeats(trace: RunReading, groups: dict[tuple[str, str], list[int]], *, what: str) -> Iterator[Signal]:
    stopped_for_length = limit_reached(trace)
    for (agent, _), steps in groups.items():
        if len(steps) < 2:
            continue
        weight = WEAK if len(steps) == 2 else MODERATE if len(steps) == 3 else STRONG
        if stopped_for_length:
            weight += MODERATE
        yield Signal(
            family=Family.REPETITION,
            step=steps[1],
            weight=weight,
            mode=ErrorMode.FM_1_5 if stopped_for_length and len(steps) > 3 else ErrorMode.FM_1_3,
            why=f"{agent!r} repeats the {what} of step {steps[0]} here; it makes it {len(steps)} times in all.",
            quote=trace.first_words(steps[1]) if what == "message" else None,
        )
