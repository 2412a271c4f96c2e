"""Report of an evaluation: its records, and its figures with intervals by resampling whole questions."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tracer_hooks.schema import Record


class Measure(Record):
    """One figure."""

    value: float
    """The figure, as a fraction."""
    low: float | None = None
    """Lower end of the 95 % bootstrap interval; None when there are no draws or fewer than two questions."""
    high: float | None = None
    """Upper end."""
    runs: int = Field(ge=0)
    """How many runs stand behind it."""


Array = npt.NDArray[np.float64]
LEVEL = 95
"""Per cent of the bootstrap distribution inside an interval."""
_ENOUGH = 2


class Resampling:
    """Draws of whole questions with replacement, the same for every figure, so that differences are paired."""

    def __init__(self, questions: Sequence[str], *, draws: int, seed: int) -> None:
        numbers: dict[str, int] = {}
        self._cluster = np.array([numbers.setdefault(one, len(numbers)) for one in questions], dtype=np.intp)
        self.clusters = len(numbers)
        size = self.clusters if self.clusters >= _ENOUGH else 0
        rng = np.random.default_rng(seed)
        counts = rng.multinomial(size, [1 / size] * size, size=draws) if size and draws else np.zeros((0, size))
        self._weights: Array = counts.astype(np.float64)

    def mean(self, values: Array) -> Measure | None:
        """The mean of those values that are numbers, with its interval; None when there are none."""
        known = ~np.isnan(values)
        return self.ratio(np.where(known, values, 0.0), known.astype(np.float64))

    def ratio(self, above: Array, below: Array, *, runs: int | None = None) -> Measure | None:
        """The sum of ``above`` over the sum of ``below``, with its interval; None when the latter is 0."""
        total = float(below.sum())
        if total == 0:
            return None
        count = int(np.count_nonzero(below)) if runs is None else runs
        return self.measure(float(above.sum()) / total, self._ratios(above, below), runs=count)

    def difference(self, ours: Array, theirs: Array) -> Measure | None:
        """The mean difference over the runs where both are numbers."""
        return self.mean(ours - theirs)

    def ratio_difference(self, ours: tuple[Array, Array], theirs: tuple[Array, Array]) -> Measure | None:
        """The difference of two ratios, both taken over the same draws."""
        if ours[1].sum() == 0 or theirs[1].sum() == 0:
            return None
        value = float(ours[0].sum() / ours[1].sum() - theirs[0].sum() / theirs[1].sum())
        return self.measure(value, self._ratios(*ours) - self._ratios(*theirs), runs=len(ours[0]))

    def measure(self, value: float, drawn: Array, *, runs: int) -> Measure:
        """A figure with the interval of what was drawn of it."""
        usable = drawn[~np.isnan(drawn)]
        if not len(usable):
            return Measure(value=value, runs=runs)
        tail = (100 - LEVEL) / 2
        low, high = np.percentile(usable, [tail, 100 - tail])
        return Measure(value=value, low=float(low), high=float(high), runs=runs)

    def tallied(self, runs: npt.NDArray[np.intp], classes: npt.NDArray[np.intp], number: int) -> Array:
        """Return how often each class occurs in every draw: (draws, ``number``)."""
        if not self._weights.size:
            return np.zeros((0, number))
        places = self._cluster[runs] * number + classes
        counts = np.bincount(places, minlength=self.clusters * number).reshape(self.clusters, number)
        result: Array = self._weights @ counts.astype(np.float64)
        return result

    def by_run(self) -> Array:
        """Return how often each run is drawn: (draws, runs)."""
        if not self._weights.size:
            return np.zeros((0, len(self._cluster)))
        taken: Array = self._weights[:, self._cluster]
        return taken

    def _summed(self, values: Array) -> Array:
        if not self._weights.size:
            return np.zeros(0)
        sums: Array = self._weights @ np.bincount(self._cluster, weights=values, minlength=self.clusters)
        return sums

    def _ratios(self, above: Array, below: Array) -> Array:
        tops, bottoms = self._summed(above), self._summed(below)
        with np.errstate(divide="ignore", invalid="ignore"):
            result: Array = np.where(bottoms > 0, tops / bottoms, np.nan)
        return result


BINS = 10


class CalibrationBin(Record):
    """The answers whose confidence lies in one interval."""

    low: float
    """Where the interval begins; the beginning belongs to it."""
    high: float
    """Where it ends; the end belongs to the next one, but 1 to the last."""
    runs: int = Field(ge=0)
    """How many answers."""
    confidence: float | None = None
    """Their mean confidence; None when there are none."""
    accuracy: float | None = None
    """How many of them are right; None when there are none."""


class CalibrationFigures(Record):
    """Confidence against accuracy of agent and step together, over the runs where an answer was given."""

    runs: int = Field(ge=0)
    """How many answers."""
    ece: float
    """Expected calibration error: the gap between confidence and accuracy, averaged over the answers by bin."""
    brier: float
    """Mean squared difference between the confidence and 1 for right, 0 for wrong."""
    confidence: float
    """Mean confidence."""
    accuracy: float
    """Share of right answers."""
    bins: tuple[CalibrationBin, ...]
    """The reliability table: ten intervals of equal width."""


def calibrate(confidences: Sequence[float], right: Sequence[float]) -> CalibrationFigures | None:
    """Compare confidences with what came of them; None when there are no answers.

    The bins are [0, 0.1), [0.1, 0.2), ... [0.9, 1].
    """
    if not confidences:
        return None
    said, was = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    place = np.minimum(np.floor(said * BINS).astype(int), BINS - 1)
    bins = tuple(_bin(number, said[place == number], was[place == number]) for number in range(BINS))
    gaps = sum(
        one.runs * abs(one.confidence - one.accuracy)
        for one in bins
        if one.confidence is not None and one.accuracy is not None
    )
    return CalibrationFigures(
        runs=len(said),
        ece=gaps / len(said),
        brier=float(np.mean((said - was) ** 2)),
        confidence=float(said.mean()),
        accuracy=float(was.mean()),
        bins=bins,
    )


def _bin(number: int, said: Array, was: Array) -> CalibrationBin:
    means = {"confidence": float(said.mean()), "accuracy": float(was.mean())} if len(said) else {}
    return CalibrationBin(low=number / BINS, high=(number + 1) / BINS, runs=len(said), **means)


Places = npt.NDArray[np.intp]
Sets = Sequence[frozenset[Hashable]]


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Every label of every run: the run's position and the label's number."""

    runs: Places
    labels: Places

    def within(self, mask: npt.NDArray[np.bool_]) -> Occurrences:
        """Those in the runs of ``mask``, whose positions count anew."""
        kept = mask[self.runs]
        position = np.cumsum(mask) - 1
        return Occurrences(position[self.runs[kept]], self.labels[kept])


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """Counts of what was named, what is labelled, and what is both, over the same numbering of labels."""

    right: Occurrences
    said: Occurrences
    gold: Occurrences
    number: int
    """How many different labels there are."""

    @classmethod
    def of(cls, said: Sets, gold: Sets) -> LabelCounts:
        """Count the labels of two sets a run."""
        number: dict[Hashable, int] = {}
        both = [one & other for one, other in zip(said, gold, strict=True)]
        found = [_occurrences(sets, number) for sets in (both, said, gold)]
        return cls(right=found[0], said=found[1], gold=found[2], number=len(number))

    def within(self, mask: npt.NDArray[np.bool_]) -> LabelCounts:
        """The same for the runs of ``mask``."""
        parts = (self.right.within(mask), self.said.within(mask), self.gold.within(mask))
        return LabelCounts(right=parts[0], said=parts[1], gold=parts[2], number=self.number)

    @property
    def labelled(self) -> int:
        """Return how many different labels are given at least once."""
        return int(np.unique(self.gold.labels).size)


