"""``calibrate``: an attributor fitted to a user's own team, on faults and failures of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracer_hooks.budget import CostCap
from tracer_hooks.datasets import LabeledSet
from tracer_hooks.diagnosis import Attributor, Fittable, get_attributor
from tracer_hooks.errors import AttributionError, ConfigError, DatasetError
from tracer_hooks.evaluation import without_reference
from tracer_hooks.extension import (
    Check,
    TeamCard,
    attributors_folder,
    forget_calibrated,
    save_calibrated,
    team_card,
    write_files,
)
from tracer_hooks.replay import FeedbackProposer, ReplayOptions, ResampleProposer, ToolRules
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab._adaptation import FITTED, SHIPPED, AdaptationReport, adaptation, fitted_only, training_labels
from tracer_hooks_lab._own_judge import JudgeTraining, OwnJudge, TrainedJudge
from tracer_hooks_lab.datasets import BuildObserver, BuildOptions, DatasetBuilder, Subject
from tracer_hooks_lab.faults import FaultStrategy
from tracer_hooks_lab.subjects import OwnTeam

if TYPE_CHECKING:
    from tracer_hooks_models.training import Progress as Training

_WEAK_FROM = 0.5
"""Replays that end undecided must hold one step likelier than all others together."""


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """Settings of a calibration."""

    attributor: str = "structural"
    """Who is fitted."""
    injected: int = 40
    """Verified faults that are wanted."""
    natural: int | None = None
    """Labelled natural failures that are wanted; default as many as there are, 0 for none."""
    repeats: int = 1
    """How often the team is run on each task."""
    faults_per_run: int = 3
    """Faults that are tried in each run that succeeds."""
    trials: int = 5
    """Replays of each kind for each step of a natural failure, at most."""
    suspect_trials: int = 20
    """The same for the likeliest steps, where those have found none."""
    tools: ToolRules | str | dict[str, str] | None = "rebuilt"
    """What tools may do in replays; by default their state is taken to live in the team's own process."""
    folds: int = 5
    """Parts that the tasks are split into for the measurement; each is left out once."""
    workers: int = 2
    """Runs that go on at the same time."""
    cap: CostCap = field(default_factory=CostCap)
    """What it may cost; the same command goes on later."""
    seed: int = 0
    """Seed of every random choice."""
    judge: JudgeTraining | None = None
    """Whether a judge is trained on the labels as well, and how. What is fitted, and what ``hook`` uses, stays the
    same."""

    def build_options(self) -> BuildOptions:
        """The options of the build."""
        rules = ToolRules.of(self.tools)
        options = BuildOptions(
            repeats=self.repeats,
            faults_per_run=self.faults_per_run,
            strategies=(FaultStrategy.RESPONSE_CORRUPTION, FaultStrategy.PROMPT_INJECTION),
            natural=self.natural != 0,
            replay=ReplayOptions(
                trials=self.trials, suspect_trials=self.suspect_trials, tools=rules, seed=self.seed, placebo=False
            ),
            proposer=(ResampleProposer(), FeedbackProposer()),
            weak_from=_WEAK_FROM,
            attribute=get_attributor(self.attributor).attribute,
            wanted_injected=self.injected,
            wanted_natural=self.natural,
            workers=self.workers,
            cap=self.cap,
            seed=self.seed,
        )
        return replace(options, inject=replace(options.inject, tools=rules))


REPORT = "calibration.json"
_SECONDS_PER_FIT = 2.0
"""Of some tens of short runs."""
_FEWEST = 10
"""Labels below which a fit is not worth keeping."""
_FEWEST_QUESTIONS = 4


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Result of a calibration."""

    card: TeamCard
    """The team."""
    data: LabeledSet
    """The labelled data that was built."""
    report: AdaptationReport
    """Accuracy before and after, on tasks that were left out."""
    folder: Path | None
    """Where the fitted attributor lies; ``hook`` uses it by itself. None when no fit was better than none."""
    judge: TrainedJudge | None = None
    """The judge that was trained on the labels, if one was asked for."""

    @property
    def kept(self) -> str:
        """Name of what was kept: what the attributor was fitted to, or ``"as shipped"``."""
        return self.report.best


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Rough size of a calibration."""

    runs: int
    """Runs of the team, replays counted as half a run."""
    seconds_per_run: float | None = None
    """As measured on the first runs."""
    tokens_per_run: int | None = None
    """As measured on the first runs."""
    measuring_s: float = 0.0
    """Fitting the attributor again and again to measure it, in seconds: a guess from the number of folds."""

    @property
    def seconds(self) -> float | None:
        """Wall-clock time with one worker, the measuring included."""
        return None if self.seconds_per_run is None else self.runs * self.seconds_per_run + self.measuring_s

    @property
    def tokens(self) -> int | None:
        """Tokens read and written."""
        return None if self.tokens_per_run is None else self.runs * self.tokens_per_run


