"""What `tracer-hooks calibrate` says of its result on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.table import Table

from tracer_hooks._api import Calibration, TrainedJudge
from tracer_hooks.cli._console import out
from tracer_hooks.evaluation import NATURAL, AdaptationRow, Measure

_FEW = 10
"""Natural failures below which it is said how few decided."""


def show_calibration(result: Calibration) -> None:
    """The figures, what was kept, and how to use it."""
    weak = f", {result.report.weak} weak labels to learn from" if result.report.weak else ""
    title = f"{_counted(result.report.labels)}{weak}; {result.report.questions} tasks"
    out().print(_table(title, result.report.rows))
    out().print("Each failure was judged without any label of its own task; 95 % intervals over tasks.", style="dim")
    out().print(_choice(result), soft_wrap=True)
    if result.folder is not None:
        out().print(
            f"The fitted attributor lies in {result.folder}. hook() uses it for this team from now on; elsewhere: "
            f"tracer-hooks diagnose PATH --attributor {result.folder}",
            soft_wrap=True,
        )


def show_judge(judge: TrainedJudge) -> None:
    """How a judge compares with the fit, and whether to use it."""
    report = judge.report
    out().print(
        _table(f"judge, trained on {judge.trained_on} labels; left out: {_counted(report.labels)}", report.rows)
    )
    out().print("Neither learnt from any label of these tasks; gains are those over the fit.", style="dim")
    for line in judge_words(judge):
        out().print(line, soft_wrap=True)


def judge_words(judge: TrainedJudge) -> Iterable[str]:
    """What is said of a judge: never more than was measured."""
    report = judge.report
    counts = (
        f"it names more steps in {report.more} and fewer in {report.fewer} of {report.questions} tasks left out "
        f"(sign test: p = {report.chance:.2g})"
    )
    use = f"tracer-hooks diagnose PATH --attributor {judge.folder}"
    if report.is_better:
        yield f"On {report.judged_on} the judge is better than {report.standard}: {counts}. Use it: {use}"
    elif report.is_worse:
        yield f"On {report.judged_on} the judge is worse than {report.standard}: {counts}. Do not use it."
    else:
        yield (
            f"On {report.judged_on} the judge is not shown to be better than {report.standard}: {counts}. Use the fit. "
            f"More tasks may show it; to look at what it says: {use}"
        )
    if report.as_good_unread is not None:
        yield f"The {report.as_good_unread} names as many steps as the judge without reading a run; mind that."
    if report.unusable:
        yield f"{report.unusable} of its replies could not be used and count as wrong."


def _counted(labels: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {group}" for group, count in labels.items())


def _table(title: str, rows: Iterable[AdaptationRow]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("failures", "who answers", "exact step", "exact agent", "gain in steps"):
        table.add_column(column, justify="left" if column in ("failures", "who answers") else "right")
    for row in rows:
        table.add_row(row.group, row.method, _figure(row.step), _figure(row.agent), _gain(row))
    return table


def _choice(result: Calibration) -> str:
    report = result.report
    told = f"Judged on {report.judged_on}: "
    if result.folder is None:
        return told + "no fit is clearly better than the attributor as shipped, so hook() goes on with that one."
    natural = report.labels.get(NATURAL, 0)
    few = (
        f" Only {natural} natural failures decided; mind that."
        if natural
        else " There are no natural failures; mind that."
    )
    note = few if natural < _FEW else ""
    return f"{told}kept is the attributor {report.best}.{note}"


def _figure(measure: Measure) -> str:
    interval = "" if measure.low is None or measure.high is None else f" [{measure.low:.0%}, {measure.high:.0%}]"
    return f"{measure.value:.0%}{interval}"


def _gain(row: AdaptationRow) -> str:
    gain = row.step_gain
    if gain is None:
        return ""
    interval = "" if gain.low is None or gain.high is None else f" [{gain.low:+.0%}, {gain.high:+.0%}]"
    return f"{gain.value:+.0%}{interval}"
