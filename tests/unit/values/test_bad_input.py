"""Odd and huge texts: nothing raises, and the time grows linearly."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracer_hooks.values import compare_values, dates_in, mentions, quantities_in, times_in

_LONG = 20_000
_HOSTILE = ["1", "1 ", "1.", "1,", "1/", "1-", "-", "(", "a1", "$1", "1:", "May ", "one ", "not ", "answer ", "=", "1="]
_HOSTILE += ["1, ", "**1**", "\\boxed{1", "\\frac{1}{", "1. a\n", "or ", "1 or ", "http://", "[", "[1", "is ", "so 1. "]


CpuSeconds = Callable[..., float]


def test_a_megabyte_of_digits_takes_less_than_a_second(cpu_seconds: CpuSeconds) -> None:
    text = "1" * 1_000_000
    assert quantities_in(text) == []
    assert cpu_seconds(lambda fresh: quantities_in(f"{text}{fresh}"), below=1) < 1
    assert cpu_seconds(lambda fresh: compare_values("17", f"{text}{fresh}"), below=1) < 1
    assert not compare_values("17", text).same


@pytest.mark.parametrize("piece", _HOSTILE)
def test_time_grows_linearly_with_the_text(piece: str, cpu_seconds: CpuSeconds) -> None:
    small, large = piece * (2_000 // len(piece)), piece * (16_000 // len(piece))

    def read(text: str) -> None:
        quantities_in(text)
        dates_in(text)
        times_in(text)
        mentions(text, "17")

    read(small)
    # Eight times the text; quadratic would be 64 times the time. A text that was read before is remembered.
    quick = cpu_seconds(lambda fresh: read(f"{small} . {'.' * fresh}"))
    limit = 25 * max(quick, 0.02)
    assert cpu_seconds(lambda fresh: read(f"{large} . {'.' * fresh}"), below=limit) < limit


@pytest.mark.parametrize("piece", _HOSTILE)
def test_a_huge_answer_is_compared_in_bounded_time(piece: str, cpu_seconds: CpuSeconds) -> None:
    def compared(fresh: int) -> None:
        text = piece * (_LONG // len(piece)) + "." * fresh
        for expected in ("17", "2024-05-01"):
            compare_values(expected, text)

    assert cpu_seconds(compared, below=4) < 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ";",
        ",",
        ", ;",
        "and",
        ": ;.",
        "[,]",
        "- ",
        "\0",
        "\ud800",
        "\u202e17\u202c",
        "١٧",
        "17\u200b",
        "𝟏𝟕",
        "²",
        "½½½",
        "١٧/٨",
        "1" * 5_000,
        "٣.٤",
        "İ",
    ],
)
def test_odd_texts_raise_nothing(text: str) -> None:
    quantities_in(text)
    dates_in(text)
    times_in(text)
    for expected in ("17", "2024-05-01", "14:30", "yes", "a, b", "Paris", text):
        compare_values(expected, text)
        compare_values(text, expected)
        mentions(text, expected)


@settings(max_examples=40)
@given(st.text(alphabet=st.sampled_from("0123456789.,-/ :%$€abMmkayne'’()[]{}*=\n"), max_size=60), st.text(max_size=30))
def test_any_text_can_be_compared(expected: str, answer: str) -> None:
    for found in quantities_in(expected):
        assert expected[found.start : found.end] == found.text
    for one, other in ((expected, answer), (answer, expected), (expected, f"So it is {expected}")):
        comparison = compare_values(one, other)
        assert (comparison.reason is None) is comparison.same
    assert compare_values(expected, expected).same


@settings(max_examples=40)
@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_a_formatted_number_is_read_back(value: object) -> None:
    english = f"{value:,}"
    french = english.replace(",", "\u202f").replace(".", ",")
    german = english.translate(str.maketrans(",.", ".,"))
    for text in (str(value), english, german, french, f"It is {english} EUR.", f"**{english}**"):
        (found,) = quantities_in(text)
        assert found.value == Fraction(str(value)), text


@settings(max_examples=40)
@given(st.dates(min_value=datetime.date(1000, 1, 1)))
def test_a_formatted_date_is_read_back(date: datetime.date) -> None:
    for form in ("%Y-%m-%d", "%d.%m.%Y", "%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%A, %B %d, %Y"):
        (found,) = dates_in(f"on {date:{form}}.")
        assert f"{found.year:04}-{found.month:02}-{found.day:02}" == str(date)


def test_importing_it_loads_nothing_of_the_project() -> None:
    code = (
        "import sys, tracer_hooks; before = set(sys.modules); import tracer_hooks.values;"
        "print([m for m in set(sys.modules) - before if 'tracer_hooks' in m and 'tracer_hooks.values' not in m"
        " and m != 'tracer_hooks._lazy'])"  # beside all layers, and without imports of its own
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
