"""Acceptance of new prompts: paired evidence, and a test that may be looked at after every task."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from tracer_hooks._text import counted
from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import Json

_BETS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
"""Shares of the stake that are bet on each pair. All are played side by side, and the winnings are averaged."""
_LARGEST_LOG = 700.0
"""Evidence is reported up to e^700: more is not a float."""
_HALVINGS = 30
"""Steps of the search for an end of an interval: the error is below 1e-8."""


class PairedEvidence:
    """Evidence that the mean of paired differences is above a value, which holds however often one looks.

    A player who starts with 1 bets on each difference that it is above ``null``. While the mean is not, the player ever
    has ``1 / alpha`` with probability ``alpha`` at most (Ville 1939). What the player has is the e-value (Waudby-Smith
    and Ramdas, "Estimating means of bounded random variables by betting", 2024). Fixed bets are played side by side and
    averaged: nothing is tuned, and the order of the pairs does not matter. Where tasks differ in their true means, the
    evidence is about the mean over the pairs so far.

    Args:
        null: The mean that is to be exceeded, above -1 and below 1.
    """

    def __init__(self, *, null: float = 0.0) -> None:
        if not -1.0 < null < 1.0:
            raise ConfigError(f"null is {null!r}; expected a number above -1 and below 1")
        self.null = float(null)
        self._logs = [-math.log(len(_BETS))] * len(_BETS)
        self._counts: Counter[float] = Counter()

    def add(self, difference: float) -> None:
        """Take one pair into account: the score with the new prompts minus the score with the old ones.

        Raises:
            ConfigError: The difference is not a number from -1 to 1; nothing is counted then.
        """
        if not -1.0 <= difference <= 1.0:  # also false for nan
            raise ConfigError(f"The difference of a pair is {difference!r}; expected a number from -1 to 1")
        difference = float(difference)
        win = _win(difference, self.null)
        self._logs = [log + math.log1p(bet * win) for log, bet in zip(self._logs, _BETS, strict=True)]
        self._counts[difference] += 1

    @property
    def pairs(self) -> int:
        """Pairs so far."""
        return self._counts.total()

    @property
    def mean(self) -> float:
        """Mean difference; 0 without pairs."""
        return math.fsum(value * count for value, count in self._counts.items()) / max(1, self.pairs)

    @property
    def e_value(self) -> float:
        """The evidence so far: 1 is none, 20 is what a test at 5 % asks for."""
        return math.exp(min(_log_sum(self._logs), _LARGEST_LOG))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval of the mean that holds at all times at once, with probability ``level``.

        It is made of the means against which the evidence is not strong enough, from either side.
        """
        if not 0.0 < level < 1.0:
            raise ConfigError(f"level is {level!r}; expected a number between 0 and 1")
        wanted = math.log(2 / (1 - level))
        low = _lower_end(self._counts, wanted)
        high = -_lower_end(Counter({-value: count for value, count in self._counts.items()}), wanted)
        return low, high


def _win(difference: float, null: float) -> float:
    """Gain of a stake of 1: -1 at the worst, and 0 on average where the mean is ``null``."""
    return max((difference - null) / (1 + null), -1.0)


def _lower_end(counts: Counter[float], wanted: float) -> float:
    """The smallest mean that is not refuted from above; the evidence against a mean falls as the mean grows."""
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        wins = [(_win(value, middle), count) for value, count in counts.items()]
        logs = [sum(count * math.log1p(bet * win) for win, count in wins) for bet in _BETS]
        if _log_sum(logs) - math.log(len(_BETS)) >= wanted:
            low = middle
        else:
            high = middle
    return low


def _log_sum(logs: list[float]) -> float:
    """The logarithm of a sum, from the logarithms of what is added."""
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs))


_LEVEL = 0.95
"""Level of the intervals in the record."""


class Decision(StrEnum):
    """Decisions on new prompts after the pairs so far."""

    UNDECIDED = "undecided"
    """Nothing is shown: the version stays on trial, and more pairs may be run now or another day."""
    ACCEPT = "accept"
    """A gain is shown, and no loss on tasks that passed before."""
    REJECT = "reject"
    """A loss is shown, or that there is no gain worth more runs."""


