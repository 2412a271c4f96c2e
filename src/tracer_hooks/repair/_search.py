"""Search for a repair that recovers a failed run: what each kind is worth, and the choice of the next trial."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._guard import warn_once
from tracer_hooks.repair._belief import (
    FROM_SCRATCH,
    RESAMPLE,
    UNTOLD,
    EffectCounts,
    RepairKind,
    SearchAction,
    StepBelief,
    kept_shares,
    may_explore,
    middle,
)
from tracer_hooks.repair._failure import Failure, RepairStrategy
from tracer_hooks.repair._repair import PastTrial, Repair, RepairScope
from tracer_hooks.repair._strategies import leave_out, proposal
from tracer_hooks.schema import RunOutcome, Usage, blames_environment

Floats = NDArray[np.float64]

_ITERATIONS = 25
_CLOSE = 1e-6


class Prior(NamedTuple):
    """Prior belief in an effect, before anything was counted: normal, in log-odds."""

    mean: float
    width: float


# Effects in log-odds against a plain retry, from natural failures of two teams, one retry each. Word sums (1.5B), 50
# failures: plain 62 %, resumed at the blamed step 79 % where the blame was right and 25 % where it was wrong, rewritten
# instructions 48 %; 197 others: plain 36 %, resumed 5 points better where the blame was right, 23 worse where it was
# wrong. Code, 35 failures (0.5B): plain 6 %, the check's reason in the task 20 %, a model's lesson none; 58 to 101
# others (1.5B): the reason in the task as good as plain, in the message of the blamed agent 3 points better. The widths
# say how little two teams tell of a third; docs/studies/repair.md shows what they cost.
BASE = Prior(math.log(0.4 / 0.6), 1.5)
"""A plain retry, on a team that nothing is known of."""
GAIN = Prior(1.1, 0.8)
"""All of the run kept, and rightly: 36 % kept gave +0.8 on 34 failures, and +0.2 on 75."""
HARM = Prior(1.6, 0.6)
"""The error kept: from 62 % to 25 %, and about as much again."""
TEXTS: Mapping[str, Prior] = {
    "feedback_in_task": Prior(0.3, 0.8),
    "feedback_in_message": Prior(0.3, 0.8),
    "guidance": Prior(-0.5, 0.8),
    "instructions": Prior(-0.6, 0.6),
}
OTHER_TEXT = Prior(0.0, 0.8)
"""A strategy that nothing was measured of."""

_FIXED = (BASE, GAIN, HARM)


class Effects:
    """Effects of repairs: a Bayesian logistic regression on the counts, and draws from what is left open.

    The log-odds that an action succeeds are those of a plain retry, plus the effect of what is said, plus what is
    gained and lost by keeping steps: ``base + text + kept * holds * gain - (1 - holds) * harm``. A plain retry has the
    base alone. The posterior is taken as normal around its mode (Laplace), and one draw of all effects judges all
    actions of a choice (Thompson sampling): what is not known well is tried as often as it may be best.

    Args:
        counts: Trials and passes of each kind.
        strategies: The strategies that will be judged.
    """

    def __init__(self, counts: Mapping[RepairKind, tuple[int, int]], strategies: Iterable[str]) -> None:
        told = {*strategies, *(kind.strategy for kind in counts)} - UNTOLD
        self._place = {name: len(_FIXED) + number for number, name in enumerate(sorted(told))}
        priors = [*_FIXED, *(TEXTS.get(name, OTHER_TEXT) for name in self._place)]
        self._prior_mean = np.array([prior.mean for prior in priors])
        self._precision = np.array([prior.width**-2 for prior in priors])
        rows = [(kind.strategy, *middle(kind.kept, kind.holds)) for kind in counts]
        trials = np.array([count[0] for count in counts.values()], dtype=np.float64)
        passes = np.array([count[1] for count in counts.values()], dtype=np.float64)
        self._mode, self._root = self._fit(self._table(rows), trials, passes)

    def draw(self, random: np.random.Generator) -> Floats:
        """Effects that may be the true ones, as often as they are believed to be."""
        return self._mode + np.linalg.solve(self._root.T, random.standard_normal(len(self._mode)))

    @property
    def best_guess(self) -> Floats:
        """The most probable effects."""
        return self._mode

    def success(self, actions: Sequence[SearchAction], effects: Floats) -> Floats:
        """Return the probability that each action succeeds, were these the effects."""
        table = self._table([(action.strategy, action.kept, action.holds) for action in actions])
        return _logistic(table @ effects)

    def sureness(self, actions: Sequence[SearchAction]) -> Floats:
        """By how many standard deviations each action is believed to be better than a plain retry; 0 for that one."""
        table = self._table([(action.strategy, action.kept, action.holds) for action in actions])
        table[:, 0] = 0.0  # the base is common to both
        spread = np.linalg.norm(np.linalg.solve(self._root, table.T), axis=0)
        return np.asarray((table @ self._mode) / np.maximum(spread, 1e-9), dtype=np.float64)

    def _table(self, rows: Sequence[tuple[str, float, float]]) -> Floats:
        table = np.zeros((len(rows), len(self._prior_mean)))
        if rows:
            kept, holds = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
            table[:, 0], table[:, 1], table[:, 2] = 1.0, kept * holds, holds - 1.0
        for number, (strategy, _, _) in enumerate(rows):
            if strategy in self._place:
                table[number, self._place[strategy]] = 1.0
        return table

    def _fit(self, table: Floats, trials: Floats, passes: Floats) -> tuple[Floats, Floats]:
        """The most probable effects, and the Cholesky root of the posterior's precision (Newton's method)."""
        effects, root = self._prior_mean.copy(), np.diag(np.sqrt(self._precision))
        for _ in range(_ITERATIONS):
            rate = _logistic(table @ effects)
            slope = table.T @ (passes - trials * rate) - self._precision * (effects - self._prior_mean)
            curve = (table.T * (trials * rate * (1.0 - rate))) @ table + np.diag(self._precision)
            root = np.linalg.cholesky(curve)
            move = np.linalg.solve(curve, slope)
            effects = effects + move / max(1.0, float(np.abs(move).max()) / 2.0)  # far steps may overshoot
            if float(np.abs(move).max()) < _CLOSE:
                break
        return effects, root


def _logistic(log_odds: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -30.0, 30.0))), dtype=np.float64)


OWN_COSTS: Mapping[str, float] = {"guidance": 0.9}
"""Tokens that writing the text takes, as a share of the run's: a model that reads the run nearly doubles the price."""
SURE = 1.645
"""Standard deviations by which a repair must be better than a plain retry to need no allowance: 95 % of belief."""
HOPE = -1.28
"""Standard deviations by which a repair may look worse than a plain retry and still be hoped for: 10 % of belief."""
TOLD_HERE = 3
"""As how many trials a text counts that did not help this very run: to say it again from another step on is nearly the
same once more, while asking again without a word is a new draw."""


