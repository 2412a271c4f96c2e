"""FM-1.4 and FM-2.1: earlier parts of the conversation are lost, or it starts over."""

from __future__ import annotations

from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._numbers import numbers_in, values_in, written_like
from tracer_hooks_lab.faults._phrases import phrase
from tracer_hooks_lab.faults._prose import has_code, sentences
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import change_value, result_value, set_result

_LOSS = ErrorMode.FM_1_4
_RESET = ErrorMode.FM_2_1


@register_mutator(_LOSS, "older_value")
def older_value(text: str, context: FaultContext, rng: Random) -> str | None:
    """It works with a number from an older message where a newer one was given."""
    said = [context.task, *(u.text for u in context.history)]
    if len(said) < 2:
        return None
    newest, older = values_in(said[-1:]), values_in(said[:-1])
    used = [n for n in numbers_in(text) if n.value in newest and n.value not in older]
    stale = sorted(older - newest)
    if not used or not stale or has_code(text):
        return None
    number = rng.choice(used)
    return change_value(text, number.value, written_like(number.text, rng.choice(stale)), context, rng)


@register_mutator(_LOSS, "own_older_result")
def own_older_result(text: str, context: FaultContext, rng: Random) -> str | None:
    """It falls back on a result that the conversation has left behind."""
    now = result_value(text)
    old = [result_value(u.text) for u in context.history if not u.is_tool_result]
    stale = [value for value in old if value is not None and value != now]
    number = next((n for n in numbers_in(text) if n.value == now), None)
    return set_result(text, written_like(number.text, stale[0])) if stale and number is not None else None


@register_mutator(_LOSS, "forgets_what_was_found", target=Target.TURN)
def forgets_what_was_found(text: str, context: FaultContext, rng: Random) -> str | None:
    """It says that it does not have what the others have told it."""
    if not context.others and not context.tool_results:
        return None
    source = context.others[-1].agent if context.others else context.tool_results[-1].agent
    return phrase("forgets", rng, teammate=source)


@register_mutator(_LOSS, "answers_an_older_message")
def answers_an_older_message(text: str, context: FaultContext, rng: Random) -> str | None:
    """It replies to an older message as if the later ones were not there."""
    if len(context.others) < 2:
        return None
    older = context.others[-2].text
    first = sentences(older)
    if not first:
        return None
    return f"{phrase('answers_older', rng, teammate=context.others[-2].agent)} {first[0].of(older)}"


@register_mutator(_RESET, "starts_over", target=Target.TURN)
def starts_over(text: str, context: FaultContext, rng: Random) -> str | None:
    """It begins again with the task, as if nothing had been done."""
    if not context.history or not context.task.strip():
        return None
    return phrase("starts_over", rng, task=context.task.strip())


@register_mutator(_RESET, "introduces_itself", target=Target.TURN)
def introduces_itself(text: str, context: FaultContext, rng: Random) -> str | None:
    """It greets the team and asks what there is to do."""
    return phrase("greets", rng, agent=context.agent) if context.history else None


@register_mutator(_RESET, "first_message_again", target=Target.TURN)
def first_message_again(text: str, context: FaultContext, rng: Random) -> str | None:
    """It brings the conversation back to its first message."""
    first = next((u.text for u in context.history if not u.is_tool_result and u.text.strip()), "")
    if not first or first.strip() == text.strip() or len(context.history) < 2:
        return None
    return f"{phrase('back_to_start', rng)}\n\n{first}"
