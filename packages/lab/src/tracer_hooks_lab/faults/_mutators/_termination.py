"""FM-1.5 and FM-3.1: the agent does not know when to stop, or stops too soon."""

from __future__ import annotations

from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._code import dropped_statement, mutate_code
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._numbers import numbers_in, written_like
from tracer_hooks_lab.faults._phrases import phrase
from tracer_hooks_lab.faults._prose import (
    conclusion_sentence,
    has_code,
    keep_end_word,
    result_line,
    sentences,
    without,
    without_end_word,
)
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import closing, result_in, stated_result

_ENDLESS = ErrorMode.FM_1_5
_EARLY = ErrorMode.FM_3_1


@register_mutator(_ENDLESS, "asks_for_another_round")
def asks_for_another_round(text: str, context: FaultContext, rng: Random) -> str | None:
    """It takes back its conclusion and wants one more round."""
    if has_code(text) or not text.strip():
        return None
    return f"{_open_ended(text)} {phrase('another_round', rng)}".strip()


@register_mutator(_ENDLESS, "keeps_refining")
def keeps_refining(text: str, context: FaultContext, rng: Random) -> str | None:
    """It announces further work instead of the result that it has."""
    if result_in(text) is None or has_code(text):
        return None
    return f"{_open_ended(text)} {phrase('keeps_refining', rng)}".strip()


@register_mutator(_ENDLESS, "goes_past_the_result")
def goes_past_the_result(text: str, context: FaultContext, rng: Random) -> str | None:
    """It gives the result, then carries on with the sum and gives another one."""
    result = stated_result(text)
    if result is None or result.number is None or conclusion_sentence(text) is None:
        return None
    others = [n for n in numbers_in(text) if n.value not in (0, result.number.value)]
    if not others:
        return None
    step = rng.choice(others)
    further = written_like(result.number.text, result.number.value + step.value)
    line = result_line(text, further)
    carried = phrase("carries_on", rng, step=step.text, further=further)
    return keep_end_word(text, f"{without_end_word(text)}\n{carried}\n{line}")


@register_mutator(_EARLY, "first_number_as_result")
def first_number_as_result(text: str, context: FaultContext, rng: Random) -> str | None:
    """It stops at an intermediate number and gives that as its result."""
    result = stated_result(text)
    if result is None or result.number is None:
        return None
    own = sentences(text)
    before = [n for n in numbers_in(text) if n.start < result.span.start and n.value != result.number.value]
    if not before:
        return None
    number = rng.choice(before)
    last = next((i for i, s in enumerate(own) if s.start <= number.start < s.end), None)
    if last is None:
        return None
    line = result_line(text, written_like(result.number.text, number.value))
    kept = text[: own[last - 1].end].rstrip() if last > 0 else ""
    return keep_end_word(text, f"{kept}\n{line}".strip())


@register_mutator(_EARLY, "half_of_the_work")
def half_of_the_work(text: str, context: FaultContext, rng: Random) -> str | None:
    """It does the first half and calls it complete."""
    own = sentences(text)
    if len(own) < 2 or has_code(text):
        return None
    kept = text[: own[max(1, len(own) // 2) - 1].end].rstrip()
    return keep_end_word(text, f"{kept} {phrase('complete', rng)}")


@register_mutator(_EARLY, "ends_without_the_call", target=Target.TURN)
def ends_without_the_call(text: str, context: FaultContext, rng: Random) -> str | None:
    """It ends its turn before the tool that it needs was called, with a number at hand as the result."""
    if not context.reply.tool_calls:
        return None
    numbers = numbers_in(context.task)
    if not numbers:
        return phrase("done_without_looking", rng)
    line = closing("", context)
    said = result_line(line or "", rng.choice(numbers).text)
    return f"{phrase('done_without_looking', rng)} {said}"


@register_mutator(_EARLY, "code_unfinished")
def code_unfinished(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code in which a statement is missing."""
    return mutate_code(text, rng, dropped_statement)


def _open_ended(text: str) -> str:
    text = without_end_word(text)
    line = conclusion_sentence(text)
    return without(text, line) if line is not None else text.strip()