class RepairSearch:
    """Chooses the trials of one failed run: what is said to whom, and from which step the run is live.

    A plain retry is always among the choices, and is taken wherever nothing promises more. What is known of the kinds
    of repair comes from ``counts`` and, before there are any, from priors that were measured; where the run went wrong,
    from the diagnosis and from the trials so far. Not safe for several threads.

    Args:
        failure: The failed run. Trials that it names are taken into account, and not counted again.
        strategies: The ways of repairing; without ``from_scratch`` a plain retry is added, and of two with one name the
            first counts.
        counts: What is known of this team's repairs.
        seed: The same seed, failure, counts and trials give the same choices.
        own_costs: Tokens that a strategy takes to write its text, as a share of the failed run's; default
            :data:`OWN_COSTS`, and 0 for all others.
        explore: Whether choices are drawn by how probably they are best. False takes the best guess every time, which
            learns nothing of what looks worse than it is.
    """

    def __init__(
        self,
        failure: Failure,
        strategies: Sequence[RepairStrategy],
        counts: EffectCounts,
        *,
        seed: int,
        own_costs: Mapping[str, float] | None = None,
        explore: bool = True,
    ) -> None:
        self.failure = replace(failure, tried=())
        """The failed run, with all trials so far."""
        self.belief = StepBelief.of(range(len(failure.trajectory.steps)), failure.attribution)
        """Belief in where the run went wrong, by the diagnosis and the trials so far."""
        self.gained = EffectCounts()
        """Counts that were learned here, to be added to the team's."""
        self.unused = Usage()
        """Tokens of proposals that were written, and then not used."""
        self._strategies = {strategy.name: strategy for strategy in reversed(strategies)}
        self._names = tuple(dict.fromkeys(strategy.name for strategy in strategies))
        self._counts = counts
        self._doubts = EffectCounts()
        self._random = np.random.default_rng(seed)
        self._own_costs = OWN_COSTS if own_costs is None else own_costs
        self._explore = explore
        self._kept = kept_shares(failure.trajectory)
        self._mode = "" if failure.error_mode is None else failure.error_mode.value
        self._is_environment = blames_environment(failure.attribution)
        self._effects = self._fitted()
        for trial in failure.tried:
            self._take(trial)

    def choose(self, *, trials_left: int, by_cost: bool) -> Repair:
        """The next trial; a plain retry at least, and never an error.

        Args:
            trials_left: How many trials there may still be, this one included.
            by_cost: Whether the budget is in tokens, seconds or money: then, while there are trials left, what counts
                is success by the token.
        """
        every = self._actions()
        actions = self._allowed(every, trials_left)
        expected = self._effects.success(actions, self._effects.best_guess)
        value = self._values(actions, by_cost and trials_left > 1)
        fresh = self._fresh(actions)
        # Ties go to the first, which is the plain retry.
        for place in sorted(range(len(actions)), key=lambda each: (not fresh[each], -value[each], each)):
            repair = self._repair_for(actions[place])
            if repair is None:
                continue
            if self._is_environment:
                why = "the run failed on something outside the team, so the same is asked again"
            elif actions[place].is_plain:
                why = _plain_reason(float(expected[0]), is_alone=len(every) == 1, is_bound=len(actions) == 1)
            else:
                why = _reason(actions[place], float(expected[place]), float(expected[0]))
            return repair.model_copy(update={"reason": f"{why}; {repair.reason}" if repair.reason else why})
        raise AssertionError("a plain retry is always offered")

    def learn(self, trial: PastTrial) -> None:
        """Take a trial into account, whether or not it was chosen here."""
        self.gained = self.gained.plus(self._take(trial))

    def _actions(self) -> list[SearchAction]:
        """Actions that are possible, the plain retry first."""
        plain = SearchAction(FROM_SCRATCH)
        if self._is_environment:
            return [plain]
        told = [name for name in self._names if name not in UNTOLD]
        actions = [plain, *(self._action(name, None) for name in told)]
        resumable = [name for name in self._names if name != FROM_SCRATCH]
        return actions + [self._action(name, step) for step in self._resumable for name in resumable]

    def _allowed(self, actions: list[SearchAction], left: int) -> list[SearchAction]:
        """Those that may be tried: all, until trying other repairs than the plain one has cost too much."""
        if may_explore(self._counts, tried=len(self.failure.tried), left=left):
            return actions
        sure = self._effects.sureness(actions)
        return [action for action, known in zip(actions, sure, strict=True) if action.is_plain or known >= SURE]

    def _fresh(self, actions: list[SearchAction]) -> list[bool]:
        """Tell which are of a kind that this failure has not seen and that may help: they come before a second try.

        What failed on this run once is likely to fail again, whatever it is worth for others. Once every strategy was
        tried, those that address an agent may address another one.
        """
        tried = [trial.repair for trial in self.failure.tried]
        sure = self._effects.sureness(actions)
        if not tried or sure.max() >= SURE:  # nothing has failed yet, or it is known what helps this team
            return [False] * len(actions)
        seen = {FROM_SCRATCH, *(repair.strategy for repair in tried)}
        new = [action.strategy not in seen and known >= HOPE for action, known in zip(actions, sure, strict=True)]
        if any(new):
            return new
        told = {(repair.strategy, repair.agent) for repair in tried if repair.agent is not None}
        addressing = {strategy for strategy, _ in told}
        return [
            action.strategy in addressing and (action.strategy, self.failure.agent_at(action.step)) not in told
            for action in actions
        ]

    @property
    def _resumable(self) -> list[int]:
        """The steps that something may be kept before."""
        if self.failure.step is None and not any(
            trial.passed and trial.repair.resume_from for trial in self.failure.tried
        ):
            return []  # nothing says which steps are free of the error
        return [step for step in self.failure.steps if 0 < step < len(self._kept)]

    def _action(self, strategy: str, step: int | None) -> SearchAction:
        own = self._own_costs.get(strategy, 0.0)
        if step is None or not 0 < step < len(self._kept):
            return SearchAction(strategy, own=own)
        return SearchAction(strategy, step, kept=self._kept[step], holds=self.belief.holds(step), own=own)

    def _values(self, actions: Sequence[SearchAction], by_cost: bool) -> Floats:
        guess = self._effects.best_guess
        value = self._effects.success(actions, self._effects.draw(self._random) if self._explore else guess)
        return value / np.array([action.cost for action in actions]) if by_cost else value

    def _repair_for(self, action: SearchAction) -> Repair | None:
        """The repair for an action; None where there is none, or where the same was tried before."""
        if action.strategy in UNTOLD:
            return Repair(strategy=action.strategy, resume_from=action.step)
        strategy = self._strategies[action.strategy]
        try:
            repair = proposal(strategy, self.failure, action.step)
        except Exception as error:
            warn_once(
                f"repair strategy {action.strategy} raises",
                "repair strategy %r raised %s: %s. It is left out where it raises; this is said once",
                action.strategy,
                type(error).__name__,
                error,
            )
            return None
        if repair is None:
            return None
        if repair.resume_from != action.step:
            leave_out(strategy, f"proposed to resume at {repair.resume_from}, and was asked for {action.step}")
            return None
        if repair.scope is not RepairScope.ATTEMPT:
            leave_out(strategy, "proposed a change that outlives the trial")
            return None
        if any(_says_the_same(repair, trial.repair) for trial in self.failure.tried):
            self.unused += repair.usage
            return None
        return repair

    def _take(self, trial: PastTrial) -> EffectCounts:
        """Return the trial's count, once belief and effects know of it; none where it says nothing."""
        self.failure = replace(self.failure, tried=(*self.failure.tried, trial))
        if trial.outcome is RunOutcome.UNKNOWN:
            return EffectCounts()
        action = self._action(trial.repair.strategy, trial.repair.resume_from)
        if action.step is not None:
            cases = [replace(action, holds=1.0), replace(action, holds=0.0)]
            held, lost = self._effects.success(cases, self._effects.best_guess)
            if held > lost:  # else keeping an error would help, and nothing follows
                self.belief.learn(action.step, trial.passed, if_held=float(held), if_lost=float(lost))
        count = EffectCounts.of_trial(action, self._mode, trial.passed)
        self._counts = self._counts.plus(count)
        if not trial.passed and action.strategy not in UNTOLD:
            for _ in range(TOLD_HERE - 1):
                self._doubts = self._doubts.plus(count)
        self._effects = self._fitted()
        return count

    def _fitted(self) -> Effects:
        return Effects(self._counts.plus(self._doubts).for_mode(self._mode), self._names)


