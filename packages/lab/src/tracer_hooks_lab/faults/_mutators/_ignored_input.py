"""FM-2.5: the agent disregards what another agent or a tool told it."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._arguments import replace_leaf_value
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._numbers import near, numbers_in, values_in, written_like
from tracer_hooks_lab.faults._phrases import phrase
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import change_result_throughout, change_value, result_in

_MODE = ErrorMode.FM_2_5


@register_mutator(_MODE, "own_number_for_theirs")
def own_number_for_theirs(text: str, context: FaultContext, rng: Random) -> str | None:
    """In place of a number that a teammate or tool gave it uses the task's own, or another one."""
    theirs = _told(context) - values_in([context.task])
    used = [n for n in numbers_in(text) if n.value in theirs]
    if not used:
        return None
    number = rng.choice(used)
    of_task = sorted(values_in([context.task]) - values_in([text]))
    new = written_like(number.text, rng.choice(of_task)) if of_task else near(number.text, rng, avoid=theirs)
    return change_value(text, number.value, new, context, rng)


@register_mutator(_MODE, "goes_by_its_own_result")
def goes_by_its_own_result(text: str, context: FaultContext, rng: Random) -> str | None:
    """It sets the result that it was given aside for one of its own."""
    result = result_in(text)
    given = [u for u in context.history if result_in(u.text) is not None]
    if result is None or not given:
        return None
    changed = change_result_throughout(text, context, rng)
    return None if changed is None else f"{phrase('own_figure', rng, teammate=given[-1].agent)} {changed}"


@register_mutator(_MODE, "stays_with_its_reply")
def stays_with_its_reply(text: str, context: FaultContext, rng: Random) -> str | None:
    """It gives its earlier reply once more, whatever was said to it since."""
    earlier = [u for u in context.own if u.text.strip()]
    told_since = [u for u in context.others if earlier and (u.step or 0) > (earlier[-1].step or 0)]
    if not told_since or earlier[-1].text.strip() == text.strip():
        return None
    return f"{phrase('stays_with', rng)} {earlier[-1].text}"


@register_mutator(_MODE, "calls_with_its_own_value", target=Target.ARGUMENTS)
def calls_with_its_own_value(arguments: object, context: FaultContext, rng: Random) -> object:
    """It calls a tool with another value than a teammate or a tool gave it."""
    return replace_leaf_value(arguments, _told(context), rng)


def _told(context: FaultContext) -> set[Decimal]:
    return values_in(u.text for u in (*context.others, *context.tool_results))
