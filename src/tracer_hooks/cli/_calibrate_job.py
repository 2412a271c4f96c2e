"""The work of ``tracer-hooks calibrate``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from tracer_hooks._api import CalibrateOptions, Calibration, Calibrator, Estimate, TrainedJudge
from tracer_hooks.cli._bars import ProgressDisplay
from tracer_hooks.cli._calibrate_shown import show_calibration, show_judge
from tracer_hooks.cli._console import DONE, err, print_json
from tracer_hooks.cli._load_object import load_function, load_object
from tracer_hooks.cli._work_folder import work_folder
from tracer_hooks.datasets import Progress as Built
from tracer_hooks.suites import load_tasks

_PHASES = {
    "runs": "running the team",
    "faults": "injecting faults",
    "failures": "replaying failures",
}


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
            bars.say(_words(estimate, judge=self.options.judge is not None))
            result = None if self.dry_run else calibrator.fit(calibrator.build(), on_fold=bars.show_fold)
        if result is None:
            if self.as_json:
                print_json({**asdict(estimate), "seconds": estimate.seconds, "tokens": estimate.tokens})
            return DONE
        if not self.as_json:
            show_calibration(result)  # before the hours that a judge may take
        if self.options.judge is not None:
            result = self._with_judge(calibrator, result)
        if self.as_json:
            print_json(_document(result))
        elif result.judge is not None:
            show_judge(result.judge)
        return DONE

    def _with_judge(self, calibrator: Calibrator, result: Calibration) -> Calibration:
        from tracer_hooks.training import OnConsole

        err().print("Training the judge. Ctrl-C is safe: the same command goes on from the last checkpoint.")
        with redirect_stdout(sys.stderr):  # the libraries that train print, too
            return calibrator.train_judge(result, OnConsole(err()))

    def _folder(self) -> Path:
        return self.out or work_folder("calibration", self.team)


def _words(estimate: Estimate, *, judge: bool) -> str:
    parts = [f"about {estimate.runs} runs of the team at most, replays counted as half a run"]
    if estimate.tokens:
        parts.append(f"{estimate.tokens:,} tokens")
    if estimate.seconds is not None:
        parts.append(f"{estimate.seconds / 60:.0f} minutes with one worker")
    more = " Training the judge comes on top." if judge else ""
    return "Estimate: " + ", ".join(parts) + f".{more} Ctrl-C is safe: the same command goes on."


def _document(result: Calibration) -> dict[str, Any]:
    return {
        "team": result.card.model_dump(mode="json"),
        "folder": None if result.folder is None else str(result.folder),
        "kept": result.kept,
        "judged_on": result.report.judged_on,
        "clean": len(result.data.clean),
        "discarded": len(result.data.discarded),
        "report": result.report.model_dump(mode="json"),
        **({} if result.judge is None else {"judge": _judge_document(result.judge)}),
    }


def _judge_document(judge: TrainedJudge) -> dict[str, Any]:
    report = judge.report
    return {
        "folder": str(judge.folder),
        "trained_on": judge.trained_on,
        "is_better": report.is_better,
        "is_worse": report.is_worse,
        "chance": report.chance,
        "judged_on": report.judged_on,
        "report": report.model_dump(mode="json"),
        "training": judge.training,
    }