@dataclass(frozen=True)
class AcceptanceRule:
    """Conditions on which new prompts are accepted, or given up.

    Attributes:
        alpha: Probability, at most, of accepting prompts that are no better than the old ones.
        alpha_harm: Probability, at most, of rejecting prompts as harmful that do no harm; on all tasks, and once more
            on formerly passed ones.
        alpha_futile: Probability, at most, of giving up prompts that gain ``least_gain`` or more.
        least_gain: A gain below this is not worth more runs.
        tolerance: A loss on formerly passed tasks that must be ruled out before prompts are accepted.
        alpha_tolerance: Probability, at most, of ruling it out where it is there.
        observed_loss: How much formerly passed tasks may have lost in the mean of the pairs that were run.
        least_pairs: No prompts are accepted before so many pairs.
        most_pairs: How many pairs a trial may cost. More may be allowed later, and the trial goes on.
        needs_passed: Whether formerly passed tasks must be among the pairs before prompts are accepted. False for a
            team that never passed a task.
    """

    alpha: float = 0.05
    alpha_harm: float = 0.05
    alpha_futile: float = 0.1
    least_gain: float = 0.05
    tolerance: float = 0.15
    alpha_tolerance: float = 0.2
    observed_loss: float = 0.02
    least_pairs: int = 10
    most_pairs: int = 200
    needs_passed: bool = True

    def __post_init__(self) -> None:
        for name in ("alpha", "alpha_harm", "alpha_futile", "alpha_tolerance"):
            # Below a half, since an interval is made of two such risks.
            self._check(name, 0.0 < getattr(self, name) < 0.5, "a number between 0 and 0.5")
        for name in ("least_gain", "tolerance"):
            self._check(name, 0.0 < getattr(self, name) < 1.0, "a number between 0 and 1")
        self._check("observed_loss", 0.0 <= self.observed_loss < 1.0, "a number from 0 to below 1")
        self._check("least_pairs", self.least_pairs >= 1, "at least 1")
        self._check("most_pairs", self.most_pairs >= self.least_pairs, f"at least least_pairs, {self.least_pairs!r}")

    def _check(self, name: str, is_right: bool, expected: str) -> None:
        if not is_right:
            raise ConfigError(f"{name} is {getattr(self, name)!r}; expected {expected}")


