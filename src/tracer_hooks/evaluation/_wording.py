"""Figures and headings as a person reads them, on the terminal and on the page."""

from __future__ import annotations

from tracer_hooks.evaluation._measure import Measure
from tracer_hooks.evaluation._report import Comparison, Cost, DetectionSection, GroupReport, Row

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


def cells(row: Row, columns: dict[str, str]) -> list[str]:
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


def cost_words(cost: Cost) -> str:
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
    """What the table of detection stands on."""
    return f"who is blamed in {counted(section.passes, 'pass', 'passes')} and {counted(section.failures, 'failure')}"
