"""``different_form``: the answer is the expected value in another unit, factor, rounding or notation.

Silent without an expected answer, where that answer stands in the run's own words, and where no plain form explains
the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, find_value
from tracer_hooks.diagnosis.findings._kind import KindOfFinding, finding
from tracer_hooks.schema import ErrorMode, Finding, FindingKind, RunOutcome
from tracer_hooks.values import Quantity, TimeValue, compare_values, expressions_in, quantities_in, times_in

_KIND = FindingKind.DIFFERENT_FORM
UNIT, FACTOR, ROUNDING, NOTATION, ORDER, CALCULATION = "unit", "factor", "rounding", "notation", "order", "calculation"
_POWERS = (1000, 100, 1_000_000, 1_000_000_000)
_OF_TIME = {60: ("minute", "hour", "second"), 3600: ("hour", "second"), 24: ("hour", "day"), 7: ("day", "week")}
_OF_TIME[12] = ("month", "year")
"""Factors between units that the answer names or the task asks for; else one of them is a coincidence."""
_LONGEST = 200
_READ = 4_000
_Match = tuple[str, str, str]
"""The value as the answer writes it, the closer kind, and the difference in words."""


def find(run: RunReading) -> Iterator[Finding]:
    """The one finding of a failed run whose answer is the expected one in another form."""
    if run.trajectory.outcome is not RunOutcome.FAILED or run.last_speaker is None:
        return
    expected = next((value.strip() for value in run.known_outcome.expected if value.strip()), "")
    got = run.answer.text
    if (
        not expected
        or not got
        or max(len(expected), len(got)) > _LONGEST
        or find_value(run.answer.whole, expected) >= 0
    ):
        return
    match = _match(run, expected, got)
    if match is None:
        return
    claimed, detail, how = match
    yield finding(
        run,
        _KIND,
        f"The answer says {claimed!r}, the expected {expected!r} {how}",
        step=run.last_speaker,
        detail=detail,
        quote=run.locate(run.last_speaker, claimed, "content"),
        claimed=claimed,
        right=expected,
        leads_to_answer=True,
    )


def _match(run: RunReading, expected: str, got: str) -> _Match | None:
    calculations = [each for each in expressions_in(got) if _is_alone(each.text, got)]
    wanted = [each for each in quantities_in(expected) if not each.is_label]
    if len(wanted) == 1 and any(each.value == wanted[0].value for each in calculations):
        return calculations[0].text, CALCULATION, "as a calculation that is not worked out"
    clock = _clock(expected)
    same = _in_other_words(expected, got)
    if same is None and clock is not None:
        return _as_duration(clock, quantities_in(got))
    if same is not None:
        return same
    if len(wanted) == 1 and _is_alone(wanted[0].text, expected):
        return _as_quantity(run, wanted[0], got)
    return _in_other_order(expected, got)


def _is_alone(part: str, text: str) -> bool:
    """Tell whether a text is little more than one value."""
    return len(text.split()) - len(part.split()) <= 2 or text.rstrip(".").endswith(("= " + part, ": " + part))


def _clock(expected: str) -> tuple[int, ...] | None:
    """The one or two durations that "32:14" may be, in seconds; None for what is no such text."""
    minutes, colon, rest = expected.partition(":")
    if not colon or not minutes.isdecimal() or not (rest.isdecimal() and len(rest) == 2 and len(minutes) <= 4):
        return None
    return int(minutes) * 60 + int(rest), (int(minutes) * 60 + int(rest)) * 60


def _as_duration(clock: Sequence[int], stated: Sequence[Quantity]) -> _Match | None:
    """A duration in seconds, minutes or hours where minutes and seconds, or hours and minutes, were expected."""
    worth = {"s": 1, "min": 60, "h": 3600}
    for each in stated:
        if each.unit in worth and each.value * worth[each.unit] in clock:
            return each.text.strip(), NOTATION, f"in {_UNITS[each.unit]}"
    return None


_UNITS = {"s": "seconds", "min": "minutes", "h": "hours"}


def _in_other_words(expected: str, got: str) -> _Match | None:
    """A value that is the same by all rules of comparison, written in another way."""
    compared = compare_values(expected, got)
    if not compared.same or compared.kind not in ("number", "date") or compared.found is None:
        return None
    found = compared.found.strip()
    if canonical(found) == canonical(expected):
        return None
    if compared.kind == "date":
        return found, NOTATION, "in another notation"
    wanted, stated = quantities_in(expected), quantities_in(found)
    if not wanted or not stated or wanted[0].text.strip() != expected:
        return None
    if stated[0].unit != wanted[0].unit:
        return found, UNIT, _unit_words(wanted[0], stated[0])
    if stated[0].in_words != wanted[0].in_words:
        return found, NOTATION, "in words" if stated[0].in_words else "in digits"
    if stated[0].value != wanted[0].value:
        return found, ROUNDING, "rounded in another way"
    return found, NOTATION, "in another notation"


def _unit_words(wanted: Quantity, stated: Quantity) -> str:
    if "%" in (wanted.unit, stated.unit):
        return "as a percentage" if stated.unit else "without the percent sign"
    if wanted.unit and stated.unit:
        return "in another unit"
    return f"with {stated.unit!r}" if stated.unit else f"without {wanted.unit!r}"


def _as_quantity(run: RunReading, wanted: Quantity, got: str) -> _Match | None:
    """One number of the answer that a plain factor or rounding turns into the expected one."""
    stated = [each for each in quantities_in(got) if not each.is_label and canonical(each.text) not in run.task_numbers]
    times: list[TimeValue] = times_in(got)
    stated = [each for each in stated if not any(time.start <= each.start < time.end for time in times)]
    if len(stated) != 1 or not wanted.value or not stated[0].value or stated[0].in_words:
        return None
    only = stated[0]
    if only.unit != wanted.unit and only.unit is not None and wanted.unit is not None:
        return None
    text = only.text.strip()
    ratio = only.value / wanted.value
    task = run.trajectory.task[:_READ].casefold()
    of_time = [
        factor
        for factor, units in _OF_TIME.items()
        if any(unit in got.casefold() or f" in {unit}" in task for unit in units)
    ]
    for factor in (*_POWERS, *of_time):
        if ratio in (factor, Fraction(1, factor)) and not _is_round(wanted.value, only.value):
            return text, FACTOR, f"{'times' if ratio > 1 else 'divided by'} {factor:,}"
    if ratio == -1:
        return text, FACTOR, "with the other sign"
    if _rounds_to(only, wanted):
        return text, ROUNDING, f"rounded to {only.decimals} decimals"
    if _rounds_to(wanted, only):
        return text, ROUNDING, "with more decimals"
    return None


def _is_round(one: Fraction, other: Fraction) -> bool:
    """Tell whether two values such as 1 and 100 differ by a factor for no reason."""
    return {abs(one), abs(other)} <= {Fraction(10) ** power for power in range(-3, 10)} | {Fraction(0)}


def _rounds_to(short: Quantity, long: Quantity) -> bool:
    """Tell whether ``short`` is ``long`` rounded at its own decimals, with at least two digits to tell it by."""
    if long.decimals <= short.decimals or (abs(short.value) < 10 and short.decimals == 0):
        return False
    return abs(short.value - long.value) < Fraction(1, 2 * 10**short.decimals)


def _in_other_order(expected: str, got: str) -> _Match | None:
    """The words of a name in another order: "Curie, Marie" for "Marie Curie"."""
    words = [word.strip(",;") for word in expected.split()]
    if not 2 <= len(words) <= 4 or not all(word[:1].isupper() for word in words):
        return None
    for turned in permutations(words):
        for written in (" ".join(turned), f"{turned[0]}, {' '.join(turned[1:])}"):
            if written != expected and find_value(got, written) >= 0:
                return written, ORDER, "with its words in another order"
    return None


KIND = KindOfFinding(
    kind=_KIND,
    definition="The answer is the expected value in another unit, factor, rounding or notation.",
    find=find,
    mode=ErrorMode.FM_1_1,
    advice=lambda found: f"Say in the prompt of {found.agent!r} in which unit and form the answer is wanted.",
)
