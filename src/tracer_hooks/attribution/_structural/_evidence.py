"""The features that speak for a step, put into words, with a passage of the step to each."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.attribution._features import PATTERNS, group_of
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.schema import Evidence

_MOST = 3
_LEAST = 0.15
"""Log-odds below which a feature is not worth mentioning."""


def evidence_for(trace: Trace, step: int, contributions: Sequence[tuple[str, float]]) -> tuple[Evidence, ...]:
    """The strongest features of a step as evidence.

    Args:
        trace: The trajectory.
        step: The step that is named.
        contributions: What each feature adds to its log-odds, the largest first.
    """
    found: list[Evidence] = []
    for name, odds in contributions:
        if odds < _LEAST or len(found) == _MOST:
            break
        if group_of(name) in ("rules", "run"):
            continue  # the rules give evidence of their own, and what holds for a whole run quotes nothing
        quote = _passage(trace, step, name)
        if quote:
            found.append(Evidence(step=step, quote=quote, why=f"{_in_words(name)} ({odds:+.2f} log-odds)"))
    return tuple(found)


def _passage(trace: Trace, step: int, name: str) -> str | None:
    pattern = PATTERNS.get(name)
    if pattern is not None:
        for passage in trace.passages(step):
            quote = passage.search(pattern)
            if quote:
                return quote
    return trace.first_words(step)


def _in_words(name: str) -> str:
    rest = name.partition(": ")[2]
    is_amount = rest.startswith(("log", "share", "length", "like"))
    return f"stands out by its {name!r}" if is_amount else name
