"""Report of an evaluation: its records."""

from __future__ import annotations

from pydantic import Field

from tracer_hooks.evaluation._measures import CalibrationFigures, Measure
from tracer_hooks.schema import Record


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
