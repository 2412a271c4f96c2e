"""What a suite offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, get_args

from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.suites._task import SuiteTask

Difficulty = Literal["easy", "medium", "hard"]
"""How hard the tasks are; easy ones are meant for models of half a billion parameters."""

DIFFICULTIES: Final[tuple[Difficulty, ...]] = get_args(Difficulty)

Tool = Callable[..., str]
"""A plain function with annotations and a Google docstring, from which the frameworks build its schema."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What a team works on in one run. Make a new one for every run: its state changes with the team's writes.

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
        """What its tasks are, in one sentence."""

    def tasks(self, count: int, *, seed: int = 0, difficulty: Difficulty = "easy") -> tuple[SuiteTask, ...]:
        """The first ``count`` tasks of ``seed``, no two alike. A larger count begins with the same tasks.

        Raises:
            ConfigError: The difficulty is unknown, the count negative, or there are not so many different tasks.
            MissingExtraError: The suite needs a distribution that is not installed.
        """

    def environment(self, task: SuiteTask) -> Environment:
        """What a team needs besides the text, new for every call."""

    def check(self, task: SuiteTask, result: RunResult, environment: Environment | None = None) -> Verdict:
        """Whether the run did what ``task`` asks. An answer that cannot be read is a failed verdict with its reason.

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
