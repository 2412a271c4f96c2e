"""Plan of a build: options, teams and tasks with the ids of their units, and the folder that goes on with the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from tracer_hooks.budget import CostCap
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.journal import write_atomically
from tracer_hooks.replay import Proposer, ReplayOptions, ResampleProposer, TeamRunner, ToolRules, proposers_of
from tracer_hooks.schema import Attribution, ErrorMode, Json, Record, Trajectory, to_json
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.faults import FaultStrategy, InjectOptions, mutators_of

BOTH = (FaultStrategy.RESPONSE_CORRUPTION, FaultStrategy.PROMPT_INJECTION)


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Options of a build.

    Raises:
        ConfigError: A number is out of range.
    """

    repeats: int = 1
    """How often each team is run on each task before anything is injected."""
    faults_per_run: int = 2
    """Faults that are tried in each run that succeeded; 0 for none."""
    modes: tuple[ErrorMode, ...] = tuple(ErrorMode)
    """Error modes that are injected, in balance."""
    kinds: tuple[str, ...] = ()
    """Mutators that may be used, by name; empty: all. Modes that have none of them are left out."""
    strategies: tuple[FaultStrategy, ...] = BOTH
    """Ways in which they are, in balance."""
    writer: Literal["programmatic", "llm"] = "programmatic"
    """Who writes the faults: ``programmatic``, or ``llm`` with :attr:`InjectOptions.writer`."""
    inject: InjectOptions = field(default_factory=InjectOptions)
    """How faults are verified."""
    natural: bool = True
    """Whether runs that fail by themselves are labelled by replay."""
    max_natural: int | None = None
    """How many of them at most; default all."""
    replay: ReplayOptions = field(default_factory=ReplayOptions)
    """How they are replayed."""
    proposer: Proposer | Sequence[Proposer] = field(default_factory=ResampleProposer)
    """Who writes corrections for them; of several, the next one where those before it show no step."""
    attribute: Callable[[Trajectory], Attribution] | None = None
    """Says which steps are looked at first; default from the last to the first."""
    weak_from: float | None = None
    """From which probability on a natural failure whose search ends undecided gets its likeliest step as a weak label,
    with that weight; None keeps no weak labels."""
    wanted_injected: int | None = None
    """Stop injecting when there are so many verified faults."""
    wanted_natural: int | None = None
    """Stop replaying when there are so many labelled failures."""
    workers: int = 4
    """How many runs go on at the same time."""
    cap: CostCap = field(default_factory=CostCap)
    """What the build may cost; it can be continued later."""
    seed: int = 0
    """Seed of every random choice."""

    def __post_init__(self) -> None:
        for name, least in (("repeats", 1), ("faults_per_run", 0), ("workers", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected {least} or more")
        if self.weak_from is not None and not 0.0 < self.weak_from < 1.0:
            raise ConfigError(f"weak_from is {self.weak_from!r}, expected a probability between 0 and 1, or None")
        if self.faults_per_run and not (self.modes and self.strategies):
            raise ConfigError("there is no mode or no strategy to inject, expected at least one of each")
        if self.kinds:
            self.mutators  # noqa: B018 - an unknown name is noticed here, not after hours of running
        skipped = self.skipped_modes
        if skipped and skipped == self.modes and set(self.strategies) == {FaultStrategy.RESPONSE_CORRUPTION}:
            names = ", ".join(mode.value for mode in skipped)
            raise ConfigError(
                f"no mutator can make a reply err by {names}: that takes new text, expected a model that writes it: "
                "--writer llm --base-url URL --model NAME (in Python writer=LLMWriter(openai_chat(endpoint))), or "
                "--strategies prompt_injection"
            )
        if self.faults_per_run and self.writer == "llm" and self.inject.writer is None:
            raise ConfigError("writer is 'llm', expected who that is: inject=InjectOptions(writer=LLMWriter(...))")

    @property
    def mutators(self) -> dict[ErrorMode, tuple[str, ...]]:
        """The mutators that may be used, by mode.

        Raises:
            ConfigError: A name is that of no mutator of these modes.
        """
        known = {mode: tuple(one.kind for one in mutators_of(mode)) for mode in self.modes}
        names = {kind for kinds in known.values() for kind in kinds}
        unknown = sorted(set(self.kinds) - names)
        if unknown:
            raise ConfigError(f"there is no mutator {unknown[0]!r} of these modes, expected some of: {sorted(names)}")
        if not self.kinds:
            return known
        chosen = {mode: tuple(kind for kind in kinds if kind in self.kinds) for mode, kinds in known.items()}
        return {mode: kinds for mode, kinds in chosen.items() if kinds}

    @property
    def skipped_modes(self) -> tuple[ErrorMode, ...]:
        """Modes that no fault of the build will have: nothing but new text shows them, and nothing of it writes any."""
        writes = self.writer == "llm" or FaultStrategy.PROMPT_INJECTION in self.strategies
        if writes or not self.faults_per_run or FaultStrategy.RESPONSE_CORRUPTION not in self.strategies:
            return ()
        return tuple(mode for mode in self.modes if not mutators_of(mode))

    def described(self) -> dict[str, Any]:
        """The choices that shape the data: for its card, and to tell whether a build goes on with the same ones."""
        return {
            "repeats": self.repeats,
            "faults_per_run": self.faults_per_run,
            "modes": [mode.value for mode in self.modes],
            **({"kinds": list(self.kinds)} if self.kinds else {}),
            "strategies": [strategy.value for strategy in self.strategies],
            "writer": self.writer,
            "verification": self.inject.rule.model_dump(mode="json"),
            "tools": _described_tools(self.inject.tools),
            "natural": self.natural,
            "trials": self.replay.trials,
            "alpha": self.replay.alpha,
            "replay_tools": _described_tools(self.replay.tools),
            **({"suspect_trials": self.replay.suspect_trials} if self.replay.suspect_trials else {}),
            **({"weak_from": self.weak_from} if self.weak_from is not None else {}),
            "proposer": ", ".join(one.name for one in proposers_of(self.proposer)),
            "seed": self.seed,
        }


def _described_tools(rules: ToolRules) -> dict[str, str]:
    default = {"*": str(rules.default)} if rules.default is not None else {}
    return {**default, **{name: str(use) for name, use in sorted(rules.named.items())}}


NAME = "build.json"
_MAY_GROW = ("repeats", "faults_per_run")


class BuildPlan(Record):
    """Settings that shape the data of one folder."""

    teams: dict[str, dict[str, Json]]
    """The teams, with what is known of them."""
    tasks: dict[str, str]
    """The tasks by ``suite/id``, each with a digest of what it asks and how it is graded."""
    options: dict[str, Json]
    """The options, see :meth:`BuildOptions.described`."""

    @classmethod
    def of(
        cls, teams: Mapping[str, Mapping[str, Json]], tasks: Iterable[SuiteTask], options: Mapping[str, Json]
    ) -> BuildPlan:
        """The plan of these teams and tasks."""
        return cls(
            teams={name: dict(known) for name, known in teams.items()},
            tasks={f"{task.suite}/{task.id}": _digest(task) for task in tasks},
            options=dict(options),
        )

    def keep(self, folder: Path) -> None:
        """Write it to ``folder``, unless another plan is there that it does not go on with.

        More teams, tasks, repeats and faults a run go on; everything else has to be as it was.

        Raises:
            ConfigError: The folder was begun with something else; the message names it.
            DatasetError: The file cannot be read or written.
        """
        place = folder / NAME
        earlier = _read(place)
        if earlier is not None:
            differences = list(_differences(earlier, self))
            if differences:
                raise ConfigError(
                    f"{str(folder)!r} was begun with other options: {'; '.join(differences)}. Give the earlier ones, "
                    "or another folder; only more teams, tasks, repeats and faults go on in the same one"
                )
        if earlier != self:
            write_atomically({place: f"{self.model_dump_json(indent=2)}\n".encode()})


def _read(place: Path) -> BuildPlan | None:
    try:
        return BuildPlan.model_validate_json(place.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise DatasetError(
            f"cannot read {str(place)!r}, which says what the folder was begun with: {error}. Take another folder"
        ) from error


def _differences(earlier: BuildPlan, now: BuildPlan) -> Iterator[str]:
    for name in sorted({*earlier.options, *now.options}):
        before, after = earlier.options.get(name), now.options.get(name)
        if before != after and not _grows(name, before, after):
            yield f"{name} was {_shown(before)} and is {_shown(after)}"
    yield from _other("team", earlier.teams, now.teams)
    yield from _other("task", earlier.tasks, now.tasks)


def _grows(name: str, before: Json, after: Json) -> bool:
    if name == "natural":
        return before is False and after is True
    return name in _MAY_GROW and isinstance(before, int) and isinstance(after, int) and after > before


def _other(
    what: str, before: Mapping[str, Json | dict[str, Json]], after: Mapping[str, Json | dict[str, Json]]
) -> Sequence[str]:
    lost = [name for name in before if name not in after]
    changed = [name for name in before if name in after and before[name] != after[name]]
    found = []
    if lost:
        found.append(f"{len(lost)} {what}s are missing, such as {lost[0]!r}")
    if changed:
        name = changed[0]
        how = "" if what == "task" else f" ({_shown(before[name])}, now {_shown(after[name])})"
        found.append(f"the {what} {name!r} is another one{how}")
    return found


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _digest(task: SuiteTask) -> str:
    return hashlib.sha256(to_json(task).encode()).hexdigest()[:16]


# What the id of a unit begins with, by what is done.
RUN = "run/"
PLAN = "plan/"
FAULT = "fault/"
NATURAL = "natural/"


class Subject(Protocol):
    """A team that can be run on tasks."""

    @property
    def name(self) -> str:
        """Identifies the team in the data set, such as ``"langgraph/debate"``; a part of the ids of units."""
        ...

    @property
    def architecture(self) -> str:
        """Organisation of the team; empty where it is the user's own."""
        ...

    def runner(self, task: SuiteTask) -> TeamRunner:
        """Return what runs the team on one task.

        Raises:
            AdapterError: The team cannot be built.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class RunUnit:
    """One run of one team on one task."""

    subject: Subject
    task: SuiteTask
    repeat: int

    @property
    def name(self) -> str:
        """The unit's id."""
        return f"{self.subject.name}/{self.task.suite}/{self.task.id}/{self.repeat}"
