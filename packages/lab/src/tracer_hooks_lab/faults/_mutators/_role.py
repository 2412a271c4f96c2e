"""FM-1.2: the agent does what is not its part."""

from __future__ import annotations

import re
from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._numbers import numbers_in
from tracer_hooks_lab.faults._phrases import phrase
from tracer_hooks_lab.faults._prose import conclusion, has_code, result_line, sentences
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import change_result_throughout

_MODE = ErrorMode.FM_1_2


@register_mutator(_MODE, "does_the_work_of_others", target=Target.TURN)
def does_the_work_of_others(text: str, context: FaultContext, rng: Random) -> str | None:
    """Instead of its own part it gives a result at once, from the numbers of the task."""
    numbers = numbers_in(context.task)
    if not context.teammates or len(numbers) < 2 or has_code(text):
        return None
    line = result_line(_closing_of(context), rng.choice(numbers).text)
    return f"{phrase('solves_alone', rng, teammate=rng.choice(context.teammates))} {line}"


@register_mutator(_MODE, "hands_its_duty_away", target=Target.TURN)
def hands_its_duty_away(text: str, context: FaultContext, rng: Random) -> str | None:
    """It leaves its own duty to a teammate."""
    if not context.teammates or not text.strip():
        return None
    return phrase("hands_away", rng, teammate=rng.choice(context.teammates))


@register_mutator(_MODE, "approves_instead")
def approves_instead(text: str, context: FaultContext, rng: Random) -> str | None:
    """It signs off what a teammate wrote, with a change of its own, instead of doing its part."""
    if not context.others:
        return None
    last = context.others[-1]
    revised = change_result_throughout(last.text, context, rng)
    if revised is None or revised.strip() == text.strip():
        return None
    return f"{phrase('takes_over', rng, teammate=last.agent)}\n\n{revised}"


@register_mutator(_MODE, "only_assigns")
def only_assigns(text: str, context: FaultContext, rng: Random) -> str | None:
    """It distributes the work, as a leader would, and does none of it."""
    parts = [re.sub(r"^(?:\d+[.)]|[-*])\s+", "", s.of(text)).rstrip(".!:") for s in sentences(text)]
    if not context.teammates or len(parts) < 2 or has_code(text):
        return None
    mates = list(context.teammates)
    rng.shuffle(mates)
    tasks = [
        phrase("assigns", rng, teammate=mates[i % len(mates)], part=_lowered(part)) for i, part in enumerate(parts[:2])
    ]
    return " ".join(tasks)


def _closing_of(context: FaultContext) -> str:
    own = [context.reply.content, *(u.text for u in reversed(context.history) if not u.is_tool_result)]
    return next((text for text in own if conclusion(text) is not None), "")


def _lowered(part: str) -> str:
    first, _, _ = part.partition(" ")
    is_name = first == "I" or first.startswith("I'") or first[1:] != first[1:].lower()
    return part if is_name else part[:1].lower() + part[1:]
