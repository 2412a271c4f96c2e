"""How an error travelled on from the decisive step."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracer_hooks.diagnosis._provenance import provenance_of
from tracer_hooks.diagnosis._reading._roles import Role
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import find_value, is_number, prose_of
from tracer_hooks.diagnosis._rules._errors import report_of_error
from tracer_hooks.diagnosis._rules._signal import Signal
from tracer_hooks.diagnosis._rules._specific import is_specific, new_numbers, states
from tracer_hooks.diagnosis._wording import readable
from tracer_hooks.schema import Evidence

MAX_SPREAD = 8
_MAX_VALUES = 6
_RARE = 0.5
"""Share of the later steps up to which a value is one that somebody took over, and not what the run is about."""
_FEW = 4
_GIVES = re.compile(
    r"(?:\b(?:is|are|was|were|be|have|has|had|need|takes?|costs?|equals?|gives?|makes?|to|of|answer|total|result)|[=:])"
    r"\W{1,6}(?:\w+\W{1,3}){0,2}$",
    re.IGNORECASE,
)
"""What stands before a number that is given as a result."""


def spread_of(trace: RunReading, origin: int, signals: Sequence[Signal]) -> tuple[Evidence, ...]:
    """The later steps that took the error over, in order, with the passage that shows it.

    A value is followed when it is specific, first stated in the decisive step, and stated in prose by the later one; a
    value that a rule knows to be wrong is followed as it is.
    """
    found: dict[int, Evidence] = {}
    report = report_of_error(trace, origin)
    if report is not None:
        index, quote = report
        why = f"{trace.steps[index].agent!r} reports an error after step {origin}."
        found[index] = Evidence(step=index, quote=readable(quote), why=why, kind="error")
    for value, is_wrong in _values(trace, origin, signals):
        for index, quote in _taken_over(trace, origin, value, is_wrong=is_wrong).items():
            why = _told(trace, origin, value, is_wrong=is_wrong)
            found.setdefault(index, Evidence(step=index, quote=quote, why=why, kind="value" if is_wrong else "sign"))
    if not found:
        why = f"It was shown what step {origin} says."
        found = {later: Evidence(step=later, why=why) for later in trace.consumers(origin)}
    return _each_quote_once([found[index] for index in sorted(found)[:MAX_SPREAD]])


def _told(trace: RunReading, origin: int, value: str, *, is_wrong: bool) -> str:
    if not is_wrong:
        return f"It repeats {value}, which step {origin} was the first to say."
    if any(one.step == origin for one in provenance_of(trace).planned) and trace.locate(origin, value) is None:
        return f"It says {value}, which is what step {origin} asks for."
    return f"It repeats {value} of step {origin}."


def _values(trace: RunReading, origin: int, signals: Sequence[Signal]) -> list[tuple[str, bool]]:
    """What the step brought into the run: the wrong value when a rule knows it, else its new numbers."""
    known = dict.fromkeys(one.value for one in signals if one.step == origin and one.value)
    if known:
        return [(value, True) for value in known]
    return [(number, False) for number in new_numbers(trace, origin)[:_MAX_VALUES]]


def _taken_over(trace: RunReading, origin: int, value: str, *, is_wrong: bool) -> dict[int, str]:
    """The later steps of others than persons that state a value, with the passage; none when too many have it."""
    found: dict[int, str] = {}
    later = [index for index in range(origin + 1, len(trace.steps)) if trace.roles[index] is not Role.PERSON]
    as_it_is = is_wrong and not (is_number(value) and is_specific(value))
    units = _units(trace, origin, value) if as_it_is and is_number(value) else set()
    for index in later:
        passage = _mention(trace, index, value, units) if as_it_is else states(trace, index, value)
        if passage:
            found[index] = passage
    too_common = not is_wrong and len(found) > max(_FEW, _RARE * len(later))
    return {} if too_common else found


def _units(trace: RunReading, origin: int, value: str) -> set[str]:
    """The words that follow a number where it came up."""
    content = trace.content(origin)
    found = re.findall(rf"(?<![\w.,]){re.escape(value)}\s?([^\W\d]\w+)", content.raw[:20_000]) if content else []
    return {word.casefold() for word in found}


def _mention(trace: RunReading, index: int, value: str, units: set[str]) -> str | None:
    """The passage of a step's own words that gives a name, or a small number that is known to be wrong, as a result."""
    content = trace.content(index)
    if content is None or find_value(content.raw, value) < 0:
        return None
    plain = prose_of(content.raw)
    at = find_value(plain, value)
    while at >= 0 and is_number(value) and not _is_given(plain, at, value, units):
        following = find_value(plain[at + 1 :], value)
        at = at + 1 + following if following >= 0 else -1
    return content.quote_raw(at, at + len(value)) if at >= 0 else None


def _is_given(text: str, at: int, value: str, units: set[str]) -> bool:
    after = re.match(r"\s?([^\W\d]\w+)", text[at + len(value) : at + len(value) + 40])
    same_unit = after is not None and after.group(1).casefold() in units
    return same_unit or _GIVES.search(text[max(0, at - 40) : at]) is not None


def _each_quote_once(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    seen: set[str] = set()
    out = []
    for one in evidence:
        out.append(one.model_copy(update={"quote": ""}) if one.quote in seen else one)
        seen.add(one.quote)
    return tuple(out)
