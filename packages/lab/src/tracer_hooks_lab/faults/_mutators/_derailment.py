"""FM-2.3: the agent works on something else."""

from __future__ import annotations

import re
from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._arguments import swap_leaf
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._entities import names_in, swap_names
from tracer_hooks_lab.faults._numbers import numbers_in, written_like
from tracer_hooks_lab.faults._phrases import phrase
from tracer_hooks_lab.faults._prose import has_code, sentences
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import set_result, stated_result

_MODE = ErrorMode.FM_2_3
_THING = re.compile(
    r"\b(?:the|an?|of|each|every)\s+((?:[a-z]+\s)?[a-z]{4,})(?=[.,;:?!]|\s(?:of|and|is|are|in|for|at|to|with|per|on)\b|$)"
)


@register_mutator(_MODE, "answers_another_question")
def answers_another_question(text: str, context: FaultContext, rng: Random) -> str | None:
    """It gives a number as the result that answers another question than the task's."""
    result = stated_result(text)
    if result is None or result.number is None:
        return None
    others = [n.value for n in numbers_in(text) if n.value != result.number.value]
    return set_result(text, written_like(result.number.text, rng.choice(others))) if others else None


@register_mutator(_MODE, "turns_to_a_side_topic", target=Target.TURN)
def turns_to_a_side_topic(text: str, context: FaultContext, rng: Random) -> str | None:
    """It begins as it did, then follows a side topic of the task and does not come back."""
    topic = _topic(context.task, rng)
    if topic is None or has_code(text):
        return None
    own = sentences(text)
    kept = text[: own[0].end] if len(own) > 2 else ""
    return f"{kept} {phrase('side_topic', rng, topic=topic)} {phrase('side_topic_more', rng, topic=topic)}".strip()


@register_mutator(_MODE, "other_subject")
def other_subject(text: str, context: FaultContext, rng: Random) -> str | None:
    """It deals with another thing of the conversation than the one in question."""
    return swap_names(text, [context.task, *(u.text for u in context.history)], rng)


@register_mutator(_MODE, "looks_up_something_else", target=Target.ARGUMENTS)
def looks_up_something_else(arguments: object, context: FaultContext, rng: Random) -> object:
    """It asks a tool about another thing of the conversation."""
    return swap_leaf(arguments, [context.task, *(u.text for u in context.history)], rng)


def _topic(task: str, rng: Random) -> str | None:
    names = names_in(task)
    if names:
        return rng.choice(names)
    things = [match.group(1) for match in _THING.finditer(task.lower())]
    return rng.choice(things) if things else None
