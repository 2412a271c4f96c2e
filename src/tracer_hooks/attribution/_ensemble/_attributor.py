"""Several methods as one attributor."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tracer_hooks._reading import brief
from tracer_hooks.attribution._abstaining import INCOMPLETE, Refusal, suspicion
from tracer_hooks.attribution._answering import Answer, abstention, attribution_of, has_content
from tracer_hooks.attribution._ensemble._fit import fit_ensemble
from tracer_hooks.attribution._ensemble._members import installed_members, say_what_is_missing
from tracer_hooks.attribution._features import View
from tracer_hooks.attribution._fitting import FitReport, Fittable
from tracer_hooks.attribution._pooling import normalised, pool
from tracer_hooks.attribution._registry import get_attributor
from tracer_hooks.attribution._saved import read_saved, write_saved
from tracer_hooks.attribution._scores import Scorer, StepScores
from tracer_hooks.attribution._weight_files import finite
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import Attribution, ErrorMode, Evidence, LabeledTrajectory, Trajectory, Usage

VERSION = 1
_MOST_SHARES = 1e6
_SHIPPED_SHARES = {"structural": 0.8, "encoder": 0.1, "prefill": 0.1, "contrast": 0.7}
"""Shares before any label is seen, set by hand: what encoder and prefill know of single steps hardly transfers to a
team never seen. Contrast has its word only where passing runs of the team are at hand, and then it has seen more."""


class EnsembleAttributor:
    """Stacks the methods that are installed: a weighted mean of their log-beliefs over the steps.

    Args:
        members: The methods by name; those that are installed by default. One line in the log says when the encoder is
            not among them.
        shares: The weight of each method; shipped ones by default.
    """

    name = "ensemble"

    def __init__(
        self, members: Mapping[str, Scorer] | None = None, *, shares: Mapping[str, float] | None = None
    ) -> None:
        self._is_default = members is None
        self._members = dict(members) if members is not None else installed_members()
        self._shares = dict(shares) if shares is not None else dict(_SHIPPED_SHARES)
        self._is_fitted = shares is not None

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the methods that have a say."""
        return tuple(self._members)

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose one run; see :class:`~tracer_hooks.attribution.Attributor`."""
        began = time.perf_counter()
        answer = self._judge(trajectory, reference)
        return answer.model_copy(update={"elapsed_s": time.perf_counter() - began})

    def score(self, trajectory: Trajectory, *, reference: str | None = None) -> StepScores | None:
        """Pooled log-beliefs; None when no member has anything to say."""
        if not has_content(trajectory):
            return None
        if self._is_default:
            say_what_is_missing()
        spoken = {
            name: scores
            for name, member in self._members.items()
            if (scores := member.score(trajectory, reference=reference)) is not None
        }
        return _pooled(spoken, self._shares) if spoken else None

    def fit(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> tuple[EnsembleAttributor, FitReport]:
        """Fit every member that can be fitted, and the shares to their out-of-fold beliefs.

        Raises:
            AttributionError: Fewer than five of them have a decisive step.
            MissingExtraError: scikit-learn or scipy is not installed.
        """
        members, shares, report = fit_ensemble(self._members, labeled, shipped=self.score, seed=seed)
        return EnsembleAttributor(members, shares=shares), report

    def with_member(self, name: str, member: Scorer) -> EnsembleAttributor:
        """The same with one method more, under its shipped share."""
        shares = {**self._shares, name: _SHIPPED_SHARES.get(name, 0.5)}
        more = EnsembleAttributor({**self._members, name: member}, shares=shares)
        more._is_fitted = self._is_fitted
        return more

    def save(self, directory: Path) -> None:
        """Write the shares, and each member that can be fitted to a folder of its own name."""
        kept = {name: member for name, member in self._members.items() if isinstance(member, Fittable)}
        for name, member in kept.items():
            member.save(directory / name)
        shares = {name: round(self._shares.get(name, 0.0), 5) for name in kept}
        write_saved(directory, name=self.name, version=VERSION, model={"shares": shares})

    @classmethod
    def load(cls, directory: Path) -> EnsembleAttributor:
        """What :meth:`save` wrote.

        Raises:
            AttributionError: The directory holds something else, or a newer version.
            MissingExtraError: A member needs a package that is not installed.
        """
        shares = read_saved(directory, name=cls.name, version=VERSION, make=partial(_shares_of, directory))
        members: dict[str, Scorer] = {}
        for name in shares:
            member = get_attributor(directory / name)
            if not isinstance(member, Scorer):
                raise AttributionError(f"{str(directory / name)!r} holds {member.name!r}, which cannot be a member")
            members[name] = member
        return cls(members, shares=shares)

    def _judge(self, trajectory: Trajectory, reference: str | None) -> Attribution:
        signature = f"{self.name}/{VERSION}({'+'.join(sorted(self._members))})" + ("+fit" if self._is_fitted else "")
        scores = self.score(trajectory, reference=reference)
        if scores is None:
            return abstention(trajectory, Refusal(INCOMPLETE), attributor=signature)
        view = View(trajectory, reference)
        belief = scores.belief()
        suspected = suspicion(view.trace, view.signals, view)
        if suspected.refused is not None:
            return abstention(trajectory, suspected.refused, attributor=signature, belief=belief)
        answer = Answer(belief=belief, scores=scores, signals=view.signals, symptoms=suspected.evidence)
        return attribution_of(view.trace, answer, attributor=signature)


def _shares_of(directory: Path, model: Mapping[str, Any]) -> dict[str, float]:
    shares = {name: finite(share) for name, share in model["shares"].items()}
    if not shares or any(share < 0 for share in shares.values()) or sum(shares.values()) > _MOST_SHARES:
        raise ValueError("'shares' must hold a number from 0 for each member")
    for name in shares:
        # A name with a way in it, or a link, would read another folder than the one that was asked for, or this one
        # again without end.
        if (directory / name).resolve().parent != directory.resolve():
            raise ValueError(f"the member {brief(repr(name), 80)} is no folder in it")
    return shares


def _pooled(spoken: Mapping[str, StepScores], shares: Mapping[str, float]) -> StepScores:
    """One set of scores from those of several methods; the shares of the silent go to the others."""
    weights = [shares.get(name, 0.0) for name in spoken]
    total, given = sum(shares.values()), sum(weights)
    scale = total / given if given else 1.0 / len(weights)
    logits = pool(
        [normalised(np.array(one.steps)) for one in spoken.values()], [(weight or 0.0) * scale for weight in weights]
    )
    impossible = np.all([np.isneginf(one.steps) for one in spoken.values()], axis=0)
    agents: dict[str, float] = {}
    modes: dict[tuple[str, ErrorMode], float] = {}
    evidence: list[Evidence] = []
    for one in spoken.values():
        for agent, odds in one.agents.items():
            agents[agent] = agents.get(agent, 0.0) + odds
        for pair, odds in one.modes.items():
            modes[pair] = modes.get(pair, 0.0) + odds
        evidence += one.evidence
    usages = [one.usage for one in spoken.values() if one.usage is not None]
    return StepScores(
        steps=tuple(float("-inf") if out else float(one) for one, out in zip(logits, impossible, strict=True)),
        agents=agents,
        modes=modes,
        evidence=tuple(evidence),
        usage=sum(usages, Usage()) if usages else None,
    )
