"""FM-1.3: a step is done again that was done already."""

from __future__ import annotations

from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._phrases import phrase
from tracer_hooks_lab.faults._prose import sentences
from tracer_hooks_lab.faults._registry import Target, register_mutator

_MODE = ErrorMode.FM_1_3


@register_mutator(_MODE, "repeats_itself", target=Target.TURN)
def repeats_itself(text: str, context: FaultContext, rng: Random) -> str | None:
    """It gives one of its own earlier replies again."""
    earlier = [u.text for u in context.own if u.text.strip() and u.text.strip() != text.strip()]
    return earlier[-1] if earlier else None


@register_mutator(_MODE, "repeats_a_teammate")
def repeats_a_teammate(text: str, context: FaultContext, rng: Random) -> str | None:
    """It does over again what the teammate before it did, in the same words."""
    last = context.others[-1].text if context.others else ""
    if not last.strip() or last.strip() == text.strip():
        return None
    return last


@register_mutator(_MODE, "repeats_its_sentences")
def repeats_its_sentences(text: str, context: FaultContext, rng: Random) -> str | None:
    """It goes through its first part twice and does not get to the rest."""
    own = sentences(text)
    if len(own) < 3:
        return None
    half = text[: own[len(own) // 2 - 1].end].strip()
    joint = "\n" if "\n" in half else " "
    return joint.join([half, phrase("once_more", rng), half])


@register_mutator(_MODE, "repeats_a_call", target=Target.ARGUMENTS)
def repeats_a_call(arguments: object, context: FaultContext, rng: Random) -> object:
    """It calls the tool with the arguments of an earlier call."""
    name = context.reply.tool_calls[-1].name
    earlier = [call.arguments for u in context.history for call in u.tool_calls if call.name == name]
    other = [given for given in earlier if given is not None and given != arguments]
    return other[-1] if other else None
