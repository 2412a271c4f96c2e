"""Beliefs that the search starts from: how often each kind of repair helped, and where the run went wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from tracer_hooks.schema import Attribution, Step, Trajectory

FROM_SCRATCH = "from_scratch"
"""Name of the plain retry: the same team, asked the same again."""
RESAMPLE = "resample"
"""Name of a retry that keeps the steps before one and says nothing new."""
UNTOLD = frozenset({FROM_SCRATCH, RESAMPLE})
"""The strategies that have no text, and thus no effect of their own."""

KEPT_BINS = 3
"""In how many equal parts the share of the run that is kept is counted; part 0 is a run from scratch."""
HOLDS_BINS = 5
"""In how many equal parts the belief in the kept steps is counted."""

_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class SearchAction:
    """One thing that a trial can do.

    Attributes:
        strategy: The strategy that writes the text, if any.
        step: The first live step; None from scratch.
        kept: The share of the recorded run's tokens that come from the tape.
        holds: How probable it is that no kept step is at fault; 1 from scratch.
        own: What writing the text costs, as a share of the run's tokens.
    """

    strategy: str
    step: int | None = None
    kept: float = 0.0
    holds: float = 1.0
    own: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Tell whether it is a plain retry."""
        return self.strategy == FROM_SCRATCH

    @property
    def cost(self) -> float:
        """Tokens that it takes, as a share of a run from scratch; never 0, since one step at least is live."""
        return max(0.01, 1.0 - self.kept + self.own)

    @property
    def bins(self) -> tuple[int, int]:
        """The parts of ``kept`` and ``holds`` that it is counted in."""
        if self.step is None:
            return 0, HOLDS_BINS - 1
        return 1 + _part(self.kept, KEPT_BINS), _part(self.holds, HOLDS_BINS)


def middle(kept: int, holds: int) -> tuple[float, float]:
    """The ``kept`` and ``holds`` that a pair of parts stands for."""
    if kept == 0:
        return 0.0, 1.0
    return (kept - 0.5) / KEPT_BINS, (holds + 0.5) / HOLDS_BINS


def kept_shares(run: Trajectory) -> list[float]:
    """The share of the run's tokens that come before each step."""
    tokens = _tokens(run.steps)
    total = sum(tokens)
    return [before / total for before in accumulate(tokens[:-1], initial=0.0)] if tokens else []


def _tokens(steps: Sequence[Step]) -> list[float]:
    """Tokens of each step: as reported where all are, else by the length of what was read and written."""
    reported = [step.usage for step in steps if step.usage is not None]
    if len(reported) == len(steps) and any(each.total for each in reported):
        return [float(each.total) for each in reported]
    return [max(1.0, _characters(step) / _CHARS_PER_TOKEN) for step in steps]


def _characters(step: Step) -> int:
    read = sum(len(each.text or "") for each in step.inputs)
    called = sum(len(str(call.arguments or "")) + len(call.result or "") for call in step.tool_calls)
    return read + len(step.content) + called


def _part(share: float, parts: int) -> int:
    return min(parts - 1, max(0, int(share * parts)))


OWN_TRIALS = 20
"""Trials from which an error mode is judged by its own trials alone."""

CountRow = tuple[str, int, int, str, int, int]
"""Strategy, part of the run that was kept (0 from scratch, else 1 to 3), part of the belief in the kept steps (0 to 4),
the diagnosed error mode (empty without one), trials, passes."""


class RepairKind(NamedTuple):
    """Kind of repair, whose trials are counted together: the first four parts of a :data:`CountRow`."""

    strategy: str
    kept: int
    holds: int
    error_mode: str


