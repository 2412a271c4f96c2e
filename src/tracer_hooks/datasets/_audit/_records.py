"""What an audit found, as records."""

from __future__ import annotations

from typing import Literal

from tracer_hooks.schema import Record

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


class Finding(Record):
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
    """Whether a labelled set can be trusted to need understanding."""

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
    findings: tuple[Finding, ...]
    """Failures first, then notes."""
    leak_words: tuple[LeakWord, ...]
    """The strongest on both sides, by z."""
    near_duplicates: tuple[NearDuplicate, ...]
    """The largest first."""
    notes: tuple[str, ...]
    """What was left out, and why."""
