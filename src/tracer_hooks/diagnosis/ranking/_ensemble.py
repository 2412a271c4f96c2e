"""The attributor ``ensemble``: members whose beliefs are pooled, with weights fitted to labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tracer_hooks._folds import grouped_folds
from tracer_hooks._guard import warn_once
from tracer_hooks._lazy import require
from tracer_hooks._reading import brief
from tracer_hooks.diagnosis._protocol import FitReport, Fittable, Scorer, StepScores, fitted_only
from tracer_hooks.diagnosis._registry import get_attributor
from tracer_hooks.diagnosis._weight_files import finite, read_saved, write_saved
from tracer_hooks.diagnosis.ranking._answers import Ranking, attribution_by, has_content
from tracer_hooks.diagnosis.ranking._fit import hits, question_of
from tracer_hooks.diagnosis.ranking._pooling import Logits, fit_shares, normalised, pool
from tracer_hooks.diagnosis.ranking._view import View
from tracer_hooks.errors import AttributionError, TracerHooksError, install_line
from tracer_hooks.schema import Attribution, ErrorMode, Evidence, LabeledTrajectory, Trajectory, Usage

_MODELS = "tracer_hooks_models"
_PREFILL_MODEL = "TRACER_HOOKS_PREFILL_MODEL"


def installed_members() -> dict[str, Scorer]:
    """``structural``; with tracer-hooks-models ``encoder``, and ``prefill`` where a language model for it is set."""
    names = ["structural"]
    if not without_encoder():
        names.append("encoder")
    if os.environ.get(_PREFILL_MODEL) and find_spec(_MODELS) is not None:
        names.append("prefill")
    return {name: member for name in names if (member := _made(name)) is not None}


def say_what_is_missing() -> None:
    """Say once in the log that an ensemble has no encoder; when it has something to judge, and not when it is made."""
    if missing := without_encoder():
        warn_once("ensemble without encoder", "the attributor 'ensemble' runs without 'encoder': %s", missing)


def without_encoder() -> str:
    """Why the encoder cannot be a member, and what to install; empty where it can."""
    if find_spec(_MODELS) is None:
        return f"tracer-hooks-models is not installed. Run: {install_line('models')}"
    return ""


def _made(name: str) -> Scorer | None:
    try:
        member = get_attributor(name)
    except TracerHooksError:
        if name == "structural":
            raise
        return None  # `tracer-hooks doctor` says why; the others can do without it
    return member if isinstance(member, Scorer) else None


_FOLDS = 4
_FEWEST = 5


def fit_ensemble(
    members: Mapping[str, Scorer],
    labeled: Sequence[LabeledTrajectory],
    *,
    shipped: Callable[[Trajectory], StepScores | None],
    seed: int,
) -> tuple[dict[str, Scorer], dict[str, float], FitReport]:
    """The fitted members, their shares, and what the whole gained.

    Args:
        members: The methods by name; those that are not fittable stay as they are.
        labeled: Trajectories, some of them with a decisive step.
        shipped: How steps were scored before.
        seed: Of the folds.

    Raises:
        AttributionError: Fewer than five of them have a decisive step.
    """
    require("scipy", extra="fit", feature="fitting an attributor")
    usable = [one for one in labeled if one.decisive is not None and one.trajectory.steps]
    if len(usable) < _FEWEST:
        raise AttributionError(
            f"{len(usable)} of {len(labeled)} trajectories have a decisive step, expected at least {_FEWEST}. "
            "Label more of them (schema: LabeledTrajectory.decisive), or use the attributor as it is shipped"
        )
    beliefs = _out_of_fold(members, usable, seed)
    targets = [one.decisive.step for one in usable if one.decisive is not None]
    shares = fit_shares(beliefs, targets).tolist()
    fitted = {name: _fitted(member, usable, seed) for name, member in members.items()}
    before = [scores.steps if (scores := shipped(one.trajectory)) is not None else (0.0,) for one in usable]
    shipped_step, shipped_agent = hits(usable, [np.array(one) for one in before]).mean(axis=0)
    fitted_step, fitted_agent = hits(usable, [pool(one, shares) for one in beliefs]).mean(axis=0)
    report = FitReport(
        trajectories=len(usable),
        questions=len({question_of(one) for one in usable}),
        shipped_step=float(shipped_step),
        shipped_agent=float(shipped_agent),
        fitted_step=float(fitted_step),
        fitted_agent=float(fitted_agent),
        chosen=", ".join(f"{name} x {share:.2f}" for name, share in zip(members, shares, strict=True)),
    )
    return fitted, dict(zip(members, shares, strict=True)), report


def _out_of_fold(members: Mapping[str, Scorer], labeled: Sequence[LabeledTrajectory], seed: int) -> list[list[Logits]]:
    """For each trajectory the log-beliefs of each member, fitted without the trajectory's question."""
    groups = [question_of(one) for one in labeled]
    folds = grouped_folds(groups, min(_FOLDS, len(set(groups))), shuffle=np.random.default_rng(seed).shuffle)
    beliefs: list[list[Logits]] = [[] for _ in labeled]
    for member in members.values():
        for number in sorted(set(folds)):
            judge = _fitted(member, [one for one, own in zip(labeled, folds, strict=True) if own != number], seed)
            for place, own in enumerate(folds):
                if own == number:
                    beliefs[place].append(_belief(judge, labeled[place].trajectory))
    return beliefs


def _fitted(member: Scorer, labeled: Sequence[LabeledTrajectory], seed: int) -> Scorer:
    if not isinstance(member, Fittable):
        return member
    judge = fitted_only(member, labeled, seed=seed)
    return judge if isinstance(judge, Scorer) else member


def _belief(judge: Scorer, trajectory: Trajectory) -> Logits:
    scores = judge.score(trajectory)
    return normalised(np.zeros(len(trajectory.steps)) if scores is None else np.array(scores.steps))


VERSION = 1
_MOST_SHARES = 1e6
_TRUST = 0.5
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
    tells_findings = True

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
        """Diagnose one run; see :class:`~tracer_hooks.diagnosis.Attributor`."""
        signature = f"{self.name}/{VERSION}({'+'.join(sorted(self._members))})" + ("+fit" if self._is_fitted else "")

        def ranked(view: View) -> Ranking | None:
            scores = self.score(view.trajectory, reference=reference)
            if scores is None:
                return None
            # Nothing says how often such a pool is right.
            return Ranking(belief=[own * _TRUST for own in scores.belief()], scores=scores, modes=lambda: scores.modes)

        return attribution_by(ranked, trajectory, reference, attributor=signature)

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
        """Read what :meth:`save` wrote.

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
