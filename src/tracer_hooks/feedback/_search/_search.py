"""The choice of the next repair of a failed run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracer_hooks.diagnosis import blames_environment
from tracer_hooks.feedback._search._allowance import SURE, Allowance
from tracer_hooks.feedback._search._counts import EffectCounts
from tracer_hooks.feedback._search._effects import Effects, Floats
from tracer_hooks.feedback._search._features import FROM_SCRATCH, RESAMPLE, UNTOLD, SearchAction, kept_shares
from tracer_hooks.feedback._search._offers import Offers
from tracer_hooks.feedback._search._reasons import reason_for
from tracer_hooks.repairs import Failure, PastTrial, Repair, RepairStrategy
from tracer_hooks.replay import StepBelief
from tracer_hooks.schema import RunOutcome, Usage

OWN_COSTS: Mapping[str, float] = {"guidance": 0.9}
"""Tokens that writing the text takes, as a share of the run's: a model that reads the run nearly doubles the price."""


HOPE = -1.28
"""Standard deviations by which a repair may look worse than a plain retry and still be hoped for: 10 % of belief."""
TOLD_HERE = 3
"""As how many trials a text counts that did not help this very run: to say it again from another step on is nearly the
same once more, while asking again without a word is a new draw."""


@dataclass(frozen=True, slots=True)
class Scored:
    """An action, with what is expected of it."""

    action: SearchAction
    success: float
    """How probable its success is, by all that is known."""
    plain: float
    """The same of a plain retry."""


