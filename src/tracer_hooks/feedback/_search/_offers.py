"""The repairs that the strategies really have for a failed run."""

from __future__ import annotations

from collections.abc import Iterable

from tracer_hooks._guard import warn_once
from tracer_hooks.feedback._search._features import FROM_SCRATCH, RESAMPLE, SearchAction
from tracer_hooks.repairs import Failure, Repair, RepairScope, RepairStrategy, RepairTarget
from tracer_hooks.schema import Usage


class Offers:
    """Asks strategies for repairs; one that raises, or breaks the rules, has none.

    Args:
        strategies: The strategies; of two with one name the first counts.
    """

    def __init__(self, strategies: Iterable[RepairStrategy]) -> None:
        self._strategies: dict[str, RepairStrategy] = {}
        for strategy in strategies:
            self._strategies.setdefault(strategy.name, strategy)
        self.unused = Usage()
        """Tokens of texts that were written and not used."""

    def of(self, action: SearchAction, failure: Failure) -> Repair | None:
        """The repair for an action; None where there is none, or where the same was tried before."""
        if action.strategy in (FROM_SCRATCH, RESAMPLE):
            return Repair(strategy=action.strategy, resume_from=action.step)
        repair = self._proposed(action, failure)
        if repair is None:
            return None
        if any(_is_same(repair, trial.repair) for trial in failure.tried):
            self.unused += repair.usage
            return None
        return repair

    def _proposed(self, action: SearchAction, failure: Failure) -> Repair | None:
        name = action.strategy
        try:
            repair = self._strategies[name].propose(failure, action.step)
        except Exception as error:
            warn_once(
                f"repair strategy {name} raises",
                "repair strategy %r raised %s: %s. It is left out where it raises; this is said once",
                name,
                type(error).__name__,
                error,
            )
            return None
        if repair is None:
            return None
        broken = _broken_rule(repair, action.step)
        if broken is not None:
            warn_once(
                f"repair strategy {name} {broken}",
                "repair strategy %r %s. That proposal is left out; this is said once",
                name,
                broken,
            )
            return None
        return repair.model_copy(update={"strategy": name})


def _broken_rule(repair: object, step: int | None) -> str | None:
    """Name the rule that a proposal breaks; None when it breaks none."""
    if not isinstance(repair, Repair):
        return f"returned {type(repair).__name__}, expected a Repair or None"
    if repair.resume_from != step:
        return f"proposed to resume at {repair.resume_from}, and was asked for {step}"
    if repair.target is RepairTarget.REPLY:
        return "proposed what an agent says: such a run is not the team's own work"
    if repair.scope is not RepairScope.ATTEMPT:
        return "proposed a change that outlives the trial"
    return None


def _is_same(one: Repair, other: Repair) -> bool:
    """Tell whether two repairs say the same to the same agent at the same step."""
    said = (one.target, one.agent, one.text, one.resume_from)
    return bool(one.text) and said == (other.target, other.agent, other.text, other.resume_from)
