"""One rule's word on one step."""

from __future__ import annotations

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
