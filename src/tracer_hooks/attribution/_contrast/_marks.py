"""What speaks for a step being the point where a run left the path of the passing ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tracer_hooks.attribution._contrast._claims import Claim


class Divergence(Enum):
    """How a step differs from what the passing runs did."""

    CLAIM = "claim"
    """It says a value that no passing run has."""
    ARGUMENT = "argument"
    """It calls a tool with a value that no passing run used."""
    MISPLACED = "misplaced"
    """It has a value in a place where the passing runs have another one."""
    RESULT = "result"
    """It received something that no passing run did, after acting like them."""
    ACT = "act"
    """It does something else than the passing runs did in this place: another tool, another hand-off."""
    AGENT = "agent"
    """Another agent acts in this place."""
    EXTRA = "extra"
    """The passing runs have no such step."""
    REPEAT = "repeat"
    """The passing runs have no such step, and it does again what was done."""
    MISSING = "missing"
    """The passing runs did something before or in place of it."""
    MISSING_CHECK = "missing check"
    """The passing runs made a check before or in place of it."""
    MISSING_CLAIM = "missing claim"
    """The passing runs say a value here that this run never says."""
    EARLY_END = "early end"
    """The passing runs went on after it."""
    CONTENT = "content"
    """Its words are unlike those of the steps that it corresponds to."""
    PATH = "path"
    """From here on the run is less like the passing ones than before."""


VALUES = (Divergence.CLAIM, Divergence.ARGUMENT)
"""What a step says and what it passes to a tool: one kind of difference when it is weighed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instead:
    """What a passing run did in the place of a step."""

    run: int
    """Which of the compared runs, as a position."""
    step: int
    """Its step."""
    value: str = ""
    """The words that count, when there are any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One difference, charged to one step."""

    step: int
    divergence: Divergence
    weight: float
    """How much it counts, at least 0; about 1 for a clear difference from every passing run."""
    words: str = ""
    """The words of the step that differ."""
    claim: Claim | None = None
    """The claim that they make."""
    instead: Instead | None = None
    """What a passing run did instead."""
