"""The suite ``code``: functions to write, graded by running them in the sandbox."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracer_hooks.config import BubblewrapUse
from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RunResult, Verdict
from tracer_hooks.tasks import SuiteTask, failed
from tracer_hooks_lab.suites._exercises import EASY, MEDIUM, Exercise
from tracer_hooks_lab.suites._hard_exercises import HARD
from tracer_hooks_lab.suites._sandbox import SandboxLimits, demand_isolation, run_python
from tracer_hooks_lab.suites._suite import Difficulty, Environment, checked, number_from

_EXERCISES: Final[Mapping[Difficulty, Sequence[Exercise]]] = {"easy": EASY, "medium": MEDIUM, "hard": HARD}
_BLOCK: Final = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class CodeSuite:
    """Functions to write, each graded by hidden tests. Needs a POSIX system to grade."""

    name: str = "code"
    description: str = "Python functions to write from a signature and a description, graded by hidden tests."
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    """What the code of an answer may use."""
    bubblewrap: BubblewrapUse | None = None
    """Whether its code runs in bubblewrap; None for ``TRACER_HOOKS_BUBBLEWRAP``. See :func:`run_python`."""

    def tasks(self, count: int, *, seed: int = 0, difficulty: Difficulty = "easy") -> tuple[SuiteTask, ...]:
        """The exercises of the difficulty, in an order that depends on the seed; see :class:`Suite`."""
        checked(count, difficulty)
        exercises = _EXERCISES[difficulty]
        if count > len(exercises):
            raise ConfigError(f"the suite 'code' has {len(exercises)} {difficulty} tasks, {count} are wanted")
        source = random.Random(number_from(self.name, difficulty, seed))
        return tuple(_task(one, self.name, difficulty) for one in source.sample(exercises, len(exercises))[:count])

    def environment(self, task: SuiteTask) -> Environment:
        """No tools.

        Raises:
            ConfigError: bubblewrap is required and does not work, so that no answer could be graded.
        """
        demand_isolation(self.bubblewrap)
        return Environment()

    def check(self, task: SuiteTask, result: RunResult, environment: Environment | None = None) -> Verdict:
        """Run the answer's code against the hidden tests; the score is the share of them that pass.

        The code is the last fenced block that defines the function, else the last fenced block, else the whole text.
        """
        tests, name = task.data.get("tests"), task.data.get("function")
        if not isinstance(tests, list) or not tests or not isinstance(name, str):
            raise ConfigError(f"task {task.id!r} cannot be graded: expected 'tests' and 'function' in its data")
        code = code_in(result.text, name)
        if not code.strip():
            return failed("there is no code in the answer")
        run = run_python(code, tests=[str(test) for test in tests], limits=self.limits, bubblewrap=self.bubblewrap)
        if run.passed:
            return Verdict(passed=True, score=1.0)
        passed = sum(outcome.passed for outcome in run.outcomes)
        first = next(outcome for outcome in run.outcomes if not outcome.passed)
        # An outcome's error says what came out, not what was expected, which the team must not learn.
        reason = f"{passed} of {len(tests)} tests pass; the first that fails: {first.error}"
        return failed(reason, score=passed / len(tests))


def code_in(text: str, function: str) -> str:
    """The code of an answer that should define ``function``."""
    blocks = [block for block in _BLOCK.findall(text) if block.strip()]
    defining = [block for block in blocks if re.search(rf"^\s*(?:async\s+)?def\s+{re.escape(function)}\b", block, re.M)]
    return str((defining or blocks or [text])[-1])


def _task(exercise: Exercise, suite: str, difficulty: Difficulty) -> SuiteTask:
    shown = "\n".join(exercise.shown)
    return SuiteTask(
        id=f"{suite}-{exercise.name}",
        suite=suite,
        text=f"Write this Python function:\n\n{exercise.signature}\n\n{exercise.text}\n\nThese tests must pass, among "
        f"others:\n{shown}\n\nUse the standard library only. End with the whole function in one block that begins "
        "with ```python and ends with ```.",
        reference=exercise.code,
        data={"function": exercise.name, "tests": [*exercise.shown, *exercise.hidden], "difficulty": difficulty},
    )


CODE: Final = CodeSuite()
"""The suite with its usual limits."""
