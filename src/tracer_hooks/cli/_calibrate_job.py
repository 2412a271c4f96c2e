"""The work of ``tracer-hooks calibrate``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tracer_hooks._api import CalibrateOptions, Calibration, Calibrator, Estimate
from tracer_hooks.cli._bars import ProgressDisplay
from tracer_hooks.cli._console import DONE, err, out, print_json
from tracer_hooks.cli._load_object import load_function, load_object
from tracer_hooks.cli._work_folder import work_folder
from tracer_hooks.datasets import Progress as Built
from tracer_hooks.evaluation import NATURAL, AdaptationRow, Measure
from tracer_hooks.suites import load_tasks

_PHASES = {
    "runs": "running the team",
    "faults": "injecting faults",
    "failures": "replaying failures",
}


_FEW = 10
"""Natural failures below which it is said how few decided."""


class CalibrateBars(ProgressDisplay):
    """Progress of a calibration: a bar for each phase of the build, then one for the folds.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(
            console, TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        )

    def show(self, progress: Built) -> None:
        """Take news of the build into account."""
        words = f"{_PHASES[progress.phase]}, {progress.kept} kept"
        self.update(progress.phase, words, progress.done, progress.total)

    def show_fold(self, done: int, of: int) -> None:
        """``done`` of the folds are measured."""
        self.update("folds", "measuring on tasks left out", done, of)


@dataclass(frozen=True, kw_only=True)
class CalibrateJob:
    """One call of the command."""

    team: str
    tasks: Path
    check: str | None
    out: Path | None
    options: CalibrateOptions
    dry_run: bool
    as_json: bool

    def run(self) -> int:
        """Estimate, build, fit, and show; gives the exit code."""
        tasks = load_tasks(self.tasks)
        target = load_object(self.team, option="MODULE:build_team")
        check = load_function(self.check, option="--check")
        with redirect_stdout(sys.stderr), CalibrateBars(err()) as bars:  # what the team prints is no result of ours
            calibrator = Calibrator(
                target, tasks, check=check, folder=self._folder(), options=self.options, on_progress=bars.show
            )
            estimate = calibrator.estimate()
            bars.say(_words(estimate))
            result = None if self.dry_run else calibrator.fit(calibrator.build(), on_fold=bars.show_fold)
        if result is not None:
            self._show(result)
        elif self.as_json:
            print_json({**asdict(estimate), "seconds": estimate.seconds, "tokens": estimate.tokens})
        return DONE

    def _folder(self) -> Path:
        return self.out or work_folder("calibration", self.team)

    def _show(self, result: Calibration) -> None:
        if self.as_json:
            print_json(_document(result))
            return
        labels = ", ".join(f"{count} {group}" for group, count in result.report.labels.items())
        weak = f", {result.report.weak} weak labels to learn from" if result.report.weak else ""
        table = Table(title=f"{labels}{weak}; {result.report.questions} tasks", title_justify="left")
        for column in ("failures", "who answers", "exact step", "exact agent", "gain in steps"):
            table.add_column(column, justify="left" if column in ("failures", "who answers") else "right")
        for row in result.report.rows:
            table.add_row(row.group, row.method, _figure(row.step), _figure(row.agent), _gain(row))
        out().print(table)
        out().print(
            "Each failure was judged without any label of its own task; 95 % intervals over tasks.", style="dim"
        )
        out().print(_choice(result), soft_wrap=True)
        if result.folder is None:
            return
        out().print(
            f"The fitted attributor lies in {result.folder}. hook() uses it for this team from now on; elsewhere: "
            f"tracer-hooks diagnose PATH --attributor {result.folder}",
            soft_wrap=True,
        )


def _words(estimate: Estimate) -> str:
    parts = [f"about {estimate.runs} runs of the team at most, replays counted as half a run"]
    if estimate.tokens:
        parts.append(f"{estimate.tokens:,} tokens")
    if estimate.seconds is not None:
        parts.append(f"{estimate.seconds / 60:.0f} minutes with one worker")
    return "Estimate: " + ", ".join(parts) + ". Ctrl-C is safe: the same command goes on."


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


def _document(result: Calibration) -> dict[str, Any]:
    return {
        "team": result.card.model_dump(mode="json"),
        "folder": None if result.folder is None else str(result.folder),
        "kept": result.kept,
        "judged_on": result.report.judged_on,
        "clean": len(result.data.clean),
        "discarded": len(result.data.discarded),
        "report": result.report.model_dump(mode="json"),
    }
