"""Interface of a suite, tasks drawn from a seed, and suites of problems whose answer is one value."""

from __future__ import annotations

import decimal
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, get_args

from tracer_hooks.errors import ConfigError
from tracer_hooks.extension import require
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.schema import Json
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.suites._grading import HOW_TO_ANSWER, AnswerKind, check_value

Difficulty = Literal["easy", "medium", "hard"]
"""How hard the tasks are; easy ones are meant for models of half a billion parameters."""
DIFFICULTIES: Final[tuple[Difficulty, ...]] = get_args(Difficulty)
Tool = Callable[..., str]
"""A plain function with annotations and a Google docstring, from which the frameworks build its schema."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Things a team works on in one run. Make a new one for every run: its state changes with the team's writes.

    The tools depend on nothing but their arguments and the state, so that calling them again in the same order on a
    new environment gives the same results and the same state.
    """

    tools: tuple[Tool, ...] = ()
    """What the team's agents may call; empty for most suites."""
    state: Any = None
    """What the tools read and change, for the grader; None without tools."""


class Suite(Protocol):
    """Tasks of one kind, with their grader."""

    @property
    def name(self) -> str:
        """The suite's name, for :func:`get_suite`."""

    @property
    def description(self) -> str:
        """Description of its tasks, in one sentence."""

    def tasks(self, count: int, *, seed: int = 0, difficulty: Difficulty = "easy") -> tuple[SuiteTask, ...]:
        """The first ``count`` tasks of ``seed``, no two alike. A larger count begins with the same tasks.

        Raises:
            ConfigError: The difficulty is unknown, the count negative, or there are not so many different tasks.
            MissingExtraError: The suite needs a distribution that is not installed.
        """

    def environment(self, task: SuiteTask) -> Environment:
        """Make what a team needs besides the text, new for every call."""

    def check(self, task: SuiteTask, result: RunResult, environment: Environment | None = None) -> Verdict:
        """Judge whether the run did what ``task`` asks. An unreadable answer is a failed verdict with its reason.

        The reason never gives the expected answer away, since it is shown to those who diagnose and repair the run.

        Raises:
            ConfigError: The task needs the environment that the team worked on, and none is given.
        """


def checked(count: int, difficulty: str) -> None:
    """Refuse a count or difficulty that no suite has.

    Raises:
        ConfigError: One of them cannot be used.
    """
    if count < 0:
        raise ConfigError(f"count must be 0 or more, got {count!r}")
    if difficulty not in DIFFICULTIES:
        raise ConfigError(f"unknown difficulty {difficulty!r}; expected one of {', '.join(DIFFICULTIES)}")


_TRIES: Final = 200
"""Draws in a row that may repeat an earlier task before the source counts as empty."""


def number_from(*parts: object) -> int:
    """A 31-bit number that depends on all of ``parts``, the same on every machine.

    Seeds are mixed instead of added up, so that place 1 of seed 0 has nothing to do with place 0 of seed 1.
    """
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def different_tasks(count: int, draw: Callable[[int], SuiteTask | None]) -> tuple[SuiteTask, ...]:
    """``count`` tasks with different texts out of ``draw(0)``, ``draw(1)``, ...; a draw may give None.

    Raises:
        ConfigError: The draws repeat themselves before there are enough.
    """
    found: dict[str, SuiteTask] = {}
    place = misses = 0
    while len(found) < count:
        task = draw(place)
        place += 1
        if task is not None and task.text not in found:
            found[task.text], misses = task, 0
            continue
        misses += 1
        if misses >= _TRIES:
            raise ConfigError(f"only {len(found)} different tasks were found, {count} are wanted; ask for fewer")
    return tuple(found.values())


@dataclass(frozen=True, kw_only=True)
class SuiteProblem:
    """A question with its answer."""

    question: str
    """What is asked, without how to write the answer."""
    reference: str
    """The right answer."""
    kind: AnswerKind
    """How answers are compared."""
    data: Mapping[str, Json] = field(default_factory=dict)
    """What else the grader, or someone who looks at a failed run, needs."""


@dataclass(frozen=True, kw_only=True)
class Generator:
    """A source of problems."""

    name: str
    """Its name; part of the tasks' ids."""
    draw: Callable[[int, Difficulty], SuiteProblem | None]
    """The problem of a seed; None when that seed gives one that cannot be used."""


@dataclass(frozen=True, kw_only=True)
class ProblemSuite:
    """A suite that goes round its generators, one task from each in turn."""

    name: str
    description: str
    generators: Sequence[Generator]

    def tasks(self, count: int, *, seed: int = 0, difficulty: Difficulty = "easy") -> tuple[SuiteTask, ...]:
        """See :class:`Suite`."""
        checked(count, difficulty)

        def draw(place: int) -> SuiteTask | None:
            generator = self.generators[place % len(self.generators)]
            problem = generator.draw(number_from(self.name, generator.name, difficulty, seed, place), difficulty)
            if problem is None:
                return None
            return SuiteTask(
                id=f"{self.name}-{difficulty}-{seed}-{place}",
                suite=self.name,
                text=f"{problem.question}\n{HOW_TO_ANSWER[problem.kind]}",
                reference=problem.reference,
                data={
                    **problem.data,
                    "kind": problem.kind,
                    "generator": generator.name,
                    "difficulty": difficulty,
                    "seed": seed,
                },
            )

        return different_tasks(count, draw)

    def environment(self, task: SuiteTask) -> Environment:
        """No tools."""
        return Environment()

    def check(self, task: SuiteTask, result: RunResult, environment: Environment | None = None) -> Verdict:
        """Compare the final answer with the reference; see :class:`Suite`."""
        return check_value(task, result.text)


Settings = Mapping[Difficulty, Mapping[str, Any]]
"""The generator's own configuration at each difficulty."""


def gym_generator(name: str, settings: Settings, word: Callable[[Mapping[str, Any]], SuiteProblem | None]) -> Generator:
    """A generator of ``reasoning-gym``, whose entries ``word`` turns into problems."""

    def draw(seed: int, difficulty: Difficulty) -> SuiteProblem | None:
        gym = require("reasoning_gym", extra="suites", feature=f"the task generator {name!r}")
        with decimal.localcontext():  # decimal_arithmetic sets the precision of the whole thread
            entry = gym.create_dataset(name, seed=seed, size=1, **settings[difficulty])[0]
        return word(entry)

    return Generator(name=name, draw=draw)


def worded(question: str, reference: object) -> SuiteProblem:
    """A problem whose answer is a number."""
    return SuiteProblem(question=question, reference=str(reference), kind="number")


def without(question: str, *patterns: str) -> str:
    """``question`` without its own sentences on how to write the answer."""
    for pattern in patterns:
        question = re.sub(pattern, "", question)
    return question.strip()
