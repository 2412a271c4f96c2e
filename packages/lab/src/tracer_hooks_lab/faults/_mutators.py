"""The mutators: each changes a reply in place so that it errs in one mode; and the place to add one's own.

A mutator changes a value, a name, an opposite, a statement or an argument that stands in the reply, or leaves a
sentence out. None writes a sentence of its own: such sentences stand out among those of the team, and the audit of a
data set finds them. Modes that only new sentences could show have no mutator; a language model writes those.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from random import Random
from typing import Any, TypeVar

from tracer_hooks.errors import FaultError
from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._code import (
    dropped_guard,
    dropped_statement,
    mutate_code,
    off_by_one,
    wrong_constant,
    wrong_operator,
)
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._replacements import (
    change_leaf,
    change_result,
    change_result_throughout,
    change_value,
    replace_leaf_value,
    result_in,
    result_value,
    set_result,
    stated_result,
    swap_leaf,
)
from tracer_hooks_lab.faults._spec import FaultSpec, FaultStrategy
from tracer_hooks_lab.faults._text_parts import (
    Span,
    conclusion,
    conclusion_sentence,
    content_words,
    has_code,
    keep_end_word,
    near,
    numbers_in,
    replace_value,
    result_line,
    sentences,
    values_in,
    without,
    written_like,
)
from tracer_hooks_lab.faults._words import change_unit, names_in, negate, swap_names, turn_direction, turn_verdict

TextMutator = Callable[[str, FaultContext, Random], str | None]
"""Gives a changed reply text, or None where this text offers nothing to change."""
ArgumentsMutator = Callable[[Any, FaultContext, Random], Any]
"""Gives changed arguments of the reply's last tool call, or None."""


class Target(StrEnum):
    """Part of a reply that a mutator changes."""

    TEXT = "text"
    """The text of a reply without tool calls."""
    TURN = "turn"
    """The text of any reply; its tool calls are not made."""
    ARGUMENTS = "arguments"
    """The arguments of one tool call."""


@dataclass(frozen=True, kw_only=True)
class Mutator:
    """A programmatic way to make a reply err in one mode."""

    mode: ErrorMode
    """How the changed reply errs."""
    kind: str
    """Its name; unique within the mode."""
    target: Target
    """What it changes."""
    mutate: TextMutator | ArgumentsMutator
    """The function: text or arguments, context and random source to the changed thing, or None."""


_MUTATORS: dict[ErrorMode, dict[str, Mutator]] = {mode: {} for mode in ErrorMode}

F = TypeVar("F", bound=Callable[[Any, FaultContext, Random], Any])


def register_mutator(mode: ErrorMode, kind: str, *, target: Target = Target.TEXT) -> Callable[[F], F]:
    """Add a mutator of ``mode`` under the name ``kind``; for use as a decorator.

    The function must leave no marker, write no sentence of its own, keep the reply's format, take all chance from the
    random source that it gets, and give None where nothing fits. With ``Target.ARGUMENTS`` it gets and gives arguments,
    else text.

    Raises:
        FaultError: The mode has a mutator of this name already.
    """

    def add(function: F) -> F:
        if kind in _MUTATORS[mode]:
            raise FaultError(f"{mode.value} has a mutator {kind!r} already, expected another name")
        _MUTATORS[mode][kind] = Mutator(mode=mode, kind=kind, target=target, mutate=function)
        return function

    return add


def mutators_of(mode: ErrorMode) -> tuple[Mutator, ...]:
    """The mutators of a mode, in the order in which they were added; none for a mode that only new text can show."""
    return tuple(_MUTATORS[mode].values())


def get_mutator(mode: ErrorMode, kind: str) -> Mutator:
    """The mutator of a mode by name.

    Raises:
        FaultError: The mode has none of this name; the message lists those that it has.
    """
    try:
        return _MUTATORS[mode][kind]
    except KeyError:
        if not _MUTATORS[mode]:
            raise FaultError(without_mutators(mode)) from None
        names = ", ".join(_MUTATORS[mode])
        raise FaultError(f"{mode.value} has no mutator {kind!r}, expected one of {names}") from None


def check_can_be_made(spec: FaultSpec) -> None:
    """Refuse a fault that is to be a changed reply of a mode without mutators, and has no model to write it.

    Raises:
        FaultError: It is one; the message says what can make it.
    """
    is_reply = spec.strategy is FaultStrategy.RESPONSE_CORRUPTION and spec.writer == "programmatic"
    if is_reply and spec.mode is not None and not mutators_of(spec.mode):
        raise FaultError(without_mutators(spec.mode))


