"""One rule's word on one step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tracer_hooks.schema import ErrorMode

HINT = 0.25
"""A prior: position, being the last to speak."""
WEAK = 0.5
"""Seen in many runs that go well."""
MODERATE = 1.0
"""Often at fault."""
STRONG = 2.0
"""Rarely there without being at fault."""
DECISIVE = 3.0
"""Ties the step to the failure itself: the wrong value, the exception that ended the run."""


class Family(Enum):
    """Kinds of rule; of one family only the strongest signal on a step counts, since they see the same thing."""

    ERROR = "error"
    TOOL = "tool"
    VALUE = "value"
    ARITHMETIC = "arithmetic"
    CONTRADICTION = "contradiction"
    IGNORED_INPUT = "ignored input"
    REPETITION = "repetition"
    HANDOFF = "handoff"
    TERMINATION = "termination"
    ASSUMPTION = "assumption"
    VERIFICATION = "verification"
    POSITION = "position"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What a rule found, as log-odds that the step is the decisive one."""

    family: Family
    step: int
    weight: float
    mode: ErrorMode
    why: str
    quote: str | None = None
    """A passage of the step; None when there is nothing to quote, as for an empty reply."""
    value: str | None = None
    """The wrong value that the step brought in, when the rule knows it; later steps are searched for it."""
