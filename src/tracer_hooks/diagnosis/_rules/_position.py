"""Weak priors for want of evidence: who acted first on the task, and who spoke last."""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._reading._roles import Role, is_planner
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._rules._repetition import limit_reached
from tracer_hooks.diagnosis._rules._signal import HINT, WEAK, Family, Signal
from tracer_hooks.schema import ErrorMode, StepKind

NOTHING_ELSE = "Nothing that was said or done in this step stands out; it is listed since "
"""How the evidence of a place begins: a place alone is no finding."""
_LONG = 5
"""From this many steps on, an early error has more to carry it on than a late one."""


def positional_priors(trace: RunReading) -> Iterator[Signal]:
    """A hint at the first act on the task, in runs long enough, and one at the last responsible speaker."""
    first = _first_work(trace)
    if first is not None and len(trace.steps) >= _LONG:
        yield Signal(
            family=Family.POSITION,
            step=first,
            weight=HINT + HINT / 2,
            mode=ErrorMode.FM_1_1,
            why=f"{NOTHING_ELSE}{trace.steps[first].agent!r} was the first to "
            + ("work on the task." if _task_was_given(trace, first) else "speak."),
        )
    last = trace.last_speaker
    if last is not None:
        stopped = limit_reached(trace)
        yield Signal(
            family=Family.POSITION,
            step=last,
            weight=WEAK if stopped and len(trace.steps) < _LONG else HINT,
            mode=ErrorMode.FM_1_5 if stopped else ErrorMode.FM_1_1,
            why=f"{NOTHING_ELSE}{trace.steps[last].agent!r} was the last to speak.",
        )


def _task_was_given(trace: RunReading, step: int) -> bool:
    """Whether no person speaks only later: in a conversation that the team opens, the task comes after the greeting."""
    first = next((index for index, role in enumerate(trace.roles) if role is Role.PERSON), None)
    return first is None or first < step


def _first_work(trace: RunReading) -> int | None:
    """The first act that is neither the handing over of the task nor planning."""
    for index in trace.acts:
        step = trace.steps[index]
        if trace.is_brief(index) or step.kind is StepKind.HANDOFF or is_planner(step.agent):
            continue
        return index
    return trace.acts[0] if trace.acts else None