class Calibrator:
    """Calibrates one team; what was done is kept in a folder, and the same call goes on.

    Args:
        target: A factory that builds the team, a team, or a function that takes a task.
        tasks: What the team is asked.
        check: Decides whether a run succeeded; default what the team was hooked with, else the tasks' references.
        folder: Where the data is built.
        options: How.
        on_progress: Told after every unit of the build.

    Raises:
        ConfigError: There are too few tasks, nothing says whether a run succeeded, or a judge cannot be trained.
        DatasetError: The folder cannot be used.
        MissingExtraError: Training a judge needs a package that is not installed.
    """

    def __init__(
        self,
        target: Any,
        tasks: Sequence[SuiteTask],
        *,
        check: Check | None = None,
        folder: Path,
        options: CalibrateOptions | None = None,
        on_progress: Callable[[BuildObserver], None] | None = None,
    ) -> None:
        self.options = options or CalibrateOptions()
        self.folder = folder
        self._target = target
        self._tasks = tuple(tasks)
        self._subject: Subject = OwnTeam(target=target, name=_name(target), check=check)
        self._on_progress = on_progress
        if len(self._tasks) < _FEWEST_QUESTIONS:
            raise ConfigError(
                f"{len(self._tasks)} tasks are too few to leave some out, expected at least {_FEWEST_QUESTIONS}, "
                "better 20 or more"
            )
        if not isinstance(get_attributor(self.options.attributor), Fittable):
            raise ConfigError(f"the attributor {self.options.attributor!r} cannot be fitted, expected 'structural'")
        self._judge: OwnJudge | None = None
        if self.options.judge is not None:
            self._judge = OwnJudge(self.options.judge, folder, seed=self.options.seed)
            self._judge.check(tasks=len(self._tasks), labels=self._most_labels())

    def _most_labels(self) -> int | None:
        """Labels that the options allow for; None for no limit."""
        faults = self.options.injected if self.options.faults_per_run else 0
        return None if self.options.natural is None else faults + self.options.natural

    def estimate(self, *, probes: int = 1) -> Estimate:
        """Estimate the whole, after ``probes`` runs that count towards it; 0 for a guess without any."""
        options = self.options
        runs = len(self._tasks) * options.repeats
        attempts = min(runs * options.faults_per_run, options.injected * 3)
        replays = attempts * (options.build_options().inject.rule.trials + 1)
        failures = options.natural if options.natural is not None else runs // 3
        # About four steps a run; some failures also need the second kind of correction, and more runs for a suspect.
        replays += failures * (options.trials * 5 + options.suspect_trials)
        total = runs + replays // 2
        if probes == 0:
            return Estimate(runs=total, measuring_s=self._measuring())
        cap = replace(options.cap, max_runs=probes)
        builder = self._builder(replace(options.build_options(), cap=cap, natural=False, faults_per_run=0, workers=1))
        builder.build()
        known = [run.trial for run in builder.runs()]
        if not known:
            return Estimate(runs=total, measuring_s=self._measuring())
        usage = [trial.trajectory.usage for trial in known]
        tokens = sum(one.total for one in usage)
        return Estimate(
            runs=total,
            seconds_per_run=sum(trial.duration_s for trial in known) / len(known),
            tokens_per_run=tokens // len(known),
            measuring_s=self._measuring(),
        )

    def _measuring(self) -> float:
        """Seconds for one fit to each choice of labels in each fold, and for the one that is kept."""
        return _SECONDS_PER_FIT * (len(FITTED) * min(self.options.folds, len(self._tasks)) + 1)

    def build(self) -> LabeledSet:
        """Run the team, put faults into what succeeds, replay what fails; gives the labelled data."""
        return self._builder(self.options.build_options()).build()

    def fit(
        self, data: LabeledSet, *, out: Path | None = None, on_fold: Callable[[int, int], None] | None = None
    ) -> Calibration:
        """Fit, measure on tasks that were left out, and store the best fit under the team's fingerprint.

        It is fitted to the injected faults, to the natural failures, and to both. The fit to both is kept, unless
        another one names more steps in natural failures, however few those are. Nothing is kept where the best fit does
        not put more than twice as many of them right as it puts wrong, against the attributor as shipped; what an
        earlier calibration stored is then removed.

        Args:
            data: What :meth:`build` gave.
            out: The folder of fitted attributors; default beside the run store.
            on_fold: Told of each fold of the measurement.

        Raises:
            DatasetError: There are too few labels to learn from, or the result cannot be written.
        """
        labeled = [without_reference(one) for one in data.labeled if one.decisive is not None]
        proven = sum(not one.is_weak for one in labeled)
        if proven < _FEWEST:
            raise DatasetError(
                f"the build gave {proven} labelled failures of {len(data.clean)} runs that succeeded, expected "
                f"at least {_FEWEST}. Add tasks, or raise --repeats or --faults, and give the same command again"
            )
        attributor = get_attributor(self.options.attributor)
        report = adaptation(labeled, attributor, folds=self.options.folds, seed=self.options.seed, on_fold=on_fold)
        assert isinstance(attributor, Fittable), "looked at in the constructor"
        card = team_card([one.trajectory for one in labeled])
        home, folder = out or attributors_folder(), None
        figures = {REPORT: (report.model_dump_json(indent=2) + "\n").encode()}
        try:
            if report.best == SHIPPED:
                forget_calibrated(home, card)
            else:
                fitted = fitted_only(attributor, training_labels(labeled, report.best), seed=self.options.seed)
                folder = save_calibrated(home, fitted, card, figures)
            write_files({self.folder / name: data for name, data in figures.items()})
        except OSError as error:
            raise DatasetError(f"cannot write the fitted attributor: {error.strerror or error}") from error
        return Calibration(card=card, data=data, report=report, folder=folder)

    def train_judge(self, calibration: Calibration, progress: Training | None = None) -> Calibration:
        """Train the judge that the options ask for, and compare it with what :meth:`fit` found best.

        Both learn from the failures of two thirds of the tasks and are compared on those of the rest. Nothing of the
        calibration changes but its ``judge``.

        Args:
            calibration: What :meth:`fit` gave.
            progress: Told how it goes.

        Raises:
            ConfigError: The options ask for no judge.
            DatasetError: There are too few labels, or a judge was trained in this folder on others.
            TrainingError: Training cannot go on; the same call does.
        """
        if self._judge is None:
            raise ConfigError("no judge was asked for, expected CalibrateOptions(judge=JudgeTraining(model=...))")
        labeled = [without_reference(one) for one in calibration.data.labeled if one.decisive is not None]
        judge = self._judge.train(labeled, partial(self._standard, calibration), progress=progress)
        return replace(calibration, judge=judge)

    def _standard(self, calibration: Calibration, learnt: Sequence[LabeledTrajectory]) -> tuple[str, Attributor]:
        """Return what a judge has to beat: the best fit, to the failures that it is trained on; with its name."""
        attributor = get_attributor(self.options.attributor)
        labels = training_labels(learnt, calibration.kept) if calibration.kept != SHIPPED else []
        if labels and isinstance(attributor, Fittable):
            with contextlib.suppress(AttributionError):  # two thirds of the labels may be too few
                fitted = fitted_only(attributor, labels, seed=self.options.seed)
                return f"{attributor.name}, {calibration.kept}", fitted
        return f"{attributor.name}, {SHIPPED}", attributor

    def _builder(self, options: BuildOptions) -> DatasetBuilder:
        return DatasetBuilder(
            self.folder, [self._subject], lambda subject: self._tasks, options, on_progress=self._on_progress
        )


