"""FM-2.4: the agent keeps a fact to itself that the others need."""

from __future__ import annotations

import re
from random import Random

from tracer_hooks.schema import ErrorMode
from tracer_hooks_lab.faults._context import FaultContext
from tracer_hooks_lab.faults._numbers import in_a_sum, numbers_in, values_in
from tracer_hooks_lab.faults._phrases import phrase
from tracer_hooks_lab.faults._prose import has_code, sentences, without
from tracer_hooks_lab.faults._registry import Target, register_mutator
from tracer_hooks_lab.faults._results import result_value

_MODE = ErrorMode.FM_2_4
_WITH_UNIT = re.compile(r" ?(?:%|[A-Z]{3}\b)?(?=[.,;:)]|\s*$|\n| (?:each|in|for|per|and|on|to|of)\b)")
"""What may follow a figure that is to go unnamed: a unit, which goes with it, then the end of its phrase."""


@register_mutator(_MODE, "leaves_a_fact_out")
def leaves_a_fact_out(text: str, context: FaultContext, rng: Random) -> str | None:
    """A sentence with a fact that the others do not have yet is left out."""
    own = sentences(text)
    known = values_in([context.task, *(u.text for u in context.others)])
    new = [s for s in own if values_in([s.of(text)]) - known]
    facts = new or [s for s in own if numbers_in(s.of(text))]
    if len(own) < 2 or not facts:
        return None
    return without(text, rng.choice(facts)) or None


@register_mutator(_MODE, "leaves_a_clause_out")
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


@register_mutator(_MODE, "names_no_figure")
def names_no_figure(text: str, context: FaultContext, rng: Random) -> str | None:
    """It says that it has a figure and does not say which."""
    end = result_value(text)
    figures = [n for n in numbers_in(text) if n.value != end and not in_a_sum(text, n)]
    figures = [n for n in figures if _WITH_UNIT.match(text, n.end)]
    if not figures or has_code(text):
        return None
    known = values_in([context.task, *(u.text for u in context.others)])
    value = next((n.value for n in figures if n.value not in known), figures[-1].value)
    unnamed = phrase("unnamed_figure", rng)
    for figure in reversed([n for n in figures if n.value == value]):
        unit = _WITH_UNIT.match(text, figure.end)
        start = figure.start - (text[: figure.start][-1:] in "$\u20ac\u00a3" and figure.start > 0)
        text = text[:start] + unnamed + text[unit.end() if unit is not None else figure.end :]
    return text


@register_mutator(_MODE, "reports_only_that_it_is_done", target=Target.TURN)
def reports_only_that_it_is_done(text: str, context: FaultContext, rng: Random) -> str | None:
    """It reports that it has what was wanted, and passes nothing on."""
    if not context.teammates or not (text.strip() or context.reply.tool_calls):
        return None
    return phrase("keeps_to_itself", rng)