class AcceptanceTest:
    """Decides, pair by pair, between new prompts and old ones.

    A pair is a task that was run with the new prompts and with the old ones. Pairs come from two groups, best in turns:
    new tasks, which did not propose the prompts, and formerly passed ones. Both arms of a pair are run anew: tasks that
    had passed do so less often the next time, whatever the prompts, and in a pair that hits both arms alike.

    *Accepted* when the evidence of a gain over all pairs reaches ``1 / alpha``, and on formerly passed tasks a loss of
    ``tolerance`` is ruled out and the mean loss is at most ``observed_loss``. Every pair counts the same: a gain on
    some tasks that is paid for on others is none. *Rejected* when a loss is shown, over all pairs or on formerly passed
    tasks, or that the gain is below ``least_gain``. Else *undecided*, also when ``most_pairs`` have been run: then
    ``is_spent`` is true, and the version stays on trial. Its pairs may be fed to a new test with a larger
    ``most_pairs``, and more after them: the evidence holds however often one looks.

    Feed the pairs in the order in which they were planned, not in which they ended: runs that fail may be quicker, and
    an order that is chosen afterwards is no evidence.

    A decision is final. Pairs that were still running then are counted in ``evidence``, and change nothing.

    Args:
        rule: What it takes.
    """

    def __init__(self, rule: AcceptanceRule | None = None) -> None:
        self.rule = rule or AcceptanceRule()
        self._gain, self._harm = PairedEvidence(), PairedEvidence()
        self._too_little = PairedEvidence(null=-self.rule.least_gain)
        self._passed_gain, self._passed_harm = PairedEvidence(), PairedEvidence()
        self._passed_kept = PairedEvidence(null=-self.rule.tolerance)
        self._decision, self._reason, self._decided_after = Decision.UNDECIDED, "", 0

    def add(self, new: float, old: float, *, formerly_passed: bool) -> None:
        """Take one pair into account.

        Args:
            new: Score with the new prompts, 0 to 1; 1 or 0 for passed or failed.
            old: Score with the old ones on the same task.
            formerly_passed: Whether the task was chosen because it had passed with the old prompts before.

        Raises:
            ConfigError: A score is not a number from 0 to 1; nothing is counted then.
        """
        for name, score in (("new", new), ("old", old)):
            if not 0.0 <= score <= 1.0:  # also false for nan
                raise ConfigError(f"The score {name} is {score!r}; expected a number from 0 to 1")
        difference = float(new) - float(old)
        self._gain.add(difference)
        self._harm.add(-difference)
        self._too_little.add(-difference)
        if formerly_passed:
            self._passed_gain.add(difference)
            self._passed_harm.add(-difference)
            self._passed_kept.add(difference)
        if self._decision is Decision.UNDECIDED:
            self._decide()

    @property
    def decision(self) -> Decision:
        """Decision after the pairs so far."""
        return self._decision

    @property
    def pairs(self) -> int:
        """Pairs so far."""
        return self._gain.pairs

    @property
    def is_spent(self) -> bool:
        """Tell whether no more pairs are to be run: it is decided, or ``most_pairs`` have been run."""
        return self._decision is not Decision.UNDECIDED or self._gain.pairs >= self.rule.most_pairs

    @property
    def reason(self) -> str:
        """Reason in one sentence, with the figures at the time of the decision."""
        return self._reason or self._undecided()

    @property
    def evidence(self) -> dict[str, Json]:
        """All figures, for the record: of all pairs, those after the decision too."""
        low, high = self._gain.interval(_LEVEL)
        passed_low, passed_high = self._passed_gain.interval(_LEVEL)
        return {
            "decision": self._decision.value,
            "decided_after": self._decided_after,
            "pairs": self._gain.pairs,
            "mean": self._gain.mean,
            "level": _LEVEL,
            "interval": [low, high],
            "e_gain": self._gain.e_value,
            "e_harm": self._harm.e_value,
            "e_too_little": self._too_little.e_value,
            "passed_pairs": self._passed_gain.pairs,
            "passed_mean": self._passed_gain.mean,
            "passed_interval": [passed_low, passed_high],
            "passed_e_harm": self._passed_harm.e_value,
            "passed_e_kept": self._passed_kept.e_value,
        }

    def _decide(self) -> None:
        rule, harm = self.rule, 1 - 2 * self.rule.alpha_harm
        if self._harm.e_value >= 1 / rule.alpha_harm:
            self._close(Decision.REJECT, f"The new prompts do harm: {_change(self._gain, harm)}.")
        elif self._passed_harm.e_value >= 1 / rule.alpha_harm:
            lost = f"{_change(self._passed_gain, harm)} of such tasks"
            self._close(Decision.REJECT, f"The new prompts harm tasks that passed before: {lost}.")
        elif self._too_little.e_value >= 1 / rule.alpha_futile:
            worth = f"a gain of {_points(rule.least_gain)} points is ruled out"
            figures = _change(self._gain, 1 - 2 * rule.alpha_futile)
            self._close(Decision.REJECT, f"The new prompts gain too little: {worth}, with {figures}.")
        elif self._is_gain() and not self._missing():
            kept = f"{_change(self._passed_gain, 1 - 2 * rule.alpha_tolerance)} of tasks that passed before"
            if self._passed_gain.pairs == 0:
                kept = "no task that passed before was among them"
            better = _change(self._gain, 1 - 2 * rule.alpha)
            self._close(Decision.ACCEPT, f"The new prompts are better: {better}; {kept}.")

    def _close(self, decision: Decision, reason: str) -> None:
        self._decision, self._reason, self._decided_after = decision, reason, self._gain.pairs

    def _is_gain(self) -> bool:
        return self._gain.e_value >= 1 / self.rule.alpha and self._gain.pairs >= self.rule.least_pairs

    def _missing(self) -> str:
        """Say what formerly passed tasks still have to show before prompts are accepted; empty if nothing."""
        kept, rule = self._passed_kept, self.rule
        if rule.needs_passed and not kept.pairs:
            return "no task that passed before has been run yet"
        if kept.pairs and kept.mean < -rule.observed_loss:
            return f"tasks that passed before lost {_points(-kept.mean)} points in {counted(kept.pairs, 'pair')}"
        if kept.pairs and kept.e_value < 1 / rule.alpha_tolerance:
            return f"a loss of {_points(rule.tolerance)} points on tasks that passed before is not ruled out yet"
        return ""

    def _undecided(self) -> str:
        if not self._gain.pairs:
            return "No task has been run with both prompts yet."
        figures = _change(self._gain, 1 - 2 * self.rule.alpha)
        if self._is_gain():
            return f"There is a gain, but {self._missing()}: {figures}."
        is_short = self._gain.e_value >= 1 / self.rule.alpha
        why = f"at least {self.rule.least_pairs} pairs are needed" if is_short else "that is not yet enough evidence"
        return f"It is too early to say: {figures}, and {why}."


def _change(evidence: PairedEvidence, level: float) -> str:
    """The mean with the interval of which one end is what a test at ``(1 - level) / 2`` refutes."""
    low, high = evidence.interval(level)
    return (
        f"{100 * evidence.mean:+.1f} points in {counted(evidence.pairs, 'pair')} "
        f"({100 * level:.3g} % interval {100 * low:+.1f} to {100 * high:+.1f})"
    )


def _points(share: float) -> str:
    return f"{100 * share:.3g}"