def calibrate(
    target: Any,
    tasks: Sequence[SuiteTask | str],
    *,
    check: Check | None = None,
    folder: str | Path = "calibration",
    options: CalibrateOptions | None = None,
) -> Calibration:
    """Fit the attributor to one's own team: run it on tasks, inject faults, replay failures, fit, and measure.

    Args:
        target: A factory that builds the team, a team, or a function that takes a task.
        tasks: What the team is asked.
        check: Decides whether a run succeeded; default what the team was hooked with, else the tasks' references.
        folder: Where the data is built; the same call goes on where a broken-off one was.
        options: How.

    Returns:
        The labelled data, the accuracy before and after on tasks that were left out, and where the fitted attributor
        lies. :func:`tracer_hooks.hook` uses it for this team from now on. Nothing is stored where no fit was better.
        With ``options.judge`` also a judge, and how it compares on tasks that were left out.

    Raises:
        ConfigError: There are too few tasks, or nothing to train a judge from.
        DatasetError: Too few labels came of it, or a file cannot be written.
        MissingExtraError: Training a judge needs a package that is not installed; said before anything is run.
        TrainingError: Training cannot go on; the same call does.
    """
    given = [
        task if isinstance(task, SuiteTask) else SuiteTask(id=f"task-{i}", text=task) for i, task in enumerate(tasks)
    ]
    calibrator = Calibrator(target, given, check=check, folder=Path(folder), options=options)
    found = calibrator.fit(calibrator.build())
    return found if options is None or options.judge is None else calibrator.train_judge(found)


def _name(target: Any) -> str:
    return str(getattr(target, "__name__", None) or getattr(target, "name", None) or type(target).__name__)
