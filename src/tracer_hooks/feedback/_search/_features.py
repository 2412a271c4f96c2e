"""What an action of the search is, in the few numbers that its success depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tracer_hooks.schema import Step, Trajectory

FROM_SCRATCH = "from_scratch"
"""Name of the plain retry: the same team, asked the same again."""
RESAMPLE = "resample"
"""Name of a retry that keeps the steps before one and says nothing new."""
UNTOLD = frozenset({FROM_SCRATCH, RESAMPLE})
"""The strategies that have no text, and thus no effect of their own."""

KEPT_BINS = 3
"""In how many equal parts the share of the run that is kept is counted; part 0 is a run from scratch."""
HOLDS_BINS = 5
"""In how many equal parts the belief in the kept steps is counted."""

_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class SearchAction:
    """One thing that a trial can do.

    Attributes:
        strategy: The strategy that writes the text, if any.
        step: The first live step; None from scratch.
        kept: The share of the recorded run's tokens that come from the tape.
        holds: How probable it is that no kept step is at fault; 1 from scratch.
        own: What writing the text costs, as a share of the run's tokens.
    """

    strategy: str
    step: int | None = None
    kept: float = 0.0
    holds: float = 1.0
    own: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Tell whether it is a plain retry."""
        return self.strategy == FROM_SCRATCH

    @property
    def cost(self) -> float:
        """Tokens that it takes, as a share of a run from scratch; never 0, since one step at least is live."""
        return max(0.01, 1.0 - self.kept + self.own)

    @property
    def bins(self) -> tuple[int, int]:
        """The parts of ``kept`` and ``holds`` that it is counted in."""
        if self.step is None:
            return 0, HOLDS_BINS - 1
        return 1 + _part(self.kept, KEPT_BINS), _part(self.holds, HOLDS_BINS)


def middle(kept: int, holds: int) -> tuple[float, float]:
    """The ``kept`` and ``holds`` that a pair of parts stands for."""
    if kept == 0:
        return 0.0, 1.0
    return (kept - 0.5) / KEPT_BINS, (holds + 0.5) / HOLDS_BINS


def kept_shares(run: Trajectory) -> list[float]:
    """The share of the run's tokens that come before each step."""
    tokens = _tokens(run.steps)
    total = sum(tokens)
    return [before / total for before in accumulate(tokens[:-1], initial=0.0)] if tokens else []


def _tokens(steps: Sequence[Step]) -> list[float]:
    """Tokens of each step: as reported where all are, else by the length of what was read and written."""
    reported = [step.usage for step in steps if step.usage is not None]
    if len(reported) == len(steps) and any(each.total for each in reported):
        return [float(each.total) for each in reported]
    return [max(1.0, _characters(step) / _CHARS_PER_TOKEN) for step in steps]


def _characters(step: Step) -> int:
    read = sum(len(each.text or "") for each in step.inputs)
    called = sum(len(str(call.arguments or "")) + len(call.result or "") for call in step.tool_calls)
    return read + len(step.content) + called


def _part(share: float, parts: int) -> int:
    return min(parts - 1, max(0, int(share * parts)))