def _occurrences(sets: Sets, number: dict[Hashable, int]) -> Occurrences:
    labels = [number.setdefault(label, len(number)) for label in itertools.chain.from_iterable(sets)]
    sizes = np.array([len(one) for one in sets], dtype=np.intp)
    return Occurrences(np.repeat(np.arange(len(sets)), sizes), np.array(labels, dtype=np.intp))


def macro_f1(counts: LabelCounts, resampling: Resampling, *, runs: int, with_interval: bool = True) -> Measure | None:
    """The mean F1 of the labels that are given at least once; None when none is.

    A label that is only ever named by the answers has no F1 of its own; it counts in the micro average alone. In a
    bootstrap sample the mean is over the labels given in it.
    """
    if not counts.labelled:
        return None
    kinds = (counts.right, counts.said, counts.gold)
    value = float(_mean_f1(*(np.bincount(one.labels, minlength=counts.number).astype(np.float64) for one in kinds)))
    if not with_interval:
        return Measure(value=value, runs=runs)
    drawn = _mean_f1(*(resampling.tallied(one.runs, one.labels, counts.number) for one in kinds))
    return resampling.measure(value, drawn, runs=runs)


def _mean_f1(right: Array, said: Array, gold: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        f1 = np.where(gold > 0, 2 * right / (said + gold), 0.0)
        mean: Array = f1.sum(axis=-1) / (gold > 0).sum(axis=-1)
    return mean


class MethodCost(Record):
    """Time and tokens of the answers."""

    seconds_mean: float = Field(ge=0)
    """Mean seconds a run."""
    seconds_median: float = Field(ge=0)
    """Half of the runs took no longer."""
    seconds_p95: float = Field(ge=0)
    """95 of 100 runs took no longer."""
    input_tokens: float | None = None
    """Mean tokens read a run by the attributor's own model; None when it reports none."""
    output_tokens: float | None = None
    """Mean tokens written a run."""


class LengthRow(Record):
    """Figures of the runs of similar length."""

    low: int
    """Least number of steps."""
    high: int | None
    """Greatest number of steps; None for no bound."""
    measures: dict[str, Measure]
    """``agent``, ``step`` and ``joint``."""


class MethodRow(Record):
    """One method in one table."""

    name: str
    """The attributor as it was named, or what the row does."""
    reads: str = "the run"
    """``"the run"``, ``"error markers"`` or ``"nothing"``."""
    told_reference: bool = False
    """Whether the expected answer was handed over."""
    measures: dict[str, Measure]
    """The figures by name."""
    cost: MethodCost | None = None
    """Seconds and tokens; None for rows that take none."""

    @property
    def is_baseline(self) -> bool:
        """Tell whether the row reads nothing, or next to nothing."""
        return self.reads != "the run"


class StepRow(MethodRow):
    """One method on labelled steps."""

    by_length: tuple[LengthRow, ...] = ()
    """The same by number of steps."""
    calibration: CalibrationFigures | None = None
    """Confidence against accuracy; None for rows without confidence."""


class FaultRow(MethodRow):
    """One method on labelled sets of agents and modes."""


class Comparison(Record):
    """An attributor beside the best row that reads nothing, or next to nothing."""

    row: str
    """The attributor's row."""
    told_reference: bool = False
    """Whether it was told the expected answer."""
    metric: str
    """The figure compared."""
    best: str
    """The best such row; chosen on the same runs, which favours it."""
    difference: Measure
    """The attributor's figure less that row's, with a paired interval."""


class StepSection(Record):
    """Accuracy of naming the agent who acted wrongly, and the step."""

    runs: int
    """Runs with a labelled agent."""
    questions: int
    """Questions that they belong to."""
    rows: tuple[StepRow, ...]
    """Attributors first."""
    comparisons: tuple[Comparison, ...]
    """Each attributor against the best of the other rows."""


class FaultSection(Record):
    """Accuracy of naming the agents that went wrong, and how."""

    runs: int
    """Runs whose faults are labelled."""
    questions: int
    """Questions that they belong to."""
    classes: dict[str, int]
    """Different labelled agents, pairs and modes by the normalised names; macro averages are over these alone."""
    rows: tuple[FaultRow, ...]
    """Attributors first."""
    comparisons: tuple[Comparison, ...]
    """Each attributor against the best of the other rows."""


class DetectionRow(Record):
    """Blame of one attributor in runs that passed and in runs that failed."""

    name: str
    """The attributor as it was named."""
    outcome_told: bool
    """Whether the attributor knew how each run ended."""
    false_alarms: Measure | None = None
    """Share of the passes in which somebody is blamed; None without passes."""
    attributed: Measure | None = None
    """Share of the failures in which somebody is blamed; None without failures."""
    separation: Measure | None = None
    """Area under the ROC curve of the confidence, failures against passes; an abstention counts as confidence 0."""


class DetectionSection(Record):
    """Measures of whether passing runs are left in peace."""

    passes: int
    """Runs that passed."""
    failures: int
    """Runs that failed."""
    rows: tuple[DetectionRow, ...]
    """Two for each attributor: the outcome withheld, and told."""


class GroupReport(Record):
    """The figures of one subset, or of all together."""

    name: str
    """The sub-folder, or ``"all"``."""
    runs: int
    """How many runs."""
    questions: int
    """How many different questions."""
    steps: StepSection | None = None
    """For labelled steps."""
    faults: FaultSection | None = None
    """For labelled sets of agents and modes."""
    detection: DetectionSection | None = None
    """For runs with a known outcome."""


class Problem(Record):
    """A record or answer that was set apart."""

    source: str
    """Where it came from."""
    reason: str
    """What was wrong."""


class EvaluationReport(Record):
    """All figures of one evaluation."""

    version: int = 1
    """Of this record's format."""
    tracer_hooks: str
    """The version of the library."""
    dataset: str
    """The kind of data."""
    data: str
    """Where it was read from."""
    attributors: dict[str, str]
    """Each attributor's name as it was given, with the name and version that it gives itself."""
    runs: int
    """How many runs were evaluated."""
    draws: int
    """Bootstrap samples behind each interval."""
    seed: int
    """Of the folds, the draw of runs and the bootstrap."""
    groups: tuple[GroupReport, ...]
    """Each subset; then, when there are several, all together as ``"all"``."""
    problems: tuple[Problem, ...] = ()
    """What was set apart."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the data."""
