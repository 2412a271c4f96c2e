"""From the differences between runs to how strongly each step speaks for being the point of divergence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tracer_hooks.attribution._contrast._comparison import Comparison
from tracer_hooks.attribution._contrast._marks import VALUES, Divergence, Mark
from tracer_hooks.attribution._contrast._path_marks import (
    changed_acts,
    extra_steps,
    missing_steps,
    path_breaks,
    unlike_content,
)
from tracer_hooks.attribution._contrast._spectrum import Spectrum
from tracer_hooks.attribution._contrast._value_marks import foreign_results, foreign_values, missing_values

_RULES = (
    foreign_values,
    foreign_results,
    missing_values,
    extra_steps,
    changed_acts,
    missing_steps,
    unlike_content,
    path_breaks,
)
_MOST: Mapping[Divergence, float] = {
    Divergence.CLAIM: 1.5,
    Divergence.ARGUMENT: 1.5,
    Divergence.MISSING_CHECK: 1.2,
    Divergence.EARLY_END: 0.8,
    Divergence.REPEAT: 0.8,
    Divergence.AGENT: 0.7,
    Divergence.MISSING: 0.7,
    Divergence.ACT: 0.6,
    Divergence.EXTRA: 0.6,
    Divergence.PATH: 0.6,
    Divergence.MISSING_CLAIM: 0.5,
    Divergence.RESULT: 0.5,
    Divergence.CONTENT: 1.0,
}
"""What differences of one kind can add to a step at most, however many there are."""
_CLEAR = 1.5
"""Weight from which a difference is as clear as can be."""
_FURTHER, _FURTHER_COUNTED = 0.08, 4.0
"""How much each further difference of the same kind counts, and up to what weight of them together."""
_SPECTRUM = 2.0
"""What the spectrum can add to a step at most, with many runs of either outcome."""


@dataclass(frozen=True)
class Divergences:
    """What was found in one run.

    Args:
        comparison: The run beside passing ones.
        spectrum: The spectrum over the runs of its task, when there are failing and passing ones beside it.
    """

    comparison: Comparison
    spectrum: Spectrum | None = None

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """Every difference, by step, the weightiest first."""
        found = [mark for rule in _RULES for mark in rule(self.comparison) if mark.weight > 0]
        return tuple(sorted(found, key=lambda mark: (mark.step, -_MOST[mark.divergence] * mark.weight)))

    @cached_property
    def by_step(self) -> tuple[dict[Divergence, float], ...]:
        """For each step, what each kind of difference adds to its strength."""
        weights: list[dict[Divergence, list[float]]] = [defaultdict(list) for _ in self.comparison.run.steps]
        for mark in self.marks:
            weights[mark.step][mark.divergence].append(mark.weight)
        return tuple(
            {kind: _MOST[kind] * _together(found) for kind, found in _values_as_one(each).items()} for each in weights
        )

    @cached_property
    def strengths(self) -> tuple[float, ...]:
        """For each step, how strongly it speaks for being the point of divergence; at least 0.

        The sum over the kinds of difference, each saturating, and what the spectrum adds.
        """
        own = [sum(each.values()) for each in self.by_step]
        if self.spectrum is None:
            return tuple(own)
        share = _SPECTRUM * spectrum_trust(self.spectrum)
        return tuple(value + share * extra for value, extra in zip(own, self.spectrum.by_step.tolist(), strict=True))

    @property
    def strongest(self) -> float:
        """The strength of the clearest difference among the team's acts; 0 for a run like the passing ones."""
        return max((self.strengths[index] for index in self.comparison.run.acts), default=0.0)

    def part_of(self, mark: Mark) -> float:
        """What the differences of a mark's kind add to its step."""
        kinds = self.by_step[mark.step]
        same = VALUES if mark.divergence in VALUES else (mark.divergence,)
        return max(kinds.get(kind, 0.0) for kind in same)

    def kind_of(self, step: int) -> Divergence | None:
        """The kind of difference that speaks most for a step."""
        kinds = self.by_step[step]
        return max(kinds, key=lambda kind: kinds[kind], default=None)


def _values_as_one(weights: dict[Divergence, list[float]]) -> dict[Divergence, list[float]]:
    """What a step says and what it passes to a tool are one kind of difference, under the name of the clearer one."""
    if not weights.keys() >= set(VALUES):
        return weights
    clearer = max(VALUES, key=lambda kind: max(weights[kind]))
    together = [weight for kind in VALUES for weight in weights[kind]]
    return {clearer: together, **{kind: found for kind, found in weights.items() if kind not in VALUES}}


def _together(weights: list[float]) -> float:
    """Differences of one kind in one step, in [0, 1]: the clearest counts, each further one adds a little.

    A sum would let a step that lists twenty prices outweigh the one that got a single price wrong.
    """
    clearest = max(weights)
    further = min(_FURTHER_COUNTED, sum(weights) - clearest)
    return (min(_CLEAR, clearest) + _FURTHER * further) / (_CLEAR + _FURTHER * _FURTHER_COUNTED)


def spectrum_trust(spectrum: Spectrum) -> float:
    """How far a spectrum is to be trusted, in [0, 1): it needs other failing runs, and passing ones.

    With the judged run as the only failing one it says the same as the comparison of values, so nothing is added.
    """
    failing, passing = len(spectrum.failing), len(spectrum.passing)
    return failing / (failing + 1) * passing / (passing + 1)