class RepairSearch:
    """Chooses the trials of one failed run: what is said to whom, and from which step the run is live.

    A plain retry is always among the choices, and is taken wherever nothing promises more. What is known of the kinds
    of repair comes from ``counts`` and, before there are any, from priors that were measured; where the run went wrong,
    from the diagnosis and from the trials so far. Not safe for several threads.

    Args:
        failure: The failed run. Trials that it names are taken into account, and not counted again.
        strategies: The ways of repairing; without ``from_scratch`` a plain retry is added.
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
        self._failure = replace(failure, tried=())
        self._names = tuple(dict.fromkeys(strategy.name for strategy in strategies))
        self._offers = Offers(strategies)
        self._counts = counts
        self._gained = EffectCounts()
        self._doubts = EffectCounts()
        self._random = np.random.default_rng(seed)
        self._own_costs = OWN_COSTS if own_costs is None else own_costs
        self._explore = explore
        self._kept = kept_shares(failure.trajectory)
        self._belief = StepBelief.of(range(len(failure.trajectory.steps)), failure.attribution)
        self._effects = self._fitted()
        self._chosen: SearchAction | None = None
        for trial in failure.tried:
            self._take(trial)

    @property
    def failure(self) -> Failure:
        """The failed run, with all trials so far."""
        return self._failure

    @property
    def belief(self) -> StepBelief:
        """Belief in where the run went wrong, by the diagnosis and the trials so far."""
        return self._belief

    @property
    def gained(self) -> EffectCounts:
        """Counts that were learned here, to be added to the team's."""
        return self._gained

    @property
    def unused(self) -> Usage:
        """Tokens of proposals that were written, and then not used."""
        return self._offers.unused

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
            action = actions[place]
            repair = self._offers.of(action, self._failure)
            if repair is not None:
                self._chosen = action
                scored = Scored(action, float(expected[place]), float(expected[0]))
                return self._explained(repair, scored, others=len(every) - 1, allowed=len(actions) - 1)
        raise AssertionError("a plain retry is always offered")

    def learn(self, trial: PastTrial) -> None:
        """Take a trial into account, whether or not it was chosen here."""
        action = self._take(trial)
        if action is not None:
            self._gained = self._gained.plus(self._count(action, trial))

    def _actions(self) -> list[SearchAction]:
        """Actions that are possible, the plain retry first."""
        plain = SearchAction(FROM_SCRATCH)
        if self._is_environment:
            return [plain]
        told = [name for name in self._names if name not in (FROM_SCRATCH, RESAMPLE)]
        actions = [plain, *(self._action(name, None) for name in told)]
        resumable = [name for name in self._names if name != FROM_SCRATCH]
        return actions + [self._action(name, step) for step in self._resumable for name in resumable]

    def _allowed(self, actions: list[SearchAction], left: int) -> list[SearchAction]:
        """Those that may be tried: all, until trying other repairs than the plain one has cost too much."""
        if Allowance(self._counts, tried=len(self._failure.tried), left=left).is_left:
            return actions
        sure = self._effects.sureness(actions)
        return [action for action, known in zip(actions, sure, strict=True) if action.is_plain or known >= SURE]

    def _fresh(self, actions: list[SearchAction]) -> list[bool]:
        """Tell which are of a kind that this failure has not seen and that may help: they come before a second try.

        What failed on this run once is likely to fail again, whatever it is worth for others. Once every strategy was
        tried, those that address an agent may address another one.
        """
        tried = [trial.repair for trial in self._failure.tried]
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
            action.strategy in addressing and (action.strategy, self._agent_of(action)) not in told
            for action in actions
        ]

    def _agent_of(self, action: SearchAction) -> str | None:
        """Agent that a text of this action is for, if it is for one."""
        return self._failure.agent if action.step is None else self._failure.agent_at(action.step)

    @property
    def _is_environment(self) -> bool:
        return blames_environment(self._failure.attribution)

    @property
    def _resumable(self) -> list[int]:
        """The steps that something may be kept before."""
        if self._failure.step is None and not any(
            trial.passed and trial.repair.resume_from for trial in self._failure.tried
        ):
            return []  # nothing says which steps are free of the error
        return [step for step in self._failure.steps if 0 < step < len(self._kept)]

    def _action(self, strategy: str, step: int | None) -> SearchAction:
        own = self._own_costs.get(strategy, 0.0)
        if step is None or not 0 < step < len(self._kept):
            return SearchAction(strategy, own=own)
        return SearchAction(strategy, step, kept=self._kept[step], holds=self._belief.holds(step), own=own)

    def _values(self, actions: Sequence[SearchAction], by_cost: bool) -> Floats:
        guess = self._effects.best_guess
        value = self._effects.success(actions, self._effects.draw(self._random) if self._explore else guess)
        return value / np.array([action.cost for action in actions]) if by_cost else value

    def _take(self, trial: PastTrial) -> SearchAction | None:
        """Return the trial's action, once belief and effects know of it; None where it says nothing."""
        self._failure = replace(self._failure, tried=(*self._failure.tried, trial))
        if trial.outcome is RunOutcome.UNKNOWN:
            return None
        action = self._action(trial.repair.strategy, trial.repair.resume_from)
        if action.step is not None:
            self._believe(action, trial.passed)
        count = self._count(action, trial)
        self._counts = self._counts.plus(count)
        if not trial.passed and action.strategy not in UNTOLD:
            for _ in range(TOLD_HERE - 1):
                self._doubts = self._doubts.plus(count)
        self._effects = self._fitted()
        return action

    def _believe(self, action: SearchAction, passed: bool) -> None:
        """Change the belief by how a run ended that kept the steps before one."""
        assert action.step is not None
        cases = [replace(action, holds=1.0), replace(action, holds=0.0)]
        held, lost = self._effects.success(cases, self._effects.best_guess)
        if held > lost:  # else keeping an error would help, and nothing follows
            self._belief.learn(action.step, passed, if_held=float(held), if_lost=float(lost))

    def _count(self, action: SearchAction, trial: PastTrial) -> EffectCounts:
        return EffectCounts.of_trial(action, self._mode, trial.passed)

    @property
    def _mode(self) -> str:
        found = self._failure.error_mode
        return "" if found is None else found.value

    def _fitted(self) -> Effects:
        return Effects(self._counts.plus(self._doubts).for_mode(self._mode), self._names)

    def _explained(self, repair: Repair, scored: Scored, *, others: int, allowed: int) -> Repair:
        why = reason_for(
            scored.action,
            success=scored.success,
            plain=scored.plain,
            others=others,
            allowed=allowed,
            outside=self._is_environment,
        )
        return repair.model_copy(update={"reason": f"{why}; {repair.reason}" if repair.reason else why})
