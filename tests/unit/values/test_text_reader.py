"""Texts that are read once for several things: what is found is what each reading alone finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracer_hooks.values import TextReader, calculations_in, expressions_in, quantities_in, without_markup
from tracer_hooks.values._spoken_calculations import FORMS, _marked

_DATA = Path(__file__).with_name("data")
_TEXTS = [
    json.loads(line)["text"]
    for name in ("wrong_calculations.jsonl", "right_calculations.jsonl")
    for line in (_DATA / name).read_text(encoding="utf-8").splitlines()
]


def test_a_shared_reader_finds_what_each_reading_finds() -> None:
    reader = TextReader()
    for text in [*_TEXTS, *_TEXTS]:
        assert expressions_in(text, reader=reader) == expressions_in(text)
        assert calculations_in(text, reader=reader) == calculations_in(text)
        assert list(reader.quantities(text)) == quantities_in(text)
        assert reader.plain(text) == without_markup(text)


def test_a_text_is_read_once() -> None:
    reader = TextReader()
    assert reader.quantities("5 km and 7 km") is reader.quantities("5 km and " + "7 km")
    assert reader.tokens("5 + 7 = 12") is reader.tokens("5 + 7 " + "= 12")


@pytest.mark.parametrize(
    "text",
    [
        "The sum of 45 and 38 is 73.",
        "THE SUM OF 45 AND 38 IS 73.",
        "The \u017fum of 45 and 38 i\u017f 73.",
        "The d\u0130fference between 45 and 38 is 8.",
        "The d\u0131fference between 45 and 38 is 8.",
    ],
)
def test_a_cue_is_heard_in_any_case(text: str) -> None:
    assert [one.holds for one in calculations_in(text)] == [False]


@pytest.mark.parametrize("text", _TEXTS)
def test_no_sentence_matches_without_one_of_its_cues(text: str) -> None:
    plain = without_markup(text)
    marked, _ = _marked(plain, quantities_in(plain))
    for form in FORMS:
        if form.pattern.search(marked):
            assert not form.cues or any(cue in marked.casefold() for cue in form.cues)
