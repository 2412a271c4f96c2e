"""Report of an evaluation: its records, and the words and columns that pages and terminals share."""

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
    cost: MethodCost | None = None
    """Seconds and tokens; None for rows that take none."""


class FaultRow(MethodRow):
    """One method on labelled sets of agents and modes."""

    cost: MethodCost | None = None
    """Seconds and tokens; None for rows that take none."""


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


class SecondLabelRow(Record):
    """One method against two teams of labellers."""

    name: str
    """The attributor as it was named, or what the row does."""
    reads: str = "the run"
    """``"the run"``, ``"error markers"`` or ``"nothing"``."""
    told_reference: bool = False
    """Whether the expected answer was handed over."""
    measures: dict[str, Measure]
    """``step_first``, ``step_second``, ``step_either``, ``step_both`` (over the runs where both agree), the same for
    ``agent``, and ``step_any``: any step that the second team found faulty."""


class SecondLabelSection(Record):
    """The same runs, labelled twice."""

    runs: int
    """Runs with both labels."""
    agreement: dict[str, Measure]
    """Between the two teams: ``agent``, ``step``, ``joint``, ``within_1``, ``within_3`` and ``within_5``; also
    ``step_any``: the first team's step is one of all that the second found faulty."""
    rows: tuple[SecondLabelRow, ...]
    """Attributors first."""


class GroupReport(Record):
    """The figures of one subset, or of all together."""

    name: str
    """The sub-folder or architecture, or ``"all"``."""
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
    second_labels: SecondLabelSection | None = None
    """For runs labelled twice."""


class ProblemReport(Record):
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
    problems: tuple[ProblemReport, ...] = ()
    """What was set apart."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the data."""


STEP_COLUMNS = {
    "agent": "agent",
    "step": "step",
    "joint": "both",
    "hit_3": "hit@3",
    "hit_5": "hit@5",
    "mrr": "MRR",
    "within_1": "±1",
    "within_3": "±3",
    "within_5": "±5",
    "answered": "answered",
}
"""The figures of the table for labelled steps, with their headings."""
FAULT_COLUMNS = {
    "pair_micro": "pair",
    "agent_micro": "agent",
    "mode_micro": "mode",
    "pair_macro": "pair, macro",
    "agent_macro": "agent, macro",
    "mode_macro": "mode, macro",
    "auc": "AUC",
    "pair_micro_exact": "pair, exact names",
    "agent_micro_exact": "agent, exact names",
}
"""The figures of the table for labelled faults, with their headings."""
SECOND_COLUMNS = {
    "step_first": "step, 1st",
    "step_second": "step, 2nd",
    "step_either": "step, either",
    "step_both": "step, agreed",
    "step_any": "step, any of 2nd",
    "agent_first": "agent, 1st",
    "agent_second": "agent, 2nd",
    "agent_either": "agent, either",
}
"""The figures of the table for second labels, with their headings."""
WITH_INTERVAL = frozenset({"agent", "step", "joint", "pair_micro", "agent_micro", "mode_micro", "auc"})
"""The figures whose interval stands in the table; the others' are in the JSON."""
METRIC_WORDS = {
    "agent": "agent",
    "step": "step",
    "joint": "agent and step",
    "pair_micro": "pair micro-F1",
    "agent_micro": "agent micro-F1",
    "mode_micro": "mode micro-F1",
    "auc": "AUC within a run",
}


def percent(measure: Measure | None, *, interval: bool = False) -> str:
    """A figure in per cent, ``"36.2"`` or ``"36.2 [24.1, 48.3]"``; ``"-"`` when there is none."""
    if measure is None:
        return "-"
    text = f"{measure.value * 100:.1f}"
    if not interval or measure.low is None or measure.high is None:
        return text
    return f"{text} [{measure.low * 100:.1f}, {measure.high * 100:.1f}]"


def row_cells(row: MethodRow, columns: dict[str, str]) -> list[str]:
    """A row's figures under these headings."""
    return [percent(row.measures.get(name), interval=name in WITH_INTERVAL) for name in columns]


def row_name(name: str, *, told: bool) -> str:
    """A row's name, with what it was told."""
    return f"{name}, told the expected answer" if told else name


def counted(count: int, one: str, many: str = "") -> str:
    """``"1 run"``, ``"29 runs"``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def group_title(group: GroupReport) -> str:
    """A group with its size."""
    return f"{group.name}: {counted(group.runs, 'run')}, {counted(group.questions, 'question')}"


def comparison_words(comparison: Comparison) -> str:
    """An attributor beside the best row that reads nothing, in one sentence."""
    found = comparison.difference
    name = row_name(comparison.row, told=comparison.told_reference)
    text = f"{name}: {METRIC_WORDS[comparison.metric]} {found.value * 100:+.1f}"
    if found.low is not None and found.high is not None:
        text += f" [{found.low * 100:+.1f}, {found.high * 100:+.1f}]"
    text += f" against {comparison.best!r}"
    is_open = found.low is not None and found.high is not None and found.low <= 0 <= found.high
    return f"{text}; the interval holds 0" if is_open else text


def cost_words(cost: MethodCost) -> str:
    """Seconds and tokens of a run."""
    text = (
        f"{seconds(cost.seconds_mean)} a run (median {seconds(cost.seconds_median)}, 95 % {seconds(cost.seconds_p95)})"
    )
    if cost.input_tokens is None:
        return text
    return f"{text}, {cost.input_tokens:,.0f} tokens read and {cost.output_tokens or 0:,.0f} written"


def seconds(value: float) -> str:
    """A duration, in milliseconds when it is short."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.1f} ms"


def length_words(low: int, high: int | None) -> str:
    """A range of run lengths."""
    return f"{low}+" if high is None else f"{low}-{high}"


def detection_title(section: DetectionSection) -> str:
    """Return what the table of detection stands on."""
    return f"who is blamed in {counted(section.passes, 'pass', 'passes')} and {counted(section.failures, 'failure')}"
