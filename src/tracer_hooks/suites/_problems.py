"""Suites of problems whose answer is one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.schema import Json
from tracer_hooks.suites._drawing import different_tasks, number_from
from tracer_hooks.suites._grading import HOW_TO_ANSWER, AnswerKind, check_value
from tracer_hooks.suites._suite import Difficulty, Environment, checked
from tracer_hooks.suites._task import SuiteTask


@dataclass(frozen=True, kw_only=True)
class Problem:
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
    draw: Callable[[int, Difficulty], Problem | None]
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
