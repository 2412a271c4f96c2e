"""A build of a data set from its plan to its card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracer_hooks.datasets import (
    BuildOptions,
    BuildPlan,
    DatasetAudit,
    DatasetBuilder,
    DatasetStats,
    HowBuilt,
    LabeledSet,
    Progress,
    Subject,
    audit,
    stats,
    write_card,
)
from tracer_hooks.datasets._builder._units import FAULT, NATURAL, RUN
from tracer_hooks.errors import DatasetError, MissingExtraError
from tracer_hooks.replay import Spending
from tracer_hooks.schema import ErrorMode, Json
from tracer_hooks.suites import SuiteTask, isolation_in_words

_FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class BuiltDataset:
    """What a build has made, earlier sessions included."""

    data: LabeledSet
    """The labelled runs, the passing ones, and the discarded attempts."""
    stats: DatasetStats
    """What it holds, and what it cost."""
    audit: DatasetAudit | None
    """Whether something that understands nothing finds the faults; None where it could not be made."""
    not_audited: str | None
    """Why not."""
    card: Path
    """The data card."""
    stopped: str | None
    """Which cap was reached, in words; None without."""
    broken_off: int
    """Runs and faults of this session that came to nothing for want of a model, or that could not be judged."""


@dataclass(frozen=True, kw_only=True)
class BuildEstimate:
    """How much there is to do, before anything is known of how long a run takes."""

    teams: int
    """Teams."""
    tasks: int
    """Different tasks."""
    repeats: int
    """Runs of each team on each task."""
    runs: int
    """Runs of the teams before anything is injected."""
    done: int
    """Of those, how many are done already."""
    faults: int
    """Faults that are tried at most, in runs that succeed."""
    replays: int
    """Runs that these take at most; most steps of them come from a tape and cost nothing."""
    natural: bool
    """Whether failures are replayed as well; how many there will be is not known."""
    skipped_modes: tuple[ErrorMode, ...] = ()
    """Error modes that no fault will have: they take a model that writes, or prompt injection."""


class DatasetBuild:
    """One build, in one folder.

    Args:
        folder: Where the data set is built.
        subjects: The teams.
        tasks: What they work on.
        options: How.
        title: The title of the card.
        command: What the card gives as the command.
        on_progress: Told after every unit.

    Attributes:
        spending: What this session has cost so far.

    Raises:
        ConfigError: The folder was begun with other options, or there is nothing to run.
        DatasetError: The folder cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        subjects: Sequence[Subject],
        tasks: Callable[[Subject], Sequence[SuiteTask]],
        options: BuildOptions,
        *,
        title: str,
        command: str,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.folder = folder
        self.options = options
        self._title, self._command = title, command
        self._subjects = subjects
        self._tasks = {f"{task.suite}/{task.id}": task for subject in subjects for task in tasks(subject)}
        self._builder = DatasetBuilder(folder, subjects, tasks, options, on_progress=on_progress)
        self._plan = BuildPlan.of(
            {subject.name: _described(subject) for subject in subjects}, self._tasks.values(), options.described()
        )
        self._plan.keep(folder)

    @property
    def spending(self) -> Spending:
        """What this session has cost so far."""
        return self._builder.spending

    @property
    def subjects(self) -> Sequence[Subject]:
        """The teams."""
        return self._subjects

    @property
    def first_task(self) -> SuiteTask:
        """A task to try a model with."""
        return next(iter(self._tasks.values()))

    def estimate(self) -> BuildEstimate:
        """How much there is to do."""
        options, units = self.options, self._builder.units
        rule = options.inject.rule
        faults = len(units) * options.faults_per_run
        return BuildEstimate(
            teams=len(self._subjects),
            tasks=len(self._tasks),
            repeats=options.repeats,
            runs=len(units),
            done=sum(RUN + unit.name in self._builder.journal for unit in units),
            faults=faults,
            replays=faults * (rule.trials + rule.controls),
            natural=options.natural,
            skipped_modes=options.skipped_modes,
        )

    def counts(self) -> tuple[int, int]:
        """Verified faults and labelled failures so far, earlier sessions included."""
        journal = self._builder.journal
        found = [sum("labeled" in result for result in journal.results(prefix)) for prefix in (FAULT, NATURAL)]
        return found[0], found[1]

    def run(self) -> BuiltDataset:
        """Do what is left to do, and write everything.

        Raises:
            DatasetError: Nothing but broken runs comes, or the disk is full; what was done is kept.
            AdapterError: A team cannot be built.
        """
        data = self._builder.build()
        counted = stats(data)
        audited, reason = _audited(data, self.options.seed)
        card = write_card(self.folder, counted, audited, title=self._title, how=self._how(data, reason))
        return BuiltDataset(
            data=data,
            stats=counted,
            audit=audited,
            not_audited=reason,
            card=card,
            stopped=self.spending.refusal,
            broken_off=self._builder.broken_off,
        )

    def _how(self, data: LabeledSet, not_audited: str | None) -> HowBuilt:
        models = Counter(
            step.model for item in [*data.labeled, *data.clean] for step in item.trajectory.steps if step.model
        )
        suites = sorted({task.suite for task in self._tasks.values()})
        described = self.options.described()
        return HowBuilt(
            command=self._command,
            model=", ".join(name for name, _ in models.most_common()) or "not reported",
            seeds=(self.options.seed,),
            details={
                "teams": ", ".join(subject.name for subject in self._subjects),
                "tasks": f"{len(self._tasks)} of {', '.join(suites)}",
                **({"code of answers ran in": isolation_in_words()} if "code" in suites else {}),
                **{name.replace("_", " "): _cell(value) for name, value in described.items() if name != "seed"},
            },
            limits=() if not_audited is None else (f"No audit: {not_audited}",),
        )


def _audited(data: LabeledSet, seed: int) -> tuple[DatasetAudit | None, str | None]:
    """The audit, or why there is none."""
    questions = len({item.question_id for item in data.labeled})
    try:
        return audit(data, seed=seed, folds=max(2, min(_FOLDS, questions))), None
    except (DatasetError, MissingExtraError) as error:
        return None, str(error)


def _described(subject: Subject) -> dict[str, Json]:
    """What is known of a team besides its name; a subject need not say anything."""
    describe = getattr(subject, "described", None)
    known: Mapping[str, Json] = describe() if callable(describe) else {"architecture": subject.architecture}
    return dict(known)


def _cell(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {of}" for name, of in value.items()) or "none"
    return str(value)
