"""From the differences between runs to how strongly each step speaks for being the point of divergence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from tracer_hooks._lazy import cached_property
from tracer_hooks.attribution._contrast._comparison import Comparison
from tracer_hooks.attribution._contrast._marks import VALUES, Divergence, Mark
from tracer_hooks.attribution._contrast._misplaced import misplaced_values
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
    misplaced_values,
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
    Divergence.MISPLACED: 2.5,
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
_SPECTRUM = 3.0
"""What the spectrum can add to a step at most, with many runs of either outcome."""
_SPECTRUM_OVERALL = 2.0
"""The same where it is not asked which step it is."""


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

        The sum over the kinds of difference, each saturating, and what the spectrum adds. As far as the spectrum is to
        be trusted it stands for the values out of place: other failing runs show better which of them matter.
        """
        if self.spectrum is None:
            return tuple(sum(each.values()) for each in self.by_step)
        trust = spectrum_trust(self.spectrum)
        return tuple(
            value + (1.0 - trust) * each.get(Divergence.MISPLACED, 0.0) + _SPECTRUM * trust * extra
            for value, each, extra in zip(
                self._path_strengths, self.by_step, self.spectrum.by_step.tolist(), strict=True
            )
        )

    @cached_property
    def _path_strengths(self) -> tuple[float, ...]:
        """The strengths without values out of place and without the spectrum."""
        misplaced = (each.get(Divergence.MISPLACED, 0.0) for each in self.by_step)
        return tuple(sum(each.values()) - less for each, less in zip(self.by_step, misplaced, strict=True))

    @property
    def strongest(self) -> float:
        """The strength of the clearest difference among the team's acts; 0 for a run like the passing ones."""
        return max((self.strengths[index] for index in self.comparison.run.acts), default=0.0)

    @cached_property
    def overall(self) -> tuple[float, ...]:
        """The strengths where it is asked whether the run failed and which agents are at fault, and not which step is.

        Values out of place are left out and the spectrum counts less: passing runs that take another way have such
        values too, and an agent that is wrong throughout shows it in other ways.
        """
        if self.spectrum is None:
            return self._path_strengths
        share, extra = _SPECTRUM_OVERALL * spectrum_trust(self.spectrum), self.spectrum.by_step.tolist()
        return tuple(value + share * more for value, more in zip(self._path_strengths, extra, strict=True))

    @property
    def alarm(self) -> float:
        """How much speaks for the run having failed, by the clearest of the team's acts."""
        return max((self.overall[index] for index in self.comparison.run.acts), default=0.0)

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
