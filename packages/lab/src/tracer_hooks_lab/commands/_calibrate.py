"""``tracer-hooks calibrate``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from tracer_hooks.cli.plugin import (
    BuildTeam,
    Check,
    Json,
    MaxRuns,
    MaxSeconds,
    MaxTokens,
    ProgressDisplay,
    Seed,
    TaskFile,
    Workers,
    err,
    load_function,
    load_object,
    print_json,
    tool_rules,
    work_folder,
)
from tracer_hooks.cli.plugin import out as out_console
from tracer_hooks.errors import ConfigError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no team
    from rich.table import Table

    from tracer_hooks.evaluation import Measure
    from tracer_hooks_lab import AdaptationRow, Calibration, TrainedJudge
    from tracer_hooks_lab.calibration import Calibrator, Estimate
    from tracer_hooks_lab.datasets import BuildObserver

_PHASES = {"runs": "running the team", "faults": "injecting faults", "failures": "replaying failures"}
_FEW = 10
"""Natural failures below which it is said how few decided."""


class Trained(StrEnum):
    """Models that can be trained beside the fit."""

    JUDGE = "judge"


def calibrate_command(
    team: BuildTeam,
    tasks: TaskFile,
    check: Check = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the labelled data; default .tracer_hooks/calibration/TEAM.", metavar="DIR"),
    ] = None,
    attributor: Annotated[str, typer.Option(help="Who is fitted.")] = "structural",
    injected: Annotated[int, typer.Option(help="Verified faults that are wanted.", min=0)] = 40,
    natural: Annotated[
        int | None, typer.Option(help="Natural failures to label at most; default all, 0 for none.", min=0)
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs of the team on each task.", min=1)] = 1,
    faults: Annotated[int, typer.Option(help="Faults that are tried in each run that succeeds.", min=0)] = 3,
    trials: Annotated[int, typer.Option(help="Replays of each kind for a step of a natural failure.", min=1)] = 5,
    tool: Annotated[
        list[str],
        typer.Option(
            help="What a tool may do in replays: NAME=live, replayable, blocked or rebuilt. Default rebuilt: its state "
            "lives in the team's own process. May be repeated.",
            metavar="NAME=USE",
        ),
    ] = [],  # noqa: B006
    workers: Workers = 2,
    max_runs: MaxRuns = None,
    max_tokens: MaxTokens = None,
    max_seconds: MaxSeconds = None,
    seed: Seed = 0,
    train: Annotated[
        Trained | None,
        typer.Option(
            help="Also train a judge on the labels, and compare it with what was fitted; see --model.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the language model that the judge is trained from.", metavar="FOLDER", show_default=False
        ),
    ] = None,
    train_config: Annotated[
        Path | None,
        typer.Option(
            help="TOML, YAML or JSON with options of `train sft`; a table grpo with those of `train grpo` asks for "
            "training by rewards after it.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it will take, after a single run of the team.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Fit the attributor to your own team: run it, inject faults, replay failures, fit, measure on tasks left out."""
    from tracer_hooks.budget import CostCap
    from tracer_hooks.tasks import load_tasks
    from tracer_hooks_lab import CalibrateOptions, JudgeTraining
    from tracer_hooks_lab.calibration import Calibrator

    if train is None and (model or train_config):
        named = "--model" if model else "--train-config"
        raise ConfigError(f"{named} says how a judge is trained, expected --train judge with it. Add --train judge")
    options = CalibrateOptions(
        attributor=attributor,
        injected=injected,
        natural=natural,
        repeats=repeats,
        faults_per_run=faults,
        trials=trials,
        tools=tool_rules(tool),
        workers=workers,
        cap=CostCap(max_runs=max_runs, max_tokens=max_tokens, max_seconds=max_seconds),
        seed=seed,
        judge=None if train is None else JudgeTraining(model=model, config=train_config),
    )
    given = load_tasks(tasks)
    target = load_object(team, option="MODULE:build_team")
    checked = load_function(check, option="--check")
    folder = out or work_folder("calibration", team)
    with redirect_stdout(sys.stderr), CalibrateBars(err()) as bars:  # what the team prints is no result of ours
        calibrator = Calibrator(target, given, check=checked, folder=folder, options=options, on_progress=bars.show)
        estimate = calibrator.estimate()
        bars.say(_estimate_words(estimate, judge=train is not None))
        result = None if dry_run else calibrator.fit(calibrator.build(), on_fold=bars.show_fold)
    if result is None:
        if as_json:
            print_json({**asdict(estimate), "seconds": estimate.seconds, "tokens": estimate.tokens})
        return
    if not as_json:
        _show_calibration(result)  # before the hours that a judge may take
    if train is not None:
        result = _with_judge(calibrator, result)
    if as_json:
        print_json(_document(result))
    elif result.judge is not None:
        _show_judge(result.judge)


