"""Runs of odd shape and size: nothing breaks, and time grows with the length."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tracer_hooks.diagnosis._provenance._misreadings import fields_in
from tracer_hooks.diagnosis._provenance._words import lists_in

from ._teams import Said, departures

CpuSeconds = Callable[[Callable[[int], object]], float]
_ODD: dict[str, list[Said]] = {
    "nothing": [""],
    "only marks": ["| | |\n|---|\n||||", "- \n* \n[ ]", "+ + + = = >"],
    "broken JSON": [("t", {"a": [1, {"b": None}]}, '{"a": [1, 2, {"b": "c"'), '{"a": ', "]]]}"],
    "deep JSON": [("t", {}, "[" * 2_000 + "]" * 2_000), "1"],
    "null and nested arguments": [("t", {"min": None, "max": {"a": 1}, "from": True, "to": [1]}, "null"), "2"],
    "huge numbers": [("t", {}, '{"n": 1' + "0" * 400 + ', "m": 1e400}'), "9" * 500, "1e999 + 2"],
    "other scripts": ["合計は 1,250 円です。", "１２５０ ٤٢ ४२", "\u202e1250\u0000"],
    "one long line": ["a, " * 20_000, "b; " * 20_000, "1 + " * 5_000],
    "dates that are none": ["0 January 0000", "99/99/9999 plus 999 days", "13 months after 31 April"],
}


@pytest.mark.parametrize("name", _ODD)
def test_odd_texts_do_no_harm(name: str) -> None:
    for task in ("", "How many in total? Until when?", _ODD[name][0] if isinstance(_ODD[name][0], str) else "x"):
        for found in departures(str(task), *_ODD[name]):
            assert 0 <= found.strength <= 1
            assert "None" not in found.why


@pytest.mark.parametrize(
    "text", ["", "\n", "|", ",", "{}", "[]", "a=b=c", "1,2\n3,4\n5,6", "a: \nb:", '{"a": {"b": [1, "2"]}}']
)
def test_fields_and_lists_of_odd_results(text: str) -> None:
    for field in fields_in(text):
        assert 0 <= field.start < field.end <= len(text)
    for items in lists_in(text, 0):
        assert len(items.texts) == len(items.words) == len(items.numbers)


def test_four_times_the_steps_take_about_four_times_as_long(cpu_seconds: CpuSeconds) -> None:
    def asked(steps: int, fresh: int) -> None:
        said: list[Said] = []
        for n in range(10_000 * fresh, 10_000 * fresh + steps // 2):
            said.append(
                ("look", {"id": f"A-{n}"}, f'{{"id": "A-{n}", "price": {n}.50, "day": "2025-03-{n % 28 + 1:02d}"}}')
            )
            said.append(f"Item A-{n} costs {n}.50 EUR on {n % 28 + 1} March 2025.")
        departures("What do all items cost in total?", *said)

    def seconds(steps: int) -> float:
        return cpu_seconds(lambda fresh: asked(steps, fresh))

    seconds(100)
    assert seconds(2_000) < 12 * max(seconds(500), 0.05)
