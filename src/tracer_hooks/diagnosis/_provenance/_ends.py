"""Calls whose own arguments stand the wrong way round: a lowest value above the highest, a winner who lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._sightings import Kind, sightings_in
from tracer_hooks.diagnosis._reading._text import parsed_json
from tracer_hooks.schema import ToolCall

_LOW = re.compile(r"low|lower|min|minimum|floor|start|begin|from|since|after|departure|check_?in", re.IGNORECASE)
_HIGH = re.compile(r"high|higher|upper|max|maximum|ceiling|end|finish|to|until|before|return|check_?out", re.IGNORECASE)
_WAY = re.compile(r"from|to|origin|destination|departure|arrival|start|end|source|target", re.IGNORECASE)
_BOUND = re.compile(r"low|lower|min|minimum|floor", re.IGNORECASE)
_PARTS = re.compile(r"_|-|(?<=[a-z])(?=[A-Z])")
_MOST_RECORDS, _MOST_KEYS, _MOST_CHARS = 60, 30, 20_000
_KEY_VALUE = re.compile(r"([A-Za-z_]{2,30})\s*[:=]\s*\"?([^\n,;|\"]{1,60})")


def exchanged_ends(ledger: Ledger) -> Iterator[Departure]:
    """Calls with a lowest value above the highest, and calls that exchange two values of an earlier record."""
    if ledger.is_cut:
        return
    records: list[tuple[int, Mapping[str, str]]] = []
    for step in ledger.trace.acts:
        for call in ledger.trace.steps[step].tool_calls:
            if isinstance(call.arguments, dict):
                found = _upside_down(ledger, step, call) or _against_record(
                    ledger, step, call, records[-_MOST_RECORDS:]
                )
                if found is not None:
                    yield found
            if call.result:
                records += [(step, record) for record in _records_of(call.result)]


def _upside_down(ledger: Ledger, step: int, call: ToolCall) -> Departure | None:
    assert isinstance(call.arguments, dict)
    arguments = {str(key): value for key, value in call.arguments.items()}
    for low_key, low in arguments.items():
        if not _is_named(low_key, _LOW):
            continue
        for high_key, high in arguments.items():
            is_other_end = _is_named(high_key, _HIGH) and not _is_named(high_key, _LOW)
            if (
                is_other_end
                and _is_pair(low_key, high_key)
                and _is_above(low, high, is_bound=_is_named(low_key, _BOUND))
            ):
                why = f"{low_key} {_written(low)!r} and {high_key} {_written(high)!r}, the wrong way round"
                return _departure(ledger, step, call, why, _written(low), ())
    return None


def _is_pair(one: str, other: str) -> bool:
    """Tell whether two keys are alike but for the end that they name: "alarm_low" and "alarm_high"."""
    a = [part for part in _PARTS.split(one) if not _LOW.fullmatch(part)]
    b = [part for part in _PARTS.split(other) if not _HIGH.fullmatch(part)]
    return a == b


def _is_above(low: object, high: object, *, is_bound: bool) -> bool:
    if isinstance(low, bool) or isinstance(high, bool):
        return False
    if isinstance(low, (int, float)) and isinstance(high, (int, float)):
        return is_bound and low > high
    if isinstance(low, str) and isinstance(high, str):
        a, b = sightings_in(low[:60]), sightings_in(high[:60])
        if len(a) == len(b) == 1 and a[0].kind is b[0].kind:
            if a[0].kind is Kind.NUMBER and is_bound:
                return (a[0].number or Fraction(0)) > (b[0].number or Fraction(0))
            if a[0].kind is Kind.DATE:
                return re.fullmatch(r"\d{4}-\d\d-\d\d", low) is not None and len(high) == len(low) and low > high
    return False


def _against_record(
    ledger: Ledger, step: int, call: ToolCall, records: Sequence[tuple[int, Mapping[str, str]]]
) -> Departure | None:
    assert isinstance(call.arguments, dict)
    arguments = {str(key).casefold(): _written(value) for key, value in call.arguments.items()}
    for where, record in reversed(records):
        shared = [key for key in arguments if key in record and arguments[key] != record[key] and not _is_way(key)]
        for one in shared:
            for other in shared:
                if one < other and (arguments[one], arguments[other]) == (record[other], record[one]):
                    why = (
                        f"{one} {arguments[one]!r} and {other} {arguments[other]!r}, "
                        f"but step {where} shows them the other way round"
                    )
                    return _departure(ledger, step, call, why, arguments[one], (where,))
    return None


def _departure(ledger: Ledger, step: int, call: ToolCall, why: str, value: str, sources: tuple[int, ...]) -> Departure:
    passage = next(iter(ledger.trace.passages(step, "arguments")), None)
    return Departure(
        kind=DepartureKind.SWAPPED,
        step=step,
        why=f"{ledger.trace.steps[step].agent!r} calls {call.name!r} with {why}",
        quote=value if passage is not None else None,
        value=value,
        sources=sources,
        strength=0.9,
        leads_to_answer=True,
    )


def _records_of(result: str) -> Iterator[Mapping[str, str]]:
    if len(result) > _MOST_CHARS:
        return
    if result.lstrip()[:1] in ("{", "["):
        found = parsed_json(result)
        for one in (found if isinstance(found, list) else [found])[:_MOST_RECORDS]:
            if isinstance(one, dict):
                yield {str(key).casefold(): _written(one[key]) for key in list(one)[:_MOST_KEYS]}
        return
    pairs = _KEY_VALUE.findall(result[:2_000])
    if pairs:
        yield {key.casefold(): value.strip() for key, value in pairs}


def _is_way(key: str) -> bool:
    """Tell whether a key names an end of a way, which people also go back."""
    return _is_named(key, _WAY)


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)[:60]


def _is_named(key: str, names: re.Pattern[str]) -> bool:
    return any(names.fullmatch(part) for part in _PARTS.split(key) if part)
