"""Calls whose own reply shows that another value was meant, and replies that only say that they were carried out."""

from __future__ import annotations

from typing import Any

import pytest

from tracer_hooks.diagnosis._provenance import Departure

from ._teams import departures


def _of_call(arguments: dict[str, Any], result: str) -> list[Departure]:
    found = departures("Do it.", ("order", arguments, result), "It is done.")
    return [one for one in found if "whose reply" in one.why]


def test_a_record_of_something_else_is_the_fault_of_the_call() -> None:
    (found,) = _of_call({"item": "lamp", "count": 2}, '{"item": "desk", "price": 4}')
    assert (found.step, found.quote, found.is_recorded) == (0, "lamp", True)
    assert found.why == "'a0' passes 'lamp' to 'order', whose reply has 'desk' as 'item'"


def test_a_reply_that_repeats_all_but_one_value() -> None:
    arguments = {"ids": ["AB-117", "AB-118"], "name": "Kim Reed", "room": "ROOM-4"}
    (found,) = _of_call(arguments, '{"done": "AB-117 and AB-119 for Kim Reed in ROOM-4"}')
    assert found.why == "'a0' passes 'AB-118' to 'order', whose reply repeats all of the call but this"


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ({"item": "lamp"}, '{"item": "Lamp"}'),
        ({"item": "lamp"}, '{"item": "desk lamp, black"}'),
        ({"phone": "+49 30 1234"}, '{"phone": "+49301234"}'),
        ({"order": "A1", "status": "shipped"}, '{"order": "A1", "status": "ok"}'),
        ({"order": "A1", "status": "shipped"}, '{"status": "Updated."}'),
        ({"to": "Kim", "message": "Good morning"}, '{"to": "Kim", "message": "It was put in the queue"}'),
        ({"item": " "}, '{"item": "desk"}'),
        ({"item": "lamp"}, '{"item": null}'),
        ({"item": "lamp"}, '["desk"]'),
        ({"item_id": "A1", "new_item_id": "B2"}, '{"thing": "B2"}'),
    ],
)
def test_a_reply_that_says_the_same_or_speaks_of_itself_is_no_sign(arguments: dict[str, Any], result: str) -> None:
    assert _of_call(arguments, result) == []
