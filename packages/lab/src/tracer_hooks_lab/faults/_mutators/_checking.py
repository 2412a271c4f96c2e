"""FM-3.2 and FM-3.3: a check is left out, or is itself wrong."""

from __future__ import annotations

import re
from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._code import mutate_code, off_by_one, wrong_operator
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._numbers import near, numbers_in, replace_value, values_in
from tracer_hooks_lab.faults._opposites import turn_verdict
from tracer_hooks_lab.faults._phrases import phrase
from tracer_hooks_lab.faults._prose import (
    Span,
    conclusion_sentence,
    has_code,
    keep_end_word,
    sentences,
    without,
    without_end_word,
)
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import change_result_throughout, closing, result_in, stated_result

_NONE = ErrorMode.FM_3_2
_WRONG = ErrorMode.FM_3_3
_CHECK = re.compile(
    r"(?i)\b(?:check\w*|verif\w*|confirm\w*|test\w*|substitut\w*|double-check\w*|recomput\w*|recalculat\w*|validat\w*|"
    r"re-?read\w*|compar\w*|review\w*|make sure|assert)\b"
)


@register_mutator(_NONE, "asserts_the_check")
def asserts_the_check(text: str, context: FaultContext, rng: Random) -> str | None:
    """It only says that it has checked, and lets a result through that it did not look at."""
    if has_code(text) or not context.others:
        return None
    line = closing(text, context)
    passed_on = _passed_on(line, context, rng) if line is not None else None
    said = phrase("asserted", rng)
    return keep_end_word(text, f"{said}\n{passed_on}" if passed_on is not None else said)


@register_mutator(_NONE, "leaves_the_check_out")
def leaves_the_check_out(text: str, context: FaultContext, rng: Random) -> str | None:
    """The sentences that check are left out, and the result is not the one that a check would have left."""
    end = conclusion_sentence(text)
    checking = [s for s in sentences(text) if _CHECK.search(s.of(text)) and s != end]
    if not checking or len(checking) == len(sentences(text)):
        return None
    for span in reversed(checking):
        text = without(text, span)
    return _passed_on(text, context, rng)


@register_mutator(_NONE, "checks_a_part")
def checks_a_part(text: str, context: FaultContext, rng: Random) -> str | None:
    """It works out the first part, takes the rest as read, and gives a result that was not worked out."""
    own = sentences(text)
    end = conclusion_sentence(text)
    if len(own) < 3 or end is None or own[0] == end or has_code(text):
        return None
    closing_line = _passed_on(end.of(text), context, rng)
    return keep_end_word(text, f"{own[0].of(text)} {phrase('rest_as_read', rng)}\n{closing_line}")


@register_mutator(_NONE, "skips_the_call", target=Target.TURN)
def skips_the_call(text: str, context: FaultContext, rng: Random) -> str | None:
    """It does not call the tool that would have told, and goes by what it takes to be so."""
    if not context.reply.tool_calls:
        return None
    line = closing(text, context)
    assumed = _passed_on(line, context, rng) if line is not None else None
    return f"{phrase('no_need_to_look', rng)} {assumed or ''}".strip()


@register_mutator(_NONE, "code_not_run")
def code_not_run(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code handed on with a slip that one trial would have shown."""
    return mutate_code(text, rng, off_by_one)


@register_mutator(_WRONG, "wrong_verdict")
def wrong_verdict(text: str, context: FaultContext, rng: Random) -> str | None:
    """The check comes to the opposite verdict."""
    return None if has_code(text) else turn_verdict(text)


@register_mutator(_WRONG, "wrong_recount")
def wrong_recount(text: str, context: FaultContext, rng: Random) -> str | None:
    """It works the result out again and gets it wrong."""
    line = closing(text, context)
    result = result_in(line) if line is not None else None
    if line is None or result is None or result.number is None or has_code(text):
        return None
    old = result.number
    new = near(old.text, rng, avoid=values_in([text, line, context.task]))
    end = conclusion_sentence(text)
    judging = [s for s in sentences(text) if s == end or turn_verdict(s.of(text)) is not None]
    body = text
    for span in reversed(judging):
        body = without(body, span)
    said = phrase("recounted", rng, old=old.text, new=new)
    return keep_end_word(text, f"{without_end_word(body)} {said}\n{replace_value(line, old.value, new)}".strip())


@register_mutator(_WRONG, "wrong_working")
def wrong_working(text: str, context: FaultContext, rng: Random) -> str | None:
    """A number of the working is wrong, and the check is carried on with it."""
    end = conclusion_sentence(text) or Span(len(text), len(text))
    inner = [n for n in numbers_in(text) if n.end <= end.start]
    if len(inner) < 2 or has_code(text):
        return None
    number = rng.choice(inner)
    changed = replace_value(text, number.value, near(number.text, rng, avoid=values_in([text])))
    return (change_result_throughout(changed, context, rng) if conclusion_sentence(changed) else None) or changed


@register_mutator(_WRONG, "wrongly_corrected_code")
def wrongly_corrected_code(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code that the check has made wrong."""
    return mutate_code(text, rng, wrong_operator)


def _passed_on(text: str, context: FaultContext, rng: Random) -> str:
    """A result that nobody looked at: a number is another one, a verdict stays as it would be without the check."""
    changed = change_result_throughout(text, context, rng) if stated_result(text) is not None else None
    return text if changed is None else changed
