"""``tracer_hooks.build_dataset``: labelled data from one's own team, or from the suites' architectures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from tracer_hooks._api.building._resumable_build import DatasetBuild
from tracer_hooks._api.judging import Check
from tracer_hooks._api.rerunning import OwnTeam, SuiteTeam
from tracer_hooks.attribution import Attributor, get_attributor
from tracer_hooks.datasets import BuildOptions, LabeledSet, Progress, Subject
from tracer_hooks.errors import ConfigError, FaultError
from tracer_hooks.faults import FaultStrategy, FaultWriter, InjectOptions, VerificationRule
from tracer_hooks.replay import CostCap, Proposer, ReplayOptions, ToolRules, proposers_of
from tracer_hooks.schema import ErrorMode
from tracer_hooks.suites import SuiteTask, load_tasks

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
    ``on_progress``: called after every unit.
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
    on_progress: Callable[[Progress], None] | None


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
