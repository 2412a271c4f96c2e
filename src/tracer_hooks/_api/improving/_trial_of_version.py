"""The trial of new prompts: pairs of runs on tasks that did not propose them, until it is decided."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tracer_hooks.improvement import AcceptanceRule, AcceptanceTest, Decision, JudgedRun, Trials
from tracer_hooks.tasks import SuiteTask

Pair = tuple[JudgedRun, JudgedRun]
"""A task with the new prompts and with the old ones."""


@dataclass
class TrialOfVersion:
    """Runs pairs and feeds them to the acceptance test.

    New tasks and formerly passed ones come in turns. When all tasks have been run they are run anew, in another order,
    as long as more pairs may be run: it is then the mean over these tasks that is tested.

    Attributes:
        trials: Runs the team.
        new: The new instructions.
        old: Those before.
        rule: When it is decided.
        batch: Pairs that are run at once; the test looks at one after the other.
        seed: Of the order.
        on_pair: Told of each pair, and whether its task was formerly passed.
        is_open: Asked before each batch whether there is still something to decide.
        test: What the pairs say so far.
        pairs: All pairs so far, each with whether its task was formerly passed.
    """

    trials: Trials
    new: Mapping[str, str]
    old: Mapping[str, str]
    rule: AcceptanceRule
    batch: int = 4
    seed: int = 0
    on_pair: Callable[[Pair, bool], None] = lambda pair, formerly_passed: None
    is_open: Callable[[], bool] = lambda: True
    test: AcceptanceTest = field(init=False)
    pairs: list[tuple[Pair, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.test = AcceptanceTest(self.rule)

    def decide(self, accept: Sequence[SuiteTask], passed: Sequence[SuiteTask]) -> Decision:
        """Run pairs until the test has decided, or may not go on.

        Args:
            accept: Tasks that did not propose the prompts.
            passed: Tasks that passed before.

        Raises:
            BudgetSpentError: What it may cost is spent; the pairs so far are in :attr:`pairs`.
        """
        test = self.test
        turns = _in_turns(_rounds(accept, self.seed), _rounds(passed, self.seed + 1), bool(passed))
        while not test.is_spent and self.is_open():
            size = min(max(1, self.batch), self.rule.most_pairs - test.pairs)
            chosen = [next(turns) for _ in range(size)]
            tasks = [task for task, _ in chosen]
            pairs = zip(self.trials.run(tasks, self.new), self.trials.run(tasks, self.old), strict=True)
            for pair, (_, formerly_passed) in zip(pairs, chosen, strict=True):
                test.add(pair[0].score, pair[1].score, formerly_passed=formerly_passed)
                self.pairs.append((pair, formerly_passed))
                self.on_pair(pair, formerly_passed)
        return test.decision


def _rounds(tasks: Sequence[SuiteTask], seed: int) -> Iterator[SuiteTask]:
    """The tasks, shuffled, again and again."""
    chance = random.Random(seed)
    while tasks:
        yield from chance.sample(list(tasks), len(tasks))


def _in_turns(
    accept: Iterator[SuiteTask], passed: Iterator[SuiteTask], has_passed: bool
) -> Iterator[tuple[SuiteTask, bool]]:
    """Two new tasks and one formerly passed one, and so on."""
    while True:
        yield next(accept), False
        yield next(accept), False
        if has_passed:
            yield next(passed), True
