"""FM-2.6: what the agent does contradicts what it reasoned."""

from __future__ import annotations

from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._arguments import change_leaf
from tracer_hooks_lab.faults._code import mutate_code, wrong_operator
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._opposites import negate, turn_verdict
from tracer_hooks_lab.faults._prose import conclusion, sentences
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import change_result, result_in

_MODE = ErrorMode.FM_2_6


@register_mutator(_MODE, "other_conclusion")
def other_conclusion(text: str, context: FaultContext, rng: Random) -> str | None:
    """The reasoning stands; the result is another one."""
    result = result_in(text)
    if result is None or conclusion(text) is None or len(text[: result.span.start].split()) < 4:
        return None
    return change_result(text, context, rng)


@register_mutator(_MODE, "opposite_conclusion")
def opposite_conclusion(text: str, context: FaultContext, rng: Random) -> str | None:
    """The last sentence says the opposite of what the ones before it lead to."""
    own = sentences(text)
    if len(own) < 2:
        return None
    last = own[-1]
    found = conclusion(text)
    if found is not None:
        last = next((s for s in own if s.start <= found.start < s.end), last)
    turned = turn_verdict(last.of(text)) or negate(last.of(text))
    return None if turned is None else text[: last.start] + turned + text[last.end :]


@register_mutator(_MODE, "code_against_its_description")
def code_against_its_description(text: str, context: FaultContext, rng: Random) -> str | None:
    """The words describe one thing, the code does another."""
    return mutate_code(text, rng, wrong_operator)


@register_mutator(_MODE, "calls_with_another_value", target=Target.ARGUMENTS)
def calls_with_another_value(arguments: object, context: FaultContext, rng: Random) -> object:
    """The tool is called with another value than the agent meant."""
    return change_leaf(arguments, [context.task, *(u.text for u in context.history)], rng)
