"""Texts that are made to be slow or to break: calculations in them are read in bounded time, and nothing raises."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tracer_hooks.values import calculations_in, date_calculations_in

CpuSeconds = Callable[[Callable[[int], object]], float]
_PIECES = (
    "1+1=",
    "1, ",
    "((1+",
    "10^9^9=",
    "\\frac{1}{",
    "1 and ",
    "| 1 | 2 | 3 |\n",
    "+ 1 → 2\n",
    '}], "total": 1',
    "1 of 2 ",
    "1 word word, ",
)


@pytest.mark.parametrize("piece", _PIECES)
def test_a_megabyte_is_read_in_bounded_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    begin = time.process_time()
    calculations_in(text)
    assert time.process_time() - begin < 8


@pytest.mark.parametrize("piece", ["1+1=", "1, ", "1 and ", "+ 1 → 2\n"])
def test_time_grows_linearly(piece: str, cpu_seconds: CpuSeconds) -> None:
    def seconds(length: int) -> float:
        return cpu_seconds(lambda fresh: calculations_in(piece * (length // len(piece)) + "." * fresh))

    seconds(1_000)
    # Eight times the text; quadratic would be 64 times the time.
    assert seconds(16_000) < 30 * max(seconds(2_000), 0.01)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ud800 + 1 = 2",
        "9" * 10_000 + " + 1 = 2",
        "10^9^9 = 1",
        "999999 ^ 64 × 999999 ^ 64 = 1",
        "1 / 0 = 1",
        "0 of 0 is 5 %",
        "from 0 to 5, an increase of 5 %",
        "√-4 = 2",
        "99999! = 3",
        "½ + ⅓ = ²",
        "١٢ + ٣ = ١٦",
        "(" * 500 + "1 + 1" + ")" * 500 + " = 3",
        "{" * 5_000 + "}" * 5_000,
        "1e300 × 1e300 = 5",
        "Split among 0 people, 5 EUR comes to 5 EUR each",
        "km/h in m is 3 %",
    ],
)
def test_odd_calculations_raise_nothing(text: str) -> None:
    for one in calculations_in(text):
        assert one.correction
    date_calculations_in(text)
