"""Do accepted prompts still pass as often as they did when they were accepted?"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from tracer_hooks.errors import ConfigError

WINDOW = 30
"""So many of the last runs are compared with all runs before them. The rule that finds a fall within a given number of
runs most often looks at just that number (Guépié, Fillatre and Nikiforov 2012)."""
LEAST_RUNS = 8
"""Fewer runs than these say nothing: failures come in bursts."""
ONLY_NEW_FELL = 10.0
"""How much better the control runs must fit "only the new prompts fell" than "the tasks became harder"."""
ALL_FELL = 20.0
"""How much better they must fit the opposite, for the watch to expect less from then on."""
CONTROLS_END = 90
"""Without a control run in so many runs there are no control runs any more, and none is waited for."""


@dataclass(frozen=True)
class _Runs:
    count: int = 0
    score: float = 0.0

    def plus(self, score: float) -> _Runs:
        return _Runs(self.count + 1, self.score + score)

    @property
    def rate(self) -> float:
        """The rate, drawn a little towards a half, as of a Beta(1/2, 1/2) belief."""
        return (self.score + 0.5) / (self.count + 1)


class PromptWatch:
    """Watches the runs with accepted prompts, and says when they pass less often than they did.

    The last 30 runs are compared with all runs before them, those of the trial included. How often would so few of them
    pass if nothing had changed? The rate before is itself known from few runs only, so it is a belief (a beta
    distribution), not a number: after a short trial, which may have been lucky, more must fail than after a long one.
    The prompts are worse when that probability is below ``alarm``, the last runs also passed less often than runs with
    the old prompts did, so that going back is a gain, and control runs, where there are any, did not fall alike.

    Scores from 0 to 1 are taken as shares of a pass. They vary less than passes do, so that is cautious.

    Args:
        new_runs: Runs of the trial with the new prompts.
        new_passes: How many of them passed, or the sum of their scores.
        old_runs: Runs of the trial with the old prompts.
        old_passes: How many of these passed, or the sum of their scores.
        alarm: How improbable the last runs must be. 0.0004 rolls back one good version in fifty per 300 runs; a
            larger value sees a fall sooner, and rolls back good versions more often.
    """

    def __init__(
        self, *, new_runs: int, new_passes: float, old_runs: int, old_passes: float, alarm: float = 0.0004
    ) -> None:
        for name, runs, passes in (("new", new_runs, new_passes), ("old", old_runs, old_passes)):
            if runs < 0 or not 0.0 <= passes <= runs:
                raise ConfigError(f"{name}_passes is {passes!r} of {runs!r} runs; expected a number from 0 to the runs")
        if not 0.0 < alarm < 1.0:
            raise ConfigError(f"alarm is {alarm!r}; expected a number between 0 and 1")
        self._alarm = alarm
        self._new, self._old = _Runs(new_runs, float(new_passes)), _Runs(old_runs, float(old_passes))
        self._last: deque[tuple[float, bool]] = deque()
        self._since_control = CONTROLS_END
        self._waits = False
        self._reason = ""

    def add(self, passed_or_score: float, *, is_new: bool) -> None:
        """Take one run into account.

        Args:
            passed_or_score: True or False, or a score from 0 to 1.
            is_new: Whether it was run with the accepted prompts; else it was a control run with the old ones.

        Raises:
            ConfigError: The score is not a number from 0 to 1; nothing is counted then.
        """
        if not 0.0 <= passed_or_score <= 1.0:  # also false for nan
            raise ConfigError(f"A run's score is {passed_or_score!r}; expected True, False or a number from 0 to 1")
        self._last.append((float(passed_or_score), is_new))
        self._since_control = self._since_control + 1 if is_new else 0
        if not self._waits:
            self._slide()
        if not self._reason:
            self._judge()

    @property
    def is_worse(self) -> bool:
        """Whether the prompts are to be rolled back. Stays true once it is."""
        return bool(self._reason)

    @property
    def reason(self) -> str:
        """Why, in one sentence, with the figures at that time; empty while the prompts are not worse."""
        return self._reason

    def _slide(self) -> None:
        """Move the oldest of the last runs to the runs before."""
        while self._recent(is_new=True).count > WINDOW:
            score, is_new = self._last.popleft()
            if is_new:
                self._new = self._new.plus(score)
            else:
                self._old = self._old.plus(score)

    def _recent(self, *, is_new: bool) -> _Runs:
        scores = [score for score, new in self._last if new is is_new]
        return _Runs(len(scores), sum(scores))

    def _judge(self) -> None:
        recent, control = self._recent(is_new=True), self._recent(is_new=False)
        old = _Runs(self._old.count + control.count, self._old.score + control.score)
        chance = self._chance(recent, old)
        self._waits = False
        if chance > self._alarm:
            return
        if self._since_control < CONTROLS_END:
            ratio = self._only_new_fell(recent, control)
            if ratio < -math.log(ALL_FELL):
                # Tasks became harder: from here on, what is seen now is what is expected.
                self._new, self._old = recent, control
                self._last.clear()
                return
            if ratio < math.log(ONLY_NEW_FELL):
                # What is seen stays apart from the runs before until more control runs have decided.
                self._waits = True
                return
        self._reason = self._sentence(recent, old, chance)

    def _chance(self, recent: _Runs, old: _Runs) -> float:
        """The probability of so few passes; 1 where they are not fewer than before, or than with the old prompts."""
        if recent.count < LEAST_RUNS or recent.score / recent.count >= self._new.rate:
            return 1.0
        if old.count and recent.score / recent.count >= old.score / old.count:
            return 1.0
        return _probability_of_at_most(recent, self._new)

    def _only_new_fell(self, recent: _Runs, control: _Runs) -> float:
        """By how much, as a log likelihood ratio, the control runs look like those before, and not as if all fell."""
        shift = _log_odds(recent.rate) - _log_odds(self._new.rate)
        before = self._old.rate
        harder = 1 / (1 + math.exp(-(_log_odds(before) + shift)))
        failed = control.count - control.score
        return control.score * math.log(before / harder) + failed * math.log((1 - before) / (1 - harder))

    def _sentence(self, recent: _Runs, old: _Runs, chance: float) -> str:
        before = "there were no runs before"
        if self._new.count:
            before = f"{100 * self._new.score / self._new.count:.0f} % of the {self._new.count} runs before did"
        others = f"; the old prompts passed {100 * old.score / old.count:.0f} % of {old.count}" if old.count else ""
        odds = f"1 time in {1 / chance:,.0f}" if chance > 1e-6 else "less than 1 time in a million"
        return (
            f"Of the last {recent.count} runs with these prompts {recent.score:.3g} passed, where {before}: "
            f"by chance alone that few pass {odds}{others}."
        )


def _probability_of_at_most(recent: _Runs, before: _Runs) -> float:
    """The probability that so few of so many runs pass, given the runs before (beta-binomial, Jeffreys prior)."""
    a, b = before.score + 0.5, before.count - before.score + 0.5
    below = math.floor(recent.score)
    total = math.fsum(_probability_of(passes, recent.count, a, b) for passes in range(below + 1))
    if recent.score == below:
        return total
    # Between two whole numbers of passes, so far along as the score is.
    return total + (recent.score - below) * _probability_of(below + 1, recent.count, a, b)


def _probability_of(passes: int, runs: int, a: float, b: float) -> float:
    failed = runs - passes
    ways = math.lgamma(runs + 1) - math.lgamma(passes + 1) - math.lgamma(failed + 1)
    beta = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(ways + beta + math.lgamma(a + passes) + math.lgamma(b + failed) - math.lgamma(a + b + runs))


def _log_odds(rate: float) -> float:
    return math.log(rate / (1 - rate))
