"""Words of rules on steps: one signal, and what the signals of a step are worth together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tracer_hooks.diagnosis._wording import readable, sentence
from tracer_hooks.schema import ErrorMode, Evidence, EvidenceKind

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
    PROVENANCE = "provenance"
    CONTRADICTION = "contradiction"
    IGNORED_INPUT = "ignored input"
    REPETITION = "repetition"
    HANDOFF = "handoff"
    TERMINATION = "termination"
    ASSUMPTION = "assumption"
    VERIFICATION = "verification"
    POSITION = "position"


KINDS: dict[Family, EvidenceKind] = {
    Family.ERROR: "error",
    Family.TOOL: "error",
    Family.VALUE: "value",
    Family.ARITHMETIC: "value",
    Family.PROVENANCE: "value",
    Family.CONTRADICTION: "contradiction",
}
"""What sort of finding each family makes; a family that is not named makes signs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What a rule found, as log-odds that the step is the decisive one."""

    family: Family
    step: int
    weight: float
    mode: ErrorMode
    why: str
    """One or more plain sentences that are true of the step."""
    quote: str | None = None
    """A passage of the step that bears the sentence out; None when no single passage does."""
    value: str | None = None
    """The wrong value that the step brought in, when the rule knows it; later steps are searched for it."""
    kind: EvidenceKind | None = None
    """What sort of finding it is, where it differs from that of its family."""

    @property
    def evidence(self) -> Evidence:
        """The signal as a reader sees it."""
        return Evidence(
            step=self.step,
            quote=readable(self.quote),
            why=sentence(self.why),
            weight=round(self.weight, 2),
            kind=self._sort(),
        )

    def _sort(self) -> EvidenceKind:
        """The sort of finding; a guess at where a value came from is no more than a sign."""
        if self.kind is None and self.family is Family.PROVENANCE and self.weight < STRONG:
            return "sign"
        return self.kind or KINDS.get(self.family, "sign")


MAX_CANDIDATES = 10
NOTHING_SEEN = -1.0
"""Log-odds of a step on which no rule has a word."""

# The share of belief that the kind of the best evidence earns. People who label failed runs contradict each other in
# every fourth case, and rules see only the surface. Values are trusted no further than they earned on the development
# half of Who&When: told the expected answer, the step that first brought the wrong value in was the labelled one in
# 36 % of runs of 5 to 10 steps and in 10 % of runs of 50. So trust in them falls with the length of the run.
_TRUST_VALUE = 0.5
_SHORT_RUN = 10
_TELL_HOW = (Family.ARITHMETIC, Family.PROVENANCE, Family.CONTRADICTION, Family.IGNORED_INPUT, Family.TOOL)
# A value that the wrong answer was followed back to, and that a calculation or a source contradicts.
_FOLLOWED_BACK = DECISIVE + MODERATE
_TRUST = ((_FOLLOWED_BACK, 0.8), (DECISIVE, 0.7), (STRONG, 0.5), (MODERATE, 0.4), (0.0, 0.3))


def trust_in(top: Sequence[Signal], length: int) -> float:
    """The share of belief that the best evidence on a step earns, for want of a calibration on labelled runs."""
    if any(one.family is Family.VALUE and one.weight >= DECISIVE for one in top):
        return _TRUST_VALUE * min(1.0, math.sqrt(_SHORT_RUN / max(1, length)))
    strongest = max((one.weight for one in top), default=0.0)
    return next(trust for weight, trust in _TRUST if strongest >= weight)


def mode_in(signals: Sequence[Signal]) -> ErrorMode | None:
    """The error mode that the signals on one step speak for; None without signals.

    That a value is wrong does not yet say how the agent went wrong: a signal that does, such as a sum that does not add
    up or a failed tool, is believed before it.
    """
    heaviest = max(signals, key=lambda one: one.weight, default=None)
    if heaviest is None or heaviest.family is not Family.VALUE:
        return heaviest.mode if heaviest is not None else None
    telling = [one for one in signals if one.family in _TELL_HOW and one.weight >= MODERATE]
    return max(telling, key=lambda one: one.weight).mode if telling else heaviest.mode