class CalibrateBars(ProgressDisplay):
    """Progress of a calibration: a bar for each phase of the build, then one for the folds.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(
            console, TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        )

    def show(self, progress: BuildObserver) -> None:
        """Take news of the build into account."""
        words = f"{_PHASES[progress.phase]}, {progress.kept} kept"
        self.update(progress.phase, words, progress.done, progress.total)

    def show_fold(self, done: int, of: int) -> None:
        """``done`` of the folds are measured."""
        self.update("folds", "measuring on tasks left out", done, of)


def _with_judge(calibrator: Calibrator, result: Calibration) -> Calibration:
    from tracer_hooks_models.training import OnConsole

    err().print("Training the judge. Ctrl-C is safe: the same command goes on from the last checkpoint.")
    with redirect_stdout(sys.stderr):  # the libraries that train print, too
        return calibrator.train_judge(result, OnConsole(err()))


def _estimate_words(estimate: Estimate, *, judge: bool) -> str:
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


def _show_calibration(result: Calibration) -> None:
    """The figures, what was kept, and how to use it."""
    console = out_console()
    weak = f", {result.report.weak} weak labels to learn from" if result.report.weak else ""
    title = f"{_counted(result.report.labels)}{weak}; {result.report.questions} tasks"
    console.print(_table(title, result.report.rows))
    console.print("Each failure was judged without any label of its own task; 95 % intervals over tasks.", style="dim")
    console.print(_choice(result), soft_wrap=True)
    if result.folder is not None:
        console.print(
            f"The fitted attributor lies in {result.folder}. hook() uses it for this team from now on; elsewhere: "
            f"tracer-hooks diagnose PATH --attributor {result.folder}",
            soft_wrap=True,
        )


def _show_judge(judge: TrainedJudge) -> None:
    """Print how a judge compares with the fit, and whether to use it."""
    report = judge.report
    out_console().print(
        _table(f"judge, trained on {judge.trained_on} labels; left out: {_counted(report.labels)}", report.rows)
    )
    out_console().print("Neither learnt from any label of these tasks; gains are those over the fit.", style="dim")
    for line in judge_words(judge):
        out_console().print(line, soft_wrap=True)


def judge_words(judge: TrainedJudge) -> Iterable[str]:
    """Yield sentences about a judge: never more than was measured."""
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
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in ("failures", "who answers", "exact step", "exact agent", "gain in steps"):
        table.add_column(column, justify="left" if column in ("failures", "who answers") else "right")
    for row in rows:
        table.add_row(row.group, row.method, _figure(row.step), _figure(row.agent), _gain(row))
    return table


def _choice(result: Calibration) -> str:
    report = result.report
    judged = f"Judged on {report.judged_on}: "
    if result.folder is None:
        return judged + "no fit is clearly better than the attributor as shipped, so hook() goes on with that one."
    from tracer_hooks_lab import NATURAL

    natural = report.labels.get(NATURAL, 0)
    few = (
        f" Only {natural} natural failures decided; mind that."
        if natural
        else " There are no natural failures; mind that."
    )
    note = few if natural < _FEW else ""
    return f"{judged}kept is the attributor {report.best}.{note}"


def _figure(measure: Measure) -> str:
    interval = "" if measure.low is None or measure.high is None else f" [{measure.low:.0%}, {measure.high:.0%}]"
    return f"{measure.value:.0%}{interval}"


def _gain(row: AdaptationRow) -> str:
    gain = row.step_gain
    if gain is None:
        return ""
    interval = "" if gain.low is None or gain.high is None else f" [{gain.low:+.0%}, {gain.high:+.0%}]"
    return f"{gain.value:+.0%}{interval}"
