"""FM-2.2: the agent goes on with unclear or missing information."""

from __future__ import annotations

import re
from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._code import mutate_code, wrong_constant
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._numbers import in_a_sum, near, numbers_in, values_in
from tracer_hooks_lab.faults._phrases import phrase
from tracer_hooks_lab.faults._prose import conclusion, has_code
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import change_value, result_in

_MODE = ErrorMode.FM_2_2
_VAGUE = ("some", "a few", "several", "a certain number of", "the usual number of")


@register_mutator(_MODE, "assumes_a_value")
def assumes_a_value(text: str, context: FaultContext, rng: Random) -> str | None:
    """It assumes a value of its own where it should have asked, and the result follows from that."""
    known = values_in([context.task, *(u.text for u in context.history)])
    result = result_in(text)
    end = result.number.value if result is not None and result.number is not None else None
    used = [n for n in numbers_in(text) if n.value in known and n.value != end]
    if not used or has_code(text):
        return None
    number = rng.choice(used)
    assumed = near(number.text, rng, avoid=known)
    changed = change_value(text, number.value, assumed, context, rng)
    return None if changed is None else f"{phrase('assumes', rng, value=assumed)} {changed}"


@register_mutator(_MODE, "vague_request")
def vague_request(text: str, context: FaultContext, rng: Random) -> str | None:
    """What it asks of the others names no figures any more."""
    end = conclusion(text)
    numbers = [n for n in numbers_in(text) if not in_a_sum(text, n) and re.match(r" [A-Za-z]{3}", text[n.end :])]
    numbers = [n for n in numbers if text[: n.start][-1:] in ("", " ", "(", "\n")]
    numbers = [n for n in numbers if end is None or not end.start <= n.start < end.end]
    if not numbers or has_code(text):
        return None
    word = rng.choice(_VAGUE)
    for number in reversed(numbers):
        text = text[: number.start] + word + text[number.end :]
    return text


@register_mutator(_MODE, "goes_by_custom", target=Target.TURN)
def goes_by_custom(text: str, context: FaultContext, rng: Random) -> str | None:
    """It neither looks nor asks, and leaves open what the others have to take."""
    return phrase("by_custom", rng) if context.teammates else None


@register_mutator(_MODE, "code_with_assumed_value")
def code_with_assumed_value(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code with a value that nobody gave."""
    return mutate_code(text, rng, wrong_constant)
