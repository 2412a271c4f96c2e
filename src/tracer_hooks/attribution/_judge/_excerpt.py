"""Long texts cut to their head and tail, with a mark that says so."""

from __future__ import annotations

from collections.abc import Sequence

_LEAST_LEFT_OUT = 60


def cut(text: str, limit: int) -> str:
    """``text`` itself, or about ``limit`` characters of its head and tail around "[... n characters left out ...]"."""
    left_out = len(text) - limit
    if left_out < _LEAST_LEFT_OUT:  # the mark would be longer than what it stands for
        return text
    head = limit - limit // 2
    return f"{text[:head]}\n[... {left_out} characters left out ...]\n{text[len(text) - limit // 2 :]}"


def shares(lengths: Sequence[int], total: int) -> list[int]:
    """How much of each text is shown when ``total`` characters are: short ones whole, the long ones evenly."""
    given = [0] * len(lengths)
    left, waiting = total, sorted(range(len(lengths)), key=lambda position: lengths[position])
    for count, position in enumerate(waiting):
        given[position] = min(lengths[position], left // (len(waiting) - count))
        left -= given[position]
    return given
