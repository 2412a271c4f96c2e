"""Options and results of an audit as records, and the runs of a labelled set that can be audited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tracer_hooks.datasets import LabeledSet
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.extension import grouped_folds, question_groups, text_of
from tracer_hooks.schema import LabeledTrajectory, LabelSource, Record, Trajectory

Verdict = Literal["pass", "fail", "unclear"]


class Check(Record):
    """Something that understands nothing, and how well it finds the faults."""

    name: str
    """The check's name, for example ``position``."""
    source: str
    """Which labels: ``injected``, or ``natural`` for all others."""
    reads: str
    """What it is given."""
    measure: Literal["accuracy", "auc"]
    """``accuracy``: share of runs whose decisive step it names. ``auc``: share of pairs in which it scores the faulty
    step above its clean counterpart. Ties count by halves."""
    runs: int
    """Runs that were judged."""
    questions: int
    """Their questions."""
    value: float
    """The figure, each run judged by what was fitted to other questions."""
    low: float
    """Lower end of its 95 % bootstrap interval over questions."""
    high: float
    """Upper end."""
    uniform: float
    """The figure of a choice by lot: the mean of 1/n over runs of n eligible steps; 0.5 for an AUC. Eligible are those
    in ``verification["eligible_steps"]``, and without it all."""
    null: float
    """Mean figure when the labels are drawn anew by lot and the answers stay."""
    placement: float | None = None
    """The figure of the same reader on the clean counterparts, where there is no fault to see; None without pairs."""
    prior: float
    """What is to be expected without a leak: the largest of ``uniform``, ``null`` and ``placement``."""
    margin: float
    """How far above the prior the interval may reach with its lower end."""
    p_value: float
    """Share of the relabellings whose figure is at least as high."""
    verdict: Verdict
    """``fail``: the interval lies above prior plus margin. ``pass``: it reaches no higher. ``unclear``: it holds both,
    so there are too few runs to tell; that is no failure."""
    is_binding: bool = True
    """Whether a failure fails the audit; figures that only inform do not."""


class AuditFinding(Record):
    """Something that gives faults away, or may."""

    kind: Literal["classifier", "leak word", "forbidden word", "structure", "near-duplicate", "verification"]
    """What kind of leak."""
    severity: Literal["fail", "note"]
    """Whether it fails the audit."""
    name: str
    """The check, word or field."""
    message: str
    """What was found, in figures."""
    runs: tuple[str, ...] = ()
    """A few of the runs."""


class LeakWord(Record):
    """A word, or two in a row, that tells faulty steps from their clean counterparts."""

    words: str
    """The text; digits are masked as ``0``."""
    faulty: int
    """Faulty steps that hold it."""
    clean: int
    """Clean counterparts that hold it."""
    log_odds: float
    """Log odds ratio of holding it, smoothed by half a step; above 0 it speaks for the fault."""
    z: float
    """The same in standard errors."""


class NearDuplicate(Record):
    """Texts of different questions that are nearly the same."""

    kind: Literal["task", "faulty step"]
    """What is nearly the same."""
    size: int
    """Tasks: how many different texts; 1 for one text in several parts. Faulty steps: how many questions."""
    text: str
    """The beginning of one of them."""
    parts: tuple[str, ...] = ()
    """The parts of the split it stands in, when a split was given and it stands in more than one."""


