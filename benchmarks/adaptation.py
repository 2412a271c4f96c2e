"""Does training on injected failures of a team improve attribution of its natural failures?

    python benchmarks/adaptation.py DIR [--json FILE]

DIR is a data set that `tracer-hooks dataset build` or `benchmarks/real_failures.py` has built. Every failure is judged
by what was learnt from other questions only.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from real_failures import IN_PLACE
from rich.console import Console
from rich.table import Table

from tracer_hooks.attribution import get_attributor
from tracer_hooks.datasets import LabeledSet
from tracer_hooks.evaluation import AdaptationReport, Measure, adaptation
from tracer_hooks.schema import LabeledTrajectory, LabelSource


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--attributor", default="structural")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--in-place", action="store_true", help="only faults that change what a reply says")
    parser.add_argument("--balanced", action="store_true", help="as many faults at each step as at the rarest")
    parser.add_argument("--json", type=Path, default=None)
    asked = parser.parse_args()
    data = LabeledSet.load(asked.data)
    if asked.in_place:
        data = replace(data, labeled=tuple(one for one in data.labeled if is_natural_or_in_place(one)))
    if asked.balanced:
        data = data.balanced(asked.seed)
    report = adaptation(data.labeled, get_attributor(asked.attributor), folds=asked.folds, seed=asked.seed)
    Console().print(table(report))
    if asked.json is not None:
        asked.json.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")


def is_natural_or_in_place(labeled: LabeledTrajectory) -> bool:
    """Whether a label is no injected one, or one of a mutator that writes nothing of its own."""
    return labeled.label_source is not LabelSource.INJECTED or labeled.verification.get("kind") in IN_PLACE


def table(report: AdaptationReport) -> Table:
    """Every method on every kind of failure."""
    shown = Table(title=f"{report.labels}, {report.questions} questions, {report.folds} folds", title_justify="left")
    for column in ("failures", "method", "runs", "exact step", "exact agent", "gain in steps", "gain in agents"):
        shown.add_column(column, justify="right" if column not in ("failures", "method") else "left")
    for row in report.rows:
        shown.add_row(
            row.group,
            row.method,
            str(row.step.runs),
            figure(row.step),
            figure(row.agent),
            figure(row.step_gain, sign="+"),
            figure(row.agent_gain, sign="+"),
        )
    return shown


def figure(measure: Measure | None, *, sign: str = "") -> str:
    """A figure with its interval, in per cent."""
    if measure is None:
        return ""
    interval = (
        "" if measure.low is None or measure.high is None else f" [{measure.low:{sign}.1%}, {measure.high:{sign}.1%}]"
    )
    return f"{measure.value:{sign}.1%}{interval}"


if __name__ == "__main__":
    main()
