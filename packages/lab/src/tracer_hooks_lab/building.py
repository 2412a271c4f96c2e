"""``build_dataset``: labelled data from one's own team, or from the suites' teams, from plan to card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from tracer_hooks.budget import CostCap, Spending
from tracer_hooks.datasets import LabeledSet
from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.errors import ConfigError, DatasetError, FaultError, MissingExtraError
from tracer_hooks.extension import Check
from tracer_hooks.replay import Proposer, ReplayOptions, ToolRules, proposers_of
from tracer_hooks.schema import ErrorMode, Json
from tracer_hooks.tasks import SuiteTask, load_tasks
from tracer_hooks_lab.datasets import (
    BuildObserver,
    BuildOptions,
    BuildPlan,
    DatasetAudit,
    DatasetBuilder,
    DatasetStats,
    HowBuilt,
    Subject,
    audit,
    stats,
    write_card,
)
from tracer_hooks_lab.datasets._bench import LocalBench, MakeBench, ray_bench
from tracer_hooks_lab.datasets._build_plan import FAULT, NATURAL, RUN
from tracer_hooks_lab.faults import FaultStrategy, FaultWriter, InjectOptions, VerificationRule
from tracer_hooks_lab.subjects import OwnTeam, SuiteTeam
from tracer_hooks_lab.suites import isolation_in_words

_FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class BuiltDataset:
    """Result of a build, earlier sessions included."""

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
    """Amount of work, before anything is known of how long a run takes."""

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
        bench: Makes where units are worked on.

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
        on_progress: Callable[[BuildObserver], None] | None = None,
        bench: MakeBench = LocalBench,
    ) -> None:
        self.folder = folder
        self.options = options
        self._title, self._command = title, command
        self._subjects = subjects
        self._tasks = {f"{task.suite}/{task.id}": task for subject in subjects for task in tasks(subject)}
        self._builder = DatasetBuilder(folder, subjects, tasks, options, on_progress=on_progress, bench=bench)
        self._plan = BuildPlan.of(
            {subject.name: _described(subject) for subject in subjects}, self._tasks.values(), options.described()
        )
        self._plan.keep(folder)

    @property
    def spending(self) -> Spending:
        """Cost of this session so far."""
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
        """Count the work to do."""
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
    """Return what is known of a team besides its name; a subject need not say anything."""
    describe = getattr(subject, "described", None)
    known: Mapping[str, Json] = describe() if callable(describe) else {"architecture": subject.architecture}
    return dict(known)


def _cell(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {of}" for name, of in value.items()) or "none"
    return str(value)


Tasks = str | Path | Iterable[SuiteTask | str] | Callable[[Subject], Sequence[SuiteTask]]
"""A file of tasks, tasks, their texts, or what gives the tasks of each team."""


class BuildArguments(TypedDict, total=False):
    """Options of :func:`build_dataset`.

    ``check``: says whether a run succeeded; default what the team was hooked with, else the grader of the task.
    ``name``: the team's name in the data set. ``title``: the title of its card. ``repeats``: how often each team is
    run on each task. ``faults``: faults that are tried in each run that succeeds; 0 for none. ``modes``,
    ``strategies``: what is injected, in balance; ``kinds``: the mutators that may be used, default all. ``writer``:
    who writes faults; default the mutators. ``rule``: when a fault counts. ``natural``: whether runs that fail by
    themselves are labelled by replay. ``proposer``: who writes corrections for them, ``"resample"`` (default),
    ``"template"``, ``"feedback"``, a :class:`~tracer_hooks.replay.Proposer`, or several, one tried after the other.
    ``attributor``: says where a replay looks first; None for no one. ``trials``: replays of each kind for each step,
    at most. ``tools``: what tools may do in runs that are replayed, default ``"rebuilt"``. ``workers``: runs that go
    on at the same time. ``wanted_injected``, ``wanted_natural``: stop when there are so many. ``cap``: what this call
    may cost; the next one goes on. ``seed``: of every random choice. ``command``: what the card gives as the command.
    ``on_progress``: called after every unit. ``engine``: ``"local"``, or ``"ray"`` for a Ray cluster; ``address``: the
    cluster's, as for ``tracer-hooks diagnose``.
    """

    check: Check | None
    name: str
    title: str
    repeats: int
    faults: int
    modes: Iterable[ErrorMode | str]
    kinds: Iterable[str]
    strategies: Iterable[FaultStrategy | str]
    writer: FaultWriter | None
    rule: VerificationRule
    natural: bool
    proposer: str | Proposer | Sequence[str | Proposer]
    attributor: str | Attributor | None
    trials: int
    tools: ToolRules | str | Mapping[str, str] | None
    workers: int
    wanted_injected: int | None
    wanted_natural: int | None
    cap: CostCap
    seed: int
    command: str
    on_progress: Callable[[BuildObserver], None] | None
    engine: Literal["local", "ray"]
    address: str | None


def build_dataset(folder: str | Path, target: Any, tasks: Tasks, **options: Unpack[BuildArguments]) -> LabeledSet:
    """Build labelled data: run teams on tasks, inject faults into runs that succeed, replay runs that fail.

    The folder gets ``labeled.jsonl``, ``clean.jsonl``, ``discarded.jsonl``, ``stats.json``, ``audit.json`` and
    ``card.md``. A build that was broken off, or reached its cap, goes on with the same call: nothing is lost, nothing
    is doubled.

    Args:
        folder: Where the data set is built.
        target: A factory that builds the team, a team, or a function that takes the task; or teams of the suites, a
            sequence of :class:`SuiteTeam` or other subjects.
        tasks: A file of tasks, tasks, or their texts.
        **options: See :class:`BuildArguments`.

    Returns:
        Everything that was found, earlier calls included.

    Raises:
        ConfigError: An option cannot be used, nothing says whether a run succeeded, or the folder was begun with other
            options; the message names them.
        DatasetError: The folder cannot be used, the disk is full, or nothing but broken runs comes.
        AdapterError: A team cannot be built.
    """
    return dataset_build(folder, target, tasks, **options).run().data


def dataset_build(folder: str | Path, target: Any, tasks: Tasks, **options: Unpack[BuildArguments]) -> DatasetBuild:
    """The same, still to be run.

    Raises:
        ConfigError: An option cannot be used, or nothing says whether a run succeeded.
        DatasetError: The folder or the file of tasks cannot be used.
    """
    unknown = sorted(set(options) - set(BuildArguments.__annotations__))
    if unknown:
        known = ", ".join(sorted(BuildArguments.__annotations__))
        raise ConfigError(f"unknown option {unknown[0]!r}, expected one of: {known}")
    subjects = _subjects(target, options)
    given = _Tasks.of(tasks)
    for subject in subjects:
        if isinstance(subject, OwnTeam):
            for task in given.of_subject(subject):
                subject.check_of(task)
    return DatasetBuild(
        Path(folder),
        subjects,
        given.of_subject,
        _build_options(options),
        title=options.get("title", "Labelled runs of " + ", ".join(subject.name for subject in subjects)),
        command=options.get("command", "tracer_hooks.build_dataset(...)"),
        on_progress=options.get("on_progress"),
        bench=ray_bench(options.get("address")) if options.get("engine", "local") == "ray" else LocalBench,
    )


@dataclass(frozen=True)
class _Tasks:
    given: Callable[[Subject], Sequence[SuiteTask]] | tuple[SuiteTask, ...]

    @classmethod
    def of(cls, tasks: Tasks) -> _Tasks:
        if callable(tasks):
            return cls(tasks)
        if isinstance(tasks, (str, Path)):
            return cls(load_tasks(tasks))
        return cls(
            tuple(
                task if isinstance(task, SuiteTask) else SuiteTask(id=f"task-{number}", text=task)
                for number, task in enumerate(tasks)
            )
        )

    def of_subject(self, subject: Subject) -> Sequence[SuiteTask]:
        return self.given(subject) if callable(self.given) else self.given


def _subjects(target: Any, options: BuildArguments) -> Sequence[Subject]:
    given = list(target) if isinstance(target, (list, tuple)) else [target]
    if any(isinstance(one, (OwnTeam, SuiteTeam)) or _is_subject(one) for one in given):
        if options.get("check") is not None or "name" in options:
            raise ConfigError("check and name are for a team of one's own, expected them in OwnTeam(...) here")
        return given
    if len(given) != 1:
        raise ConfigError(f"target is {target!r}, expected one team, or subjects such as OwnTeam(...)")
    name = options.get("name") or str(getattr(target, "__name__", None) or type(target).__name__)
    return [OwnTeam(target=target, name=name, check=options.get("check"))]


def _is_subject(target: Any) -> bool:
    return all(hasattr(target, name) for name in ("name", "architecture", "runner"))


def _build_options(given: BuildArguments) -> BuildOptions:
    seed, cap = given.get("seed", 0), given.get("cap") or CostCap()
    tools = ToolRules.of(given.get("tools", "rebuilt"))
    writer = given.get("writer")
    attributor = given.get("attributor", "structural")
    return BuildOptions(
        repeats=given.get("repeats", 1),
        faults_per_run=given.get("faults", 2),
        modes=tuple(_mode(mode) for mode in given.get("modes", tuple(ErrorMode))),
        kinds=tuple(given.get("kinds", ())),
        strategies=tuple(_strategy(one) for one in given.get("strategies", BuildOptions.strategies)),
        writer=_writer_name(writer),
        inject=InjectOptions(rule=given.get("rule", VerificationRule()), tools=tools, writer=writer),
        natural=given.get("natural", True),
        replay=ReplayOptions(trials=given.get("trials", 6), tools=tools, seed=seed, placebo=False),
        proposer=proposers_of(given.get("proposer", "resample")),
        attribute=None if attributor is None else get_attributor(attributor).attribute,
        wanted_injected=given.get("wanted_injected"),
        wanted_natural=given.get("wanted_natural"),
        workers=given.get("workers", 4),
        cap=cap,
        seed=seed,
    )


def _writer_name(writer: FaultWriter | None) -> Literal["programmatic", "llm"]:
    return "programmatic" if writer is None else "llm"


def _mode(mode: ErrorMode | str) -> ErrorMode:
    try:
        return ErrorMode(mode)
    except ValueError:
        raise FaultError(
            f"unknown error mode {mode!r}, expected one of {', '.join(one.value for one in ErrorMode)}"
        ) from None


def _strategy(strategy: FaultStrategy | str) -> FaultStrategy:
    try:
        return FaultStrategy(strategy)
    except ValueError:
        raise ConfigError(
            f"unknown strategy {strategy!r}, expected one of {', '.join(one.value for one in FaultStrategy)}"
        ) from None
