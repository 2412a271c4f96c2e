"""Those who are measured: attributors as they are, and fitted within folds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracer_hooks._folds import grouped_folds
from tracer_hooks.attribution import Attributor, Fittable
from tracer_hooks.errors import ConfigError
from tracer_hooks.evaluation._case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """One row of the tables."""

    name: str
    """As the caller named it."""
    attributor_for: Callable[[int], Attributor]
    """The attributor for the run at this position."""


def entrants_of(
    attributors: Mapping[str, Attributor], cases: Sequence[Case], folds: int | None, seed: int
) -> list[Entrant]:
    """Every attributor as it is and, with ``folds``, fitted to the other folds of the labelled cases.

    Raises:
        ConfigError: With ``folds``: an attributor cannot be fitted, or there are too few labelled questions.
    """
    found = [Entrant(name=name, attributor_for=_always(attributor)) for name, attributor in attributors.items()]
    if folds is None:
        return found
    if all(case.labeled is None for case in cases):
        raise ConfigError("cannot cross-validate on runs that are only graded, expected labelled ones")
    for name, attributor in attributors.items():
        if not isinstance(attributor, Fittable):
            raise ConfigError(
                f"attributor {name!r} cannot be fitted to labels, so it cannot be cross-validated. "
                "Run it without --cross-validate"
            )
        entrant = Entrant(
            name=f"{name}, fitted ({folds} folds)", attributor_for=_by_fold(attributor, cases, folds, seed)
        )
        found.append(entrant)
    return found


def _always(attributor: Attributor) -> Callable[[int], Attributor]:
    return lambda position: attributor


def _by_fold(fittable: Fittable, cases: Sequence[Case], folds: int, seed: int) -> Callable[[int], Attributor]:
    """Runs without a label are judged by the fold that their question falls into, like the labelled ones."""
    where = grouped_folds([case.question for case in cases], folds, seed=seed, strata=[case.group for case in cases])

    @functools.cache
    def fitted(fold: int) -> Attributor:
        labeled = [case.labeled for case, place in zip(cases, where, strict=True) if place != fold]
        attributor, _ = fittable.fit([one for one in labeled if one is not None], seed=seed)
        return attributor

    return lambda position: fitted(where[position])
