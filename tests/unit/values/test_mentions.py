"""Where a text gives a value away, and that nothing of it is left when these places are hidden."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracer_hooks.values import compare_values, mentions, mentions_in
from tracer_hooks.values._text import fold_in_place, folded


@pytest.mark.parametrize(
    ("value", "text", "places"),
    [
        ("17", "not 17 but 18, or seventeen, or 17.0", ["17", "seventeen", "17.0"]),
        ("1700", "1,700 EUR; a1700 is a room", ["1,700 EUR"]),
        ("470 EUR", "470, or €470", ["470", "€470"]),
        ("2024-05-01", "On May 1, 2024 (05/01/2024), not in June 2024", ["May 1, 2024", "05/01/2024"]),
        ("2024-05-01 14:30", "May 1, 2024 at 2:30 pm", ["May 1, 2024", "2:30 pm"]),
        ("2024-05-01 14:30", "May 1, 2024 at 3:30 pm", []),
        ("red, green", "Green, then blue, then **red**.", ["Green", "red"]),
        ("red, green", "Green, then blue.", []),
        ("[2, 1]", "f([1, 2], 1) is 2, 1 or 2 and then 1", ["2", "1", "2", "1"]),
        ("[2, 1]", "f([1, 2], 1) is wrong", []),
        ("Paris", "It is **PARIS**, not Parisian", ["PARIS"]),
        ("new york", "in New\n  York", ["New\n  York"]),
        ("Zürich", "from Zurich", ["Zurich"]),
        ("it costs 1000 EUR", "I think it  costs 1,000 EUR now", ["it  costs 1,000 EUR"]),
        ("Paris.", "Is it Paris or Lyon?", ["Paris"]),
        ("no", "no, it is not", ["no"]),
        ("C", "(C), c, C++ and C-3", ["C", "c"]),
        ("A", "A good choice is a, not (A)", ["a", "A"]),
        ("A", "It is a unit of a team.", []),
        ("½", "0.5 of it", ["0.5"]),
    ],
)
def test_the_places(value: str, text: str, places: list[str]) -> None:
    assert [text[start:end] for start, end in mentions_in(text, value)] == places
    assert mentions(text, value) is bool(places)


VALUES = st.one_of(
    st.sampled_from(["17", "1700", "3rd", "12 %", "1.5 km", "10-20", "2024-05-01", "14:30", "May 2024", "yes"]),
    st.sampled_from(
        [
            "red, green",
            "[1, 2]",
            "Paris",
            "New York",
            "B",
            "costs 1000 EUR",
            "return items[::-1]",
            "Zürich",
            "½",
            ".5",
            "x.",
        ]
    ),
    st.integers(-50, 10**6).map(str),
    st.text(min_size=1, max_size=8),
)
PARTS = st.one_of(
    st.sampled_from(["17", "seventeen", "1,700", "1 May 2024", "2:30 pm", "RED", "green", "**Paris**", "`B`", "B."]),
    st.sampled_from(
        ["\u00e9", "ﬁ", "ß", "…", "\u00a0", "İ", "한", "```py\n", "# ", "'", "not", "12%", "0.12", "New\nYork"]
    ),
    st.text(max_size=6),
)


@settings(max_examples=400)
@given(
    value=VALUES, parts=st.lists(st.one_of(PARTS, st.just("<value>")), max_size=8), gap=st.sampled_from([" ", "", ", "])
)
def test_there_are_places_where_and_only_where_it_is_mentioned(value: str, parts: list[str], gap: str) -> None:
    text = gap.join(parts).replace("<value>", value)
    found = mentions_in(text, value)
    assert bool(found) is mentions(text, value)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(one[1] <= other[0] for one, other in pairwise(found))


@settings(max_examples=400)
@given(text=st.lists(PARTS, max_size=8).map("".join))
def test_folding_in_place_folds_alike(text: str) -> None:
    plain, origins = fold_in_place([(text, None)])
    assert plain == folded(text)
    assert len(origins) == len(plain)
    assert all(folded(text[start:end]) or plain[at] == " " for at, (start, end) in enumerate(origins))


@pytest.mark.parametrize(
    ("value", "writing"),
    [
        ("17", "seventeen"),
        ("1700", "1,700"),
        ("2024-05-01", "1 May 2024"),
        ("red, green", "green and red"),
        ("costs 1000 EUR", "It costs 1,000 EUR"),
        ("Paris.", "Paris"),
    ],
)
def test_what_passes_as_the_expected_answer_mentions_it(value: str, writing: str) -> None:
    assert compare_values(value, writing).same
    assert mentions(writing, value)
