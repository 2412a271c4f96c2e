"""Values that follow from others are not brought in from nowhere; those that do not are."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis._provenance import DepartureKind

from ._teams import Said, departures

_FLIGHTS = '{"flights": [{"id": "AB12", "day": "2025-03-04"}, {"id": "CD34", "day": "2025-03-09"}]}'


def _strength(said: list[Said], value: str) -> float:
    """How surely a value is held against its step."""
    return max((one.strength for one in departures("How long?", *said) if one.value == value), default=0.0)


@pytest.mark.parametrize(
    ("given", "right", "wrong"),
    [
        ("It begins at 9:15 and ends at 11:45.", "150 min", "140 min"),
        ("It begins at 22:15 and ends at 01:45.", "3.5 h", "4.5 h"),  # past midnight
        ("It begins on 3 May 2025 and ends on 9 May 2025.", "6 days", "17 days"),
        ("They take 12.5 min, 14 min, 9.7 min and 11.4 min.", "11.9 min", "33.3 min"),  # the mean
    ],
)
def test_a_span_or_a_mean_follows_from_what_was_said(given: str, right: str, wrong: str) -> None:
    def said(value: str) -> list[Said]:
        return [given, f"That is {value}.", value]

    assert _strength(said(right), right) < _strength(said(wrong), wrong)


@pytest.mark.parametrize(
    ("words", "is_unsupported"),
    [
        ("I book the one on 2025-06-21 then.", True),
        ("I book the one on 2025-03-10 then.", False),  # the day after a known one
        ("Say the day, for example 2025-06-21.", False),
        ("I book the one on 2025-03-09 then.", False),
    ],
)
def test_a_date_that_nobody_gave(words: str, is_unsupported: bool) -> None:
    said: list[Said] = [("flights", {"to": "Ulm"}, _FLIGHTS), "There are flights on 2025-03-04 and 2025-03-09.", words]
    found = [one for one in departures("Find me a flight to Ulm.", *said, "Booked.") if one.step == 2]
    assert [one.kind for one in found] == [DepartureKind.UNSUPPORTED] * is_unsupported
    assert all(one.quote == words and "nobody said it before" in one.why for one in found)