def without_mutators(*modes: ErrorMode) -> str:
    """The message that no change in place shows these modes, with what can make them."""
    names = ", ".join(mode.value for mode in modes)
    return (
        f"no mutator can make a reply err by {names}: that takes new text, which a model has to write. "
        "Run with: --writer llm --base-url URL --model NAME (in Python writer=LLMWriter(endpoint_chat(endpoint)), and "
        "writer='llm' in the fault), or --strategy prompt_injection"
    )


_CONSTRAINT = re.compile(
    r"(?i)\b(?:must|only|exactly|at least|at most|no more than|without|includ\w+|exclud\w+|except|unless|plus|fee|tax|"
    r"discount|round\w*|sorted|distinct|unique|between|limit|maximum|minimum|each|every|if)\b"
)
_CHECK = re.compile(
    r"(?i)\b(?:check\w*|verif\w*|confirm\w*|test\w*|substitut\w*|double-check\w*|recomput\w*|recalculat\w*|validat\w*|"
    r"re-?read\w*|compar\w*|review\w*|make sure|assert)\b"
)


# --- FM-1.1: a requirement of the task is not kept --------------------------------------------------------------------
@register_mutator(ErrorMode.FM_1_1, "changed_given")
def changed_given(text: str, context: FaultContext, rng: Random) -> str | None:
    """A number of the task is taken for another one, and the result goes with it."""
    given = values_in([context.task])
    used = list(dict.fromkeys(n.value for n in numbers_in(text) if n.value in given))
    if not used or has_code(text):
        return None
    value = rng.choice(used)
    written = next(n.text for n in numbers_in(text) if n.value == value)
    return change_value(text, value, near(written, rng, avoid=given), context, rng)


@register_mutator(ErrorMode.FM_1_1, "dropped_constraint")
def dropped_constraint(text: str, context: FaultContext, rng: Random) -> str | None:
    """The sentence that meets one of the task's conditions is left out, and the result goes without it."""
    wanted = [s.of(context.task) for s in sentences(context.task) if _CONSTRAINT.search(s.of(context.task))]
    own = sentences(text)
    meeting = [s for s in own[:-1] if any(len(content_words(s.of(text)) & content_words(w)) >= 2 for w in wanted)]
    if len(own) < 2 or not meeting:
        return None
    shorter = without(text, rng.choice(meeting))
    return (change_result_throughout(shorter, context, rng) if conclusion(shorter) else None) or shorter


@register_mutator(ErrorMode.FM_1_1, "turned_condition")
def turned_condition(text: str, context: FaultContext, rng: Random) -> str | None:
    """A comparison, an order or an operation is turned round."""
    return None if has_code(text) else turn_direction(text, rng)


@register_mutator(ErrorMode.FM_1_1, "other_unit")
def other_unit(text: str, context: FaultContext, rng: Random) -> str | None:
    """A unit is another one than asked for."""
    return change_unit(text, rng)


@register_mutator(ErrorMode.FM_1_1, "other_subject")
def other_subject(text: str, context: FaultContext, rng: Random) -> str | None:
    """Something that the task names is taken for something else that it names."""
    if len(names_in(context.task)) < 2:
        return None
    return swap_names(text, [context.task], rng)