def _says_the_same(repair: Repair, other: Repair) -> bool:
    """Tell whether two repairs say the same to the same agent at the same step."""
    said = (repair.target, repair.agent, repair.text, repair.resume_from)
    return bool(repair.text) and said == (other.target, other.agent, other.text, other.resume_from)


def _plain_reason(success: float, *, is_alone: bool, is_bound: bool) -> str:
    if is_alone:
        return "the whole run is tried again, since nothing else can be tried"
    if is_bound:
        return "the whole run is tried again: trying other repairs of this team has cost enough already"
    return f"the whole run is tried again, which is expected to succeed with {_percent(success)}"


def _reason(action: SearchAction, success: float, plain: float) -> str:
    """Why an action is chosen whose success, and that of a plain retry, is so probable."""
    parts = []
    if action.step is not None:
        kept = "step 0 is" if action.step == 1 else f"the steps before {action.step} are"
        they_are = "it is" if action.step == 1 else "they are"
        parts.append(f"{kept} kept: with {_percent(action.holds)} {they_are} not at fault")
    if action.strategy != RESAMPLE:
        is_better = success > plain
        why = "promises more than a plain retry" if is_better else "is tried since it may well be better than it looks"
        parts.append(f"{action.strategy!r} {why}: {_percent(success)} expected, {_percent(plain)} for a plain retry")
    return "; ".join(parts)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