class EffectCounts:
    """Trials and passes of each kind of repair; it never changes.

    Args:
        rows: Plain rows, as :attr:`rows` gives them and a store keeps them; those of one kind are added up.

    Raises:
        ValueError: A row has another shape, a part that there is not, or more passes than trials.
    """

    def __init__(self, rows: Iterable[CountRow] = ()) -> None:
        self._counts: dict[RepairKind, tuple[int, int]] = {}
        for strategy, kept, holds, mode, trials, passes in rows:
            if not (0 <= kept <= KEPT_BINS and 0 <= holds < HOLDS_BINS and 0 <= passes <= trials):
                raise ValueError(f"{(strategy, kept, holds, mode, trials, passes)!r} is no count of repairs")
            kind = RepairKind(strategy, kept, holds, mode)
            had = self._counts.get(kind, (0, 0))
            self._counts[kind] = had[0] + trials, had[1] + passes

    @classmethod
    def of_trial(cls, action: SearchAction, error_mode: str, passed: bool) -> EffectCounts:
        """The count of one trial."""
        return cls([(action.strategy, *action.bins, error_mode, 1, int(passed))])

    @property
    def rows(self) -> tuple[CountRow, ...]:
        """The counts as plain rows, sorted."""
        return tuple((*kind, *count) for kind, count in sorted(self._counts.items()))

    @property
    def trials(self) -> int:
        """Number of trials that are counted."""
        return sum(trials for trials, _ in self._counts.values())

    def plus(self, other: EffectCounts) -> EffectCounts:
        """Both together."""
        return EffectCounts([*self.rows, *other.rows])

    def for_mode(self, error_mode: str) -> Mapping[RepairKind, tuple[int, int]]:
        """Trials and passes that speak for failures of this mode: its own where they are enough, else all."""
        own = {kind: count for kind, count in self._counts.items() if kind.error_mode == error_mode}
        enough = sum(trials for trials, _ in own.values()) >= OWN_TRIALS
        return own if enough and error_mode else dict(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EffectCounts) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(self.rows)

    def __repr__(self) -> str:
        return f"EffectCounts({list(self.rows)!r})"


TRUST = 0.5
"""How much of the suspicion is the attributor's; the rest is spread over all steps."""
HELD = 0.79
"""How often a run that resumes passes where no step before it was at fault (27 of 34 measured failures)."""
LOST = 0.25
"""How often it passes where one was (4 of 16)."""
_HELD_PRIOR, _LOST_PRIOR = (2.0, 1.0), (1.0, 3.0)
"""Beta distributions of the same two rates over teams: as many as a handful of runs would say."""


