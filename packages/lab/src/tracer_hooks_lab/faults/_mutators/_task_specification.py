"""FM-1.1: a requirement of the task is not kept."""

from __future__ import annotations

import re
from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._arguments import change_leaf
from tracer_hooks_lab.faults._code import dropped_guard, mutate_code, off_by_one
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._entities import names_in, swap_names
from tracer_hooks_lab.faults._numbers import near, numbers_in, values_in
from tracer_hooks_lab.faults._opposites import change_unit, turn_direction
from tracer_hooks_lab.faults._prose import conclusion, content_words, has_code, sentences, without
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import change_result_throughout, change_value

_MODE = ErrorMode.FM_1_1
_CONSTRAINT = re.compile(
    r"(?i)\b(?:must|only|exactly|at least|at most|no more than|without|includ\w+|exclud\w+|except|unless|plus|fee|tax|"
    r"discount|round\w*|sorted|distinct|unique|between|limit|maximum|minimum|each|every|if)\b"
)


@register_mutator(_MODE, "changed_given")
def changed_given(text: str, context: FaultContext, rng: Random) -> str | None:
    """A number of the task is taken for another one, and the result goes with it."""
    given = values_in([context.task])
    used = list(dict.fromkeys(n.value for n in numbers_in(text) if n.value in given))
    if not used or has_code(text):
        return None
    value = rng.choice(used)
    written = next(n.text for n in numbers_in(text) if n.value == value)
    return change_value(text, value, near(written, rng, avoid=given), context, rng)


@register_mutator(_MODE, "dropped_constraint")
def dropped_constraint(text: str, context: FaultContext, rng: Random) -> str | None:
    """The sentence that meets one of the task's conditions is left out, and the result goes without it."""
    wanted = [s.of(context.task) for s in sentences(context.task) if _CONSTRAINT.search(s.of(context.task))]
    own = sentences(text)
    meeting = [s for s in own[:-1] if any(len(content_words(s.of(text)) & content_words(w)) >= 2 for w in wanted)]
    if len(own) < 2 or not meeting:
        return None
    shorter = without(text, rng.choice(meeting))
    return (change_result_throughout(shorter, context, rng) if conclusion(shorter) else None) or shorter


@register_mutator(_MODE, "turned_condition")
def turned_condition(text: str, context: FaultContext, rng: Random) -> str | None:
    """A comparison, an order or an operation is turned round."""
    return None if has_code(text) else turn_direction(text, rng)


@register_mutator(_MODE, "other_unit")
def other_unit(text: str, context: FaultContext, rng: Random) -> str | None:
    """A unit is another one than asked for."""
    return change_unit(text, rng)


@register_mutator(_MODE, "other_subject")
def other_subject(text: str, context: FaultContext, rng: Random) -> str | None:
    """Something that the task names is taken for something else that it names."""
    if len(names_in(context.task)) < 2:
        return None
    return swap_names(text, [context.task], rng)


@register_mutator(_MODE, "code_off_by_one")
def code_off_by_one(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code whose range, index or bound is one off what was asked for."""
    return mutate_code(text, rng, off_by_one)


@register_mutator(_MODE, "code_without_guard")
def code_without_guard(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code that leaves out a case or a filter."""
    return mutate_code(text, rng, dropped_guard)


@register_mutator(_MODE, "other_argument", target=Target.ARGUMENTS)
def other_argument(arguments: object, context: FaultContext, rng: Random) -> object:
    """A tool is called with another value than the task gives."""
    return change_leaf(arguments, [context.task], rng)
