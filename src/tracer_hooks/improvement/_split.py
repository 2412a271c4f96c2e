"""Which tasks propose new prompts, which accept them, and which are never used before the end."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tracer_hooks.errors import ConfigError
from tracer_hooks.tasks import SuiteTask

FEWEST_TASKS = 16
"""Below it no part is large enough to say anything."""
_SHARES = (0.4, 0.35)
"""Of all tasks, those that propose and those that accept; the rest is never used."""


@dataclass(frozen=True)
class Split:
    """Tasks in parts that have none in common.

    Attributes:
        propose: Their failures are shown to who writes prompts, and candidates are compared on them.
        accept: New prompts are tried on them against the old ones.
        unused: Run once at the end, for the success before and after.
    """

    propose: tuple[SuiteTask, ...]
    accept: tuple[SuiteTask, ...]
    unused: tuple[SuiteTask, ...]

    @classmethod
    def of(cls, tasks: Sequence[SuiteTask], *, seed: int = 0) -> Split:
        """Deal the tasks out; those with the same text come into the same part.

        Args:
            tasks: At least :data:`FEWEST_TASKS` different ones.
            seed: Of the shuffle; it does not depend on the order of ``tasks``.

        Raises:
            ConfigError: There are too few different tasks; the message says how many are needed.
        """
        by_text: dict[str, list[SuiteTask]] = {}
        for task in sorted(tasks, key=lambda one: (one.suite, one.id)):
            by_text.setdefault(" ".join(task.text.split()).casefold(), []).append(task)
        if len(by_text) < FEWEST_TASKS:
            raise ConfigError(
                f"{len(by_text)} different tasks are too few to propose prompts on some, accept them on others and "
                f"leave some unused; expected at least {FEWEST_TASKS}, better 60 or more. Add "
                f"{FEWEST_TASKS - len(by_text)} to the file"
            )
        groups = list(by_text.values())
        random.Random(seed).shuffle(groups)
        first = round(_SHARES[0] * len(groups))
        second = first + round(_SHARES[1] * len(groups))
        parts = groups[:first], groups[first:second], groups[second:]
        return cls(*(tuple(task for group in part for task in group) for part in parts))

    @property
    def parts(self) -> tuple[tuple[SuiteTask, ...], ...]:
        """All parts."""
        return self.propose, self.accept, self.unused

    def halves(self) -> tuple[tuple[SuiteTask, ...], tuple[SuiteTask, ...]]:
        """The proposing tasks in two: whose failures are read, and on which candidates are compared."""
        middle = (len(self.propose) + 1) // 2
        return self.propose[:middle], self.propose[middle:]