class StepBelief:
    """The belief over the decisive step: one probability a step, and what trials make of them."""

    def __init__(self, weights: Mapping[int, float]) -> None:
        self._shares = _normalised(weights)
        self._held: dict[int, float] | None = None

    @classmethod
    def of(cls, steps: Iterable[int], attribution: Attribution | None = None) -> StepBelief:
        """The belief before any trial: half the attributor's, half spread over all steps, so that none goes without."""
        return cls(_suspicion(sorted(set(steps)), attribution))

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that can be decisive, in order."""
        return tuple(self._shares)

    def probability(self, step: int) -> float:
        """Return how probable it is that ``step`` is the decisive one; 0 for a step that is not known."""
        return self._shares.get(step, 0.0)

    def holds(self, step: int) -> float:
        """Return the probability that the decisive step is ``step`` or a later one, and all before it may be kept."""
        if self._held is None:
            backwards = sorted(self._shares, reverse=True)
            sums = accumulate(self._shares[each] for each in backwards)
            self._held = dict(zip(backwards, sums, strict=True))
        if step in self._held:
            return min(1.0, self._held[step])
        later = [each for each in self._held if each > step]
        return min(1.0, self._held[min(later)]) if later else 0.0

    def most_likely(self) -> int | None:
        """The most suspected step, the earliest of equals; None where there is no step."""
        return max(self._shares, key=lambda step: self._shares[step], default=None)

    def learn(self, step: int, passed: bool, *, if_held: float = HELD, if_lost: float = LOST) -> None:
        """Take into account how a run ended that resumed at ``step``.

        Args:
            step: The first live step; those before it were as in the failed run.
            passed: Whether the run succeeded.
            if_held: How often it would, were no step before it at fault.
            if_lost: How often it would, were one of them.
        """
        held = if_held if passed else 1.0 - if_held
        lost = if_lost if passed else 1.0 - if_lost
        changed = {each: share * (held if each >= step else lost) for each, share in self._shares.items()}
        if sum(changed.values()) > 0.0:  # else it was held impossible, and says nothing about where
            self._shares, self._held = _normalised(changed), None

    def after(self, resumed: Mapping[int, tuple[int, int]]) -> StepBelief:
        """The belief after many runs of one team, whose rates are not known: they are integrated out."""
        logs = {}
        for each, share in self._shares.items():
            held, lost = (
                [sum(counts[part] for step, counts in resumed.items() if (step <= each) is is_held) for part in (0, 1)]
                for is_held in (True, False)
            )
            logs[each] = math.log(max(share, 1e-12)) + _marginal(held, _HELD_PRIOR) + _marginal(lost, _LOST_PRIOR)
        top = max(logs.values(), default=0.0)
        return StepBelief({each: math.exp(log - top) for each, log in logs.items()})


def _marginal(counts: Sequence[int], prior: tuple[float, float]) -> float:
    """Log-probability of so many runs and passes, in an order, under a rate that is drawn from a beta distribution."""
    (runs, passes), (a, b) = counts, prior
    return _log_beta(a + passes, b + runs - passes) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _suspicion(steps: list[int], attribution: Attribution | None) -> dict[int, float]:
    scores: dict[int, float] = dict.fromkeys(steps, 0.0)
    if attribution is not None:
        named = [(attribution.step, attribution.confidence)]
        named += [(candidate.step, candidate.score) for candidate in attribution.candidates]
        for step, score in named:
            if step in scores:
                scores[step] = max(scores[step], score)
    total = sum(scores.values())
    trust = TRUST if total > 0 else 0.0
    # Scores are probabilities: what they leave open may be any step. A diagnosis of 50 % is no certainty.
    scale, unsaid = (total, 0.0) if total > 1.0 else (1.0, 1.0 - total)
    return {
        step: trust * (score / scale + unsaid / len(steps)) + (1 - trust) / len(steps) for step, score in scores.items()
    }


def _normalised(weights: Mapping[int, float]) -> dict[int, float]:
    total = sum(weights.values())
    # Shares that sum to 1 but for rounding stay as they are: ties between steps are then decided as they were.
    scale = total if total > 0.0 and abs(total - 1.0) > 1e-9 else 1.0
    return {step: weights[step] / scale for step in sorted(weights)}


# Chosen by simulation alone (docs/studies/repair.md).
START = 0.7
"""Failures that may be left unsolved for trying other repairs, before anything is known of the team."""
SHARE = 0.004
"""How many more, for each trial of the team."""
DOUBT = 1.0
"""Standard deviations by which the rate of plain retries is held to be above what was seen."""

_PLAIN_PASSES, _PLAIN_FAILURES = 0.8, 1.2
"""What is held of plain retries before the first one: two trials, 40 % of them passed."""


def may_explore(counts: EffectCounts, *, tried: int, left: int) -> bool:
    """Tell whether something else than a plain retry may be tried (a conservative bandit, after Wu et al. 2016).

    Choosing by chance among several repairs nearly always finds one that could be better than a plain retry, also where
    none is. So it is counted what that has cost: the failures that plain retries would have solved in the same trials,
    less those that were. A trial that goes wrong while others are left costs less than the last one: of ``n`` trials
    that pass with probability ``p`` each, one that is given away costs ``p * (1 - p) ** (n - 1)`` of a solved failure.

    Args:
        counts: The team's trials.
        tried: Trials of this failure so far.
        left: Trials that there may still be, the next one included.
    """
    plain = [row for row in counts.rows if row[0] == FROM_SCRATCH]
    others = [row for row in counts.rows if row[0] != FROM_SCRATCH]
    known = _PLAIN_PASSES + _PLAIN_FAILURES + sum(row[4] for row in plain)
    mean = (_PLAIN_PASSES + sum(row[5] for row in plain)) / known
    # Where plain retries are hardly tried, they are not held for worse.
    rate = min(1.0, mean + DOUBT * math.sqrt(mean * (1.0 - mean) / (known + 1.0)))
    given, gained = sum(row[4] for row in others), sum(row[5] for row in others)
    trials, bounded = tried + left, max(rate, 1e-6)
    worth_of_a_pass = (1.0 - (1.0 - bounded) ** trials) / (trials * bounded)
    lost = worth_of_a_pass * (rate * given - gained)
    risk = rate * (1.0 - rate) ** (left - 1)
    return lost + risk <= START + SHARE * counts.trials
