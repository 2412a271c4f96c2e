"""Values that follow from others are not brought in from nowhere; those that do not are."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis._provenance import DepartureKind

from ._teams import Said, departures

_FLIGHTS = '{"flights": [{"id": "AB12", "day": "2025-03-04"}, {"id": "CD34", "day": "2025-03-09"}]}'


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
