"""Which characters of strangers are let through, and what stands in the place of others."""

from __future__ import annotations

import json
import logging
import sys
import unicodedata

import pytest

from tracer_hooks._guard import logger
from tracer_hooks._text import in_json, in_prompt, is_deceptive, on_one_line, on_screen

ALL = "".join(map(chr, range(sys.maxunicode + 1)))


def test_no_control_and_no_override_is_let_through() -> None:
    kept = set(on_screen(ALL))
    assert not {char for char in kept if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")} - set("\n\t")
    assert not kept & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u2060\ufeff\U000e0041")
    assert not [char for char in in_prompt(ALL) if is_deceptive(char)]


@pytest.mark.parametrize("text", ["Grüße, 日本語", "می‌خواهم", "👩‍💻 👍🏽", "a\tb\nc", "co\u00adoperate"])
def test_what_people_write_is_left_as_it_is(text: str) -> None:
    assert on_screen(text) == text
    assert in_prompt(text) == text


def test_signs_stand_in_the_place_of_others() -> None:
    assert len(on_screen(ALL)) == len(ALL), "positions stay right"
    assert on_screen("a\x1b\x07\x7f\x9bb") == "a\u241b\u2407\u2421\ufffdb"
    assert on_one_line("a\r\nb\u2028c\x85d\x0be\tf") == "a b c d e\tf"
    assert len(on_one_line(ALL).splitlines()) == 1
    assert in_prompt("a\u202eb\r\nc\u2029d") == "a<U+202E>b\nc\nd", "codes, and one kind of line end"


def test_json_says_the_same() -> None:
    document = {ALL[:0xD800]: "\u202e\x9b\U000e0041", "plain": "é"}
    text = json.dumps(document, ensure_ascii=False)
    assert json.loads(in_json(text)) == document
    assert not [char for char in in_json(text) if is_deceptive(char)]
    assert "é" in in_json(text)


def test_a_log_line_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        logger.warning("agent %s", "a\n\x1b[31mforged\x1b[0m")
        logger.warning("100 % as it is")
    assert caplog.messages == ["agent a \u241b[31mforged\u241b[0m", "100 % as it is"]