@register_mutator(ErrorMode.FM_1_1, "code_off_by_one")
def code_off_by_one(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code whose range, index or bound is one off what was asked for."""
    return mutate_code(text, rng, off_by_one)


@register_mutator(ErrorMode.FM_1_1, "code_without_guard")
def code_without_guard(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code that leaves out a case or a filter."""
    return mutate_code(text, rng, dropped_guard)


@register_mutator(ErrorMode.FM_1_1, "other_argument", target=Target.ARGUMENTS)
def other_argument(arguments: object, context: FaultContext, rng: Random) -> object:
    """A tool is called with another value than the task gives."""
    return change_leaf(arguments, [context.task], rng)


# --- FM-1.3: a step is done again that was done already ---------------------------------------------------------------
@register_mutator(ErrorMode.FM_1_3, "repeats_a_call", target=Target.ARGUMENTS)
def repeats_a_call(arguments: object, context: FaultContext, rng: Random) -> object:
    """It calls the tool with the arguments of an earlier call."""
    name = context.reply.tool_calls[-1].name
    earlier = [call.arguments for u in context.history for call in u.tool_calls if call.name == name]
    other = [given for given in earlier if given is not None and given != arguments]
    return other[-1] if other else None


# --- FM-1.4: earlier parts of the conversation are lost ---------------------------------------------------------------
@register_mutator(ErrorMode.FM_1_4, "older_value")
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


@register_mutator(ErrorMode.FM_1_4, "own_older_result")
def own_older_result(text: str, context: FaultContext, rng: Random) -> str | None:
    """It falls back on a result that the conversation has left behind."""
    now = result_value(text)
    old = [result_value(u.text) for u in context.history if not u.is_tool_result]
    stale = [value for value in old if value is not None and value != now]
    number = next((n for n in numbers_in(text) if n.value == now), None)
    return set_result(text, written_like(number.text, stale[0])) if stale and number is not None else None


# --- FM-2.2: the agent goes on with unclear or missing information ----------------------------------------------------
@register_mutator(ErrorMode.FM_2_2, "code_with_assumed_value")
def code_with_assumed_value(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code with a value that nobody gave."""
    return mutate_code(text, rng, wrong_constant)


# --- FM-2.3: the agent works on something else ------------------------------------------------------------------------
@register_mutator(ErrorMode.FM_2_3, "answers_another_question")
def answers_another_question(text: str, context: FaultContext, rng: Random) -> str | None:
    """It gives a number as the result that answers another question than the task's."""
    result = stated_result(text)
    if result is None or result.number is None:
        return None
    others = [n.value for n in numbers_in(text) if n.value != result.number.value]
    return set_result(text, written_like(result.number.text, rng.choice(others))) if others else None


@register_mutator(ErrorMode.FM_2_3, "other_subject")
def other_subject_of_the_run(text: str, context: FaultContext, rng: Random) -> str | None:
    """It deals with another thing of the conversation than the one in question."""
    return swap_names(text, [context.task, *(u.text for u in context.history)], rng)


@register_mutator(ErrorMode.FM_2_3, "looks_up_something_else", target=Target.ARGUMENTS)
def looks_up_something_else(arguments: object, context: FaultContext, rng: Random) -> object:
    """It asks a tool about another thing of the conversation."""
    return swap_leaf(arguments, [context.task, *(u.text for u in context.history)], rng)


# --- FM-2.4: the agent keeps a fact to itself that the others need ----------------------------------------------------
@register_mutator(ErrorMode.FM_2_4, "leaves_a_fact_out")
def leaves_a_fact_out(text: str, context: FaultContext, rng: Random) -> str | None:
    """A sentence with a fact that the others do not have yet is left out."""
    own = sentences(text)
    known = values_in([context.task, *(u.text for u in context.others)])
    new = [s for s in own if values_in([s.of(text)]) - known]
    facts = new or [s for s in own if numbers_in(s.of(text))]
    if len(own) < 2 or not facts:
        return None
    return without(text, rng.choice(facts)) or None


@register_mutator(ErrorMode.FM_2_4, "leaves_a_clause_out")
def leaves_a_clause_out(text: str, context: FaultContext, rng: Random) -> str | None:
    """The part of a sentence after ``, and`` or ``, plus``, with a figure in it, is left out."""
    clauses = []
    for span in sentences(text):
        sentence = span.of(text)
        for joint in (", and ", ", plus ", " and ", "; ", " (", ", with ", ", which "):
            at = sentence.find(joint)
            if at > 0 and numbers_in(sentence[at:]) and len(sentence[:at].split()) > 2:
                clauses.append((span.start + at, span.start + len(sentence.rstrip(".!?"))))
                break
    if not clauses:
        return None
    start, end = rng.choice(clauses)
    return text[:start] + text[end:]


# --- FM-2.5: the agent disregards what another agent or a tool told it ------------------------------------------------
@register_mutator(ErrorMode.FM_2_5, "own_number_for_theirs")
def own_number_for_theirs(text: str, context: FaultContext, rng: Random) -> str | None:
    """In place of a number that a teammate or tool gave it uses the task's own, or another one."""
    theirs = _given_by_others(context) - values_in([context.task])
    used = [n for n in numbers_in(text) if n.value in theirs]
    if not used:
        return None
    number = rng.choice(used)
    of_task = sorted(values_in([context.task]) - values_in([text]))
    new = written_like(number.text, rng.choice(of_task)) if of_task else near(number.text, rng, avoid=theirs)
    return change_value(text, number.value, new, context, rng)


@register_mutator(ErrorMode.FM_2_5, "calls_with_its_own_value", target=Target.ARGUMENTS)
def calls_with_its_own_value(arguments: object, context: FaultContext, rng: Random) -> object:
    """It calls a tool with another value than a teammate or a tool gave it."""
    return replace_leaf_value(arguments, _given_by_others(context), rng)


def _given_by_others(context: FaultContext) -> set[Decimal]:
    return values_in(u.text for u in (*context.others, *context.tool_results))


# --- FM-2.6: what the agent does contradicts what it reasoned ---------------------------------------------------------
@register_mutator(ErrorMode.FM_2_6, "other_conclusion")
def other_conclusion(text: str, context: FaultContext, rng: Random) -> str | None:
    """The reasoning stands; the result is another one."""
    result = result_in(text)
    if result is None or conclusion(text) is None or len(text[: result.span.start].split()) < 4:
        return None
    return change_result(text, context, rng)


@register_mutator(ErrorMode.FM_2_6, "opposite_conclusion")
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


@register_mutator(ErrorMode.FM_2_6, "code_against_its_description")
def code_against_its_description(text: str, context: FaultContext, rng: Random) -> str | None:
    """The words describe one thing, the code does another."""
    return mutate_code(text, rng, wrong_operator)


@register_mutator(ErrorMode.FM_2_6, "calls_with_another_value", target=Target.ARGUMENTS)
def calls_with_another_value(arguments: object, context: FaultContext, rng: Random) -> object:
    """The tool is called with another value than the agent meant."""
    return change_leaf(arguments, [context.task, *(u.text for u in context.history)], rng)


# --- FM-3.1: the agent stops too soon ---------------------------------------------------------------------------------
@register_mutator(ErrorMode.FM_3_1, "first_number_as_result")
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
    if line is None:
        return None
    kept = text[: own[last - 1].end].rstrip() if last > 0 else ""
    return keep_end_word(text, f"{kept}\n{line}".strip())


@register_mutator(ErrorMode.FM_3_1, "code_unfinished")
def code_unfinished(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code in which a statement is missing."""
    return mutate_code(text, rng, dropped_statement)


# --- FM-3.2: a check is left out --------------------------------------------------------------------------------------
@register_mutator(ErrorMode.FM_3_2, "leaves_the_check_out")
def leaves_the_check_out(text: str, context: FaultContext, rng: Random) -> str | None:
    """The sentences that check are left out, and the result is not the one that a check would have left."""
    end = conclusion_sentence(text)
    checking = [s for s in sentences(text) if _CHECK.search(s.of(text)) and s != end]
    if not checking or len(checking) == len(sentences(text)):
        return None
    for span in reversed(checking):
        text = without(text, span)
    return _passed_on(text, context, rng)


@register_mutator(ErrorMode.FM_3_2, "code_not_run")
def code_not_run(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code handed on with a slip that one trial would have shown."""
    return mutate_code(text, rng, off_by_one)


def _passed_on(text: str, context: FaultContext, rng: Random) -> str:
    """A result that nobody looked at: a number is another one, a verdict stays as it would be without the check."""
    changed = change_result_throughout(text, context, rng) if stated_result(text) is not None else None
    return text if changed is None else changed


# --- FM-3.3: a check is itself wrong ----------------------------------------------------------------------------------
@register_mutator(ErrorMode.FM_3_3, "wrong_verdict")
def wrong_verdict(text: str, context: FaultContext, rng: Random) -> str | None:
    """The check comes to the opposite verdict."""
    return None if has_code(text) else turn_verdict(text)


@register_mutator(ErrorMode.FM_3_3, "wrong_working")
def wrong_working(text: str, context: FaultContext, rng: Random) -> str | None:
    """A number of the working is wrong, and the check is carried on with it."""
    end = conclusion_sentence(text) or Span(len(text), len(text))
    inner = [n for n in numbers_in(text) if n.end <= end.start]
    if len(inner) < 2 or has_code(text):
        return None
    number = rng.choice(inner)
    changed = replace_value(text, number.value, near(number.text, rng, avoid=values_in([text])))
    return (change_result_throughout(changed, context, rng) if conclusion_sentence(changed) else None) or changed


@register_mutator(ErrorMode.FM_3_3, "wrongly_corrected_code")
def wrongly_corrected_code(text: str, context: FaultContext, rng: Random) -> str | None:
    """Code that the check has made wrong."""
    return mutate_code(text, rng, wrong_operator)
