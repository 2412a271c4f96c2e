"""Steps at which a failure shows."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._reading import Trace
from tracer_hooks.schema import Step

_ERROR = re.compile(
    r"(?<!no )(?<!any )(?<!without )\b(?:errors?|exceptions?|traceback|fail(?:ed|ure|s)?|exitcode: [1-9]\d*"
    r"|exit code:? [1-9]\d*|invalid|timed? ?out|denied|not found|unable to|cannot|could(?: not|n't))\b",
    re.IGNORECASE,
)
_SHARE = 0.2
_LATE = 0.5


def shows_error(trace: Trace, step: Step) -> bool:
    """Whether a step speaks of an error; the keys of JSON objects do not count."""
    if step.error or step.failed_tools:
        return True
    return any(one.search(_ERROR) is not None for one in trace.passages(step.index, "content", "result"))


def top_symptoms(surprise: NDArray[np.float32], flagged: list[bool], share: float = _SHARE) -> list[int]:
    """The share of the steps that surprise most, those that speak of an error first; at least one, in order of time.

    The rule of MASPrism (arXiv 2605.07509): rank by surprise, move steps with words of failure to the front, cut.
    """
    order = sorted(range(len(surprise)), key=lambda step: (not flagged[step], -float(surprise[step]), step))
    return sorted(order[: max(1, math.ceil(share * len(surprise)))])


def late_symptoms(trace: Trace, surprise: NDArray[np.float32]) -> list[int]:
    """Where a failed run shows it: its answer, words of failure, and the most surprising steps of its late half."""
    steps = len(surprise)
    late = list(range(int(steps * _LATE), steps))
    count = max(1, math.ceil(0.1 * steps))
    found = set(sorted(late, key=lambda step: (-float(surprise[step]), step))[:count])
    found |= {step.index for step in trace.steps if step.index and shows_error(trace, step)}
    if trace.last_speaker is not None:
        found.add(trace.last_speaker)
    return sorted(found)