class DatasetAudit(Record):
    """Audit of whether a labelled set can be trusted to need understanding."""

    passed: bool
    """Whether nothing failed."""
    seed: int
    """Of the folds, permutations and samples."""
    folds: int
    """Folds of whole questions."""
    runs: int
    """Runs with a decisive step among at least two, which is what can be audited."""
    questions: int
    """Their questions."""
    pairs: int
    """Those whose passing run has a step of the same agent at the same place."""
    checks: tuple[Check, ...]
    """The classifiers and the structural rules."""
    findings: tuple[AuditFinding, ...]
    """Failures first, then notes."""
    leak_words: tuple[LeakWord, ...]
    """The strongest on both sides, by z."""
    near_duplicates: tuple[NearDuplicate, ...]
    """The largest first."""
    notes: tuple[str, ...]
    """What was left out, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Limits of an audit. A check fails when its whole 95 % interval lies above its prior plus the margin.

    Raises:
        ConfigError: A limit is outside 0 to 1, or a number is too small.
    """

    place_margin: float = 0.10
    """For what sees only where the step stands or who speaks. Builders balance agents before steps, so agents with few
    steps are named a little more often than one in n; the margin is for that."""
    words_margin: float = 0.15
    """For the bag of words. A fault changes what is said, so some words of faults are no leak."""
    structure_margin: float = 0.15
    """For times, usage, models and ids."""
    pairwise_margin: float = 0.25
    """For telling a faulty step from its clean counterpart by a few words: above an AUC of 0.5."""
    few_words: int = 10
    """How many words the pairwise check may use."""
    marker_share: float = 0.2
    """A word that stands in at least this share of the faulty steps, ten times as often as in the clean ones, fails."""
    forbidden: tuple[str, ...] = ("inject", "attack", "fault", "corrupt", "adversarial", "sabotage")
    """Beginnings of words that give the experiment away."""
    similarity: float = 0.8
    """Texts whose sets of word triples have this Jaccard similarity are near-duplicates."""
    permutations: int = 1000
    """Relabellings for the null and its p-value."""
    draws: int = 2000
    """Bootstrap samples of questions for the intervals."""

    def __post_init__(self) -> None:
        shares = ("place_margin", "words_margin", "structure_margin", "pairwise_margin", "marker_share", "similarity")
        for name in shares:
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected between 0 and 1")
        for name, least in (("few_words", 1), ("permutations", 200), ("draws", 200)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected at least {least}")


_FEWEST_STEPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRun:
    """One labelled run with its decisive step."""

    labeled: LabeledTrajectory
    step: int
    group: str
    """What must stay on one side of a split."""
    clean: Trajectory | None
    """The passing run beside it, when it has a step of the same agent at the same place."""
    partner: Trajectory | None
    """The passing run beside it, whatever its steps."""

    @property
    def run(self) -> Trajectory:
        """Trajectory of the run."""
        return self.labeled.trajectory

    @property
    def eligible(self) -> npt.NDArray[np.bool_]:
        """Mask of steps the fault could have been put into: ``verification["eligible_steps"]``, or else all."""
        named = self.labeled.verification.get("eligible_steps")
        steps = set(named) if isinstance(named, list) and self.step in named else set(range(len(self.run.steps)))
        return np.array([step.index in steps for step in self.run.steps])

    @property
    def architecture(self) -> str:
        """Kind of team within which an agent's name is comparable between runs."""
        return text_of(self.labeled.verification, "architecture") or f"{self.run.framework}/{self.run.team}"


def cases_of(dataset: LabeledSet, is_wanted: Callable[[LabelSource], bool]) -> list[AuditedRun]:
    """The runs with a wanted label source and a decisive step among at least two."""
    partners = {id(pair.faulty): pair.clean.trajectory for pair in dataset.pairs()}
    groups = question_groups([*dataset.labeled, *dataset.clean])
    found = []
    for item, group in zip(dataset.labeled, groups, strict=False):
        if not is_wanted(item.label_source) or item.decisive is None:
            continue
        step, run, partner = item.decisive.step, item.trajectory, partners.get(id(item))
        if step >= len(run.steps) or len(run.steps) < _FEWEST_STEPS:
            continue
        clean = partner if partner is not None and _has_counterpart(partner, run, step) else None
        found.append(AuditedRun(labeled=item, step=step, group=group, clean=clean, partner=partner))
    return found


def folds_of(cases: Sequence[AuditedRun], folds: int, seed: int) -> list[int]:
    """The fold of each case, whole groups together.

    Raises:
        DatasetError: There are fewer groups than folds.
    """
    groups = [case.group for case in cases]
    try:
        return grouped_folds(groups, folds, seed=seed)
    except ConfigError as error:
        count = len(set(groups))
        raise DatasetError(
            f"cannot audit {count} questions in {folds} folds, expected between 2 and {max(2, count)} "
            "folds. Build more data, or ask for fewer folds"
        ) from error


def _has_counterpart(clean: Trajectory, run: Trajectory, step: int) -> bool:
    return step < len(clean.steps) and clean.steps[step].agent == run.steps[step].agent
