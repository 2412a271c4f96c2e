"""Does a lesson help? Runs that were drawn to have it against runs that were drawn to go without."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement._evidence import PairedEvidence
from tracer_hooks.schema import Json

_MOST_SHARE = 0.95


class LessonDecision(StrEnum):
    """What the runs so far say about a lesson."""

    UNDECIDED = "undecided"
    """Nothing is shown; the trial goes on."""
    KEEP = "keep"
    """Runs with it pass more often."""
    RETIRE = "retire"
    """They do not, or it was not shown in time."""


@dataclass(frozen=True)
class LessonRule:
    """What it takes to keep a lesson, and to doubt it.

    Attributes:
        alpha: Probability, at most, that a trial keeps a lesson that does not help.
        alpha_futile: Probability, at most, of giving up a lesson that gains ``least_gain`` or more. What does harm is
            given up by this sooner than by proof of the harm.
        least_gain: A gain below this is not worth a lesson.
        least_runs: Nothing is decided before so many runs.
        most_runs: Runs of a trial; a lesson that is not shown to help by then is retired.
        control_share: Share of the runs that go without a lesson that is kept.
        window: So many of the last runs with a kept lesson, and those without it between them, are looked at.
        fallen: How many standard errors the last ``recent`` runs may lie below those of the trial.
        recent: So many runs show a fall.
        least_controls: Runs without the lesson that the window must hold, for it to say that there is no gain.
    """

    alpha: float = 0.05
    alpha_futile: float = 0.1
    least_gain: float = 0.1
    least_runs: int = 10
    most_runs: int = 400
    control_share: float = 0.1
    window: int = 300
    fallen: float = 2.0
    recent: int = 40
    least_controls: int = 20

    def __post_init__(self) -> None:
        for name in ("alpha", "alpha_futile", "least_gain", "control_share"):
            self._check(name, 0.0 < getattr(self, name) < 0.5, "a number between 0 and 0.5")
        self._check("fallen", self.fallen > 0.0, "a number above 0")
        for name in ("least_runs", "recent", "least_controls"):
            self._check(name, getattr(self, name) >= 1, "at least 1")
        self._check("most_runs", self.most_runs >= self.least_runs, f"at least least_runs, {self.least_runs!r}")
        self._check("window", self.window >= self.recent, f"at least recent, {self.recent!r}")

    def _check(self, name: str, is_right: bool, expected: str) -> None:
        if not is_right:
            raise ConfigError(f"{name} is {getattr(self, name)!r}; expected {expected}")


@dataclass
class _Arm:
    runs: int = 0
    passes: int = 0

    def add(self, *, passed: bool) -> None:
        self.runs += 1
        self.passes += passed

    @property
    def rate(self) -> float:
        return self.passes / self.runs if self.runs else 0.0

    @property
    def words(self) -> str:
        return f"{self.passes} of {self.runs}"


class LessonTrial:
    """Decides, run by run, whether a lesson that a coin gives to some runs makes them pass more often.

    Each run is a bet on the lesson. Where it passes more than the runs before it did (``passed`` minus their rate),
    that speaks for the lesson if it had it, and against it if it had not. The coin is fair, so without an effect nobody
    makes money on average, whatever the runs before were like and however the tasks change meanwhile: the evidence is a
    martingale of the draws alone (randomised experiments looked at at any time: Ham, Bojinov, Lindon and Tingley 2022,
    https://arxiv.org/abs/2210.08639). Bets and their limits are those of :class:`PairedEvidence`. With a share other
    than one half the rarer arm weighs more, so that the mean stays that of the effect.

    Feed the runs in the order of counting. A decision is final.

    Args:
        rule: What it takes.
        share: With which probability a run was drawn to have the lesson.
    """

    def __init__(self, rule: LessonRule | None = None, *, share: float = 0.5) -> None:
        if not 1 - _MOST_SHARE <= share <= _MOST_SHARE:
            raise ConfigError(f"share is {share!r}; expected a number from {1 - _MOST_SHARE:.2g} to {_MOST_SHARE}")
        self.rule = rule or LessonRule()
        rarer = min(share, 1 - share)
        self._stakes = {True: rarer / share, False: -rarer / (1 - share)}
        self._gain = PairedEvidence()
        self._too_little = PairedEvidence(null=-self.rule.least_gain * rarer)
        self._with, self._without = _Arm(), _Arm()
        self._decision, self._reason = LessonDecision.UNDECIDED, ""

    def add(self, *, given: bool, passed: bool) -> None:
        """Take one run into account: whether it had the lesson, and whether it passed."""
        runs, passes = self._with.runs + self._without.runs, self._with.passes + self._without.passes
        # What is expected comes from the runs before alone: it may be anything that does not know this run's coin.
        difference = self._stakes[given] * (float(passed) - (passes + 0.5) / (runs + 1))
        self._gain.add(difference)
        self._too_little.add(-difference)
        (self._with if given else self._without).add(passed=passed)
        if self._decision is LessonDecision.UNDECIDED and runs + 1 >= self.rule.least_runs:
            self._decide()

    @property
    def runs(self) -> int:
        """Runs so far."""
        return self._with.runs + self._without.runs

    @property
    def decision(self) -> LessonDecision:
        """What is decided."""
        return self._decision

    @property
    def reason(self) -> str:
        """Why, in one sentence, with the figures at that time; so far, where nothing is decided."""
        return self._reason or f"It is too early to say: {self._figures}."

    @property
    def evidence(self) -> dict[str, Json]:
        """All figures, for the record."""
        return {
            "runs": self.runs,
            "with_runs": self._with.runs,
            "with_passes": self._with.passes,
            "without_runs": self._without.runs,
            "without_passes": self._without.passes,
            "e_gain": self._gain.e_value,
            "e_too_little": self._too_little.e_value,
        }

    @property
    def _figures(self) -> str:
        return f"{self._with.words} runs passed with it, {self._without.words} without it"

    def _decide(self) -> None:
        rule = self.rule
        if self._gain.e_value >= 1 / rule.alpha:
            self._close(LessonDecision.KEEP, "Runs with it pass more often")
        elif self._too_little.e_value >= 1 / rule.alpha_futile:
            self._close(LessonDecision.RETIRE, f"A gain of {100 * rule.least_gain:.3g} points is ruled out")
        elif self.runs >= rule.most_runs:
            self._close(LessonDecision.RETIRE, f"It was not shown to help in {rule.most_runs} runs")

    def _close(self, decision: LessonDecision, why: str) -> None:
        self._decision, self._reason = decision, f"{why}: {self._figures}."


class LessonWatch:
    """Says when it is doubtful that a kept lesson still helps, so that it has to be tried again.

    Doubt costs a trial, not the lesson, so it comes early: when the last runs with the lesson pass clearly less often
    than in its trial, or when the last runs with it pass no more often than the control runs between them.

    Args:
        rule: What it takes.
        trial_runs: Runs of the trial that had the lesson.
        trial_passes: Those of them that passed.
    """

    def __init__(self, rule: LessonRule | None = None, *, trial_runs: int, trial_passes: int) -> None:
        if not 0 <= trial_passes <= trial_runs:
            raise ConfigError(
                f"trial_passes is {trial_passes!r} of {trial_runs!r}; expected a number from 0 to the runs"
            )
        self.rule = rule or LessonRule()
        self._trial = _Arm(trial_runs, trial_passes)
        self._last: deque[tuple[bool, bool]] = deque(maxlen=self.rule.window)
        self._reason = ""

    def add(self, *, given: bool, passed: bool) -> None:
        """Take one run into account: whether it had the lesson, and whether it passed."""
        self._last.append((given, passed))
        if not self._reason:
            self._reason = self._fall() or self._no_gain()

    @property
    def is_doubtful(self) -> bool:
        """Whether the lesson is to be tried again. Stays true once it is."""
        return bool(self._reason)

    @property
    def reason(self) -> str:
        """Why, in one sentence; empty while there is no doubt."""
        return self._reason

    def _fall(self) -> str:
        passed = [passed for given, passed in self._last if given][-self.rule.recent :]
        recent = _Arm(len(passed), sum(passed))
        if recent.runs < self.rule.recent or not self._trial.runs:
            return ""
        pooled = (recent.passes + self._trial.passes + 1) / (recent.runs + self._trial.runs + 2)
        error = math.sqrt(pooled * (1 - pooled) * (1 / recent.runs + 1 / self._trial.runs))
        if self._trial.rate - recent.rate < self.rule.fallen * error:
            return ""
        return f"Of the last runs with it {recent.words} passed, and {self._trial.words} did in its trial."

    def _no_gain(self) -> str:
        arms = {True: _Arm(), False: _Arm()}
        for given, passed in self._last:
            arms[given].add(passed=passed)
        is_enough = len(self._last) == self.rule.window and arms[False].runs >= self.rule.least_controls
        if not is_enough or arms[True].rate > arms[False].rate:
            return ""
        return f"Of the last runs {arms[True].words} passed with it, and {arms[False].words} without it."
