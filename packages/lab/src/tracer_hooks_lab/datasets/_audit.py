"""Audit of a labelled set: can something that understands nothing find its faults?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracer_hooks.datasets import LabeledSet
from tracer_hooks.errors import DatasetError
from tracer_hooks.schema import LabelSource
from tracer_hooks_lab.datasets._audit_marks import (
    forbidden_words,
    marker_words,
    structural_checks,
    verification_in_runs,
)
from tracer_hooks_lab.datasets._audit_readers import (
    NAME,
    POSITION,
    WORDS,
    Answers,
    Array,
    AuditQuestion,
    RunReader,
    accuracy_check,
    auc_check,
    leak_words,
    out_of_fold,
    paired_wins,
)
from tracer_hooks_lab.datasets._audit_records import (
    AuditedRun,
    AuditFinding,
    AuditOptions,
    Check,
    DatasetAudit,
    cases_of,
    folds_of,
)
from tracer_hooks_lab.datasets._duplicates import duplicate_findings, duplicate_steps, duplicate_tasks
from tracer_hooks_lab.datasets._stats import TextTable

if TYPE_CHECKING:
    from rich.console import RenderableType

_FEWEST_FOLDS = 2
_STANDARD = AuditOptions()


def audit(
    dataset: LabeledSet,
    *,
    seed: int = 0,
    folds: int = 5,
    options: AuditOptions = _STANDARD,
    splits: Mapping[str, LabeledSet] | None = None,
) -> DatasetAudit:
    """Tell whether something that understands nothing finds the decisive steps of ``dataset`` far above its prior.

    Only injected faults can fail, since only their place and wording is the builder's doing. Natural failures, labelled
    in another way, are measured beside them and never fail: that a team fails at certain steps is a fact about it.

    Args:
        dataset: At least ``folds`` questions of labelled runs.
        seed: Of the folds, permutations and bootstrap samples; the same seed gives the same audit.
        folds: Folds of whole questions; each run is judged by what was fitted to the other folds.
        options: Margins and limits.
        splits: The parts that the set is used in; tasks that stand in two of them fail.

    Raises:
        DatasetError: No run can be audited, or the injected ones (without any, the others) have too few questions.
        MissingExtraError: ``tracer-hooks[fit]`` is not installed.
    """
    injected = cases_of(dataset, lambda source: source is LabelSource.INJECTED)
    natural = cases_of(dataset, lambda source: source is not LabelSource.INJECTED)
    if not injected and not natural:
        raise DatasetError(
            f"{str(dataset.path or 'the data set')!r} holds no run with a decisive step among at least two: "
            "there is nothing to audit"
        )
    judge = RunReader(options, np.random.default_rng(seed))
    notes = _left_out(dataset, injected, natural)
    groups = [_Group(injected, "injected", folds, seed, is_binding=True)] if injected else []
    if _questions(natural) >= folds or not injected:
        groups.append(_Group(natural, "natural", folds, seed, is_binding=False))
    elif natural:
        notes.append(f"{len(natural)} natural failures have fewer than {folds} questions: too few to measure")
    checks = [check for group in groups for check in _checks(group, judge)]
    return _result(
        dataset, [*injected, *natural], injected, checks, _Request(seed, folds, options, splits, tuple(notes))
    )


class _Group:
    """Runs of one kind of label, with their folds."""

    def __init__(self, cases: Sequence[AuditedRun], source: str, folds: int, seed: int, *, is_binding: bool) -> None:
        self.cases, self.source, self.is_binding = cases, source, is_binding
        self.folds = folds_of(cases, folds, seed)
        self.eligible = [case.eligible for case in cases]
        self.groups = [case.group for case in cases]
        self.paired = [position for position, case in enumerate(cases) if case.clean is not None]

    def asked(self, name: str, reads: str, margin: float) -> AuditQuestion:
        return AuditQuestion(name=name, source=self.source, reads=reads, margin=margin, is_binding=self.is_binding)


def _checks(group: _Group, judge: RunReader) -> list[Check]:
    options = judge.options
    found = []
    for reader, margin in (
        (POSITION, options.place_margin),
        (NAME, options.place_margin),
        (WORDS, options.words_margin),
    ):
        scores = out_of_fold(group.cases, [case.run for case in group.cases], group.folds, reader)
        found.append(
            accuracy_check(
                group.asked(reader.name, reader.reads, margin),
                Answers.best_of(scores, group.eligible),
                [case.step for case in group.cases],
                group.groups,
                judge=judge,
                placement=_placement(group) if reader is WORDS else None,
            )
        )
    found += _pairwise(group, judge)
    margin = options.structure_margin
    found += structural_checks(group.cases, judge, source=group.source, margin=margin, is_binding=group.is_binding)
    return found


def _placement(group: _Group) -> float | None:
    """Accuracy of the bag of words in the clean counterparts: the place, by the words that belong to it."""
    folds = [group.folds[k] for k in group.paired]
    if len(set(folds)) < _FEWEST_FOLDS:
        return None
    cases = [group.cases[k] for k in group.paired]
    runs = [case.clean for case in cases if case.clean is not None]
    scores: list[Array] = out_of_fold(cases, runs, folds, WORDS)
    return float(Answers.best_of(scores, [case.eligible for case in cases]).hits([case.step for case in cases]).mean())


def _pairwise(group: _Group, judge: RunReader) -> list[Check]:
    folds = [group.folds[k] for k in group.paired]
    if len(set(folds)) < _FEWEST_FOLDS:
        return []
    cases, groups = [group.cases[k] for k in group.paired], [group.groups[k] for k in group.paired]
    few = judge.options.few_words
    asked = group.asked("few words", f"the {few} most telling words of a step and of its clean counterpart",
                        judge.options.pairwise_margin)  # fmt: skip
    every = AuditQuestion(
        name="all words",
        source=group.source,
        reads="every word of a step and of its clean counterpart; a fault may change many words and be no leak",
        margin=judge.options.pairwise_margin,
        is_binding=False,
    )
    return [
        auc_check(asked, paired_wins(cases, folds, most_words=few), groups, judge=judge),
        auc_check(every, paired_wins(cases, folds, most_words=None), groups, judge=judge),
    ]


@dataclass(frozen=True, slots=True)
class _Request:
    seed: int
    folds: int
    options: AuditOptions
    splits: Mapping[str, LabeledSet] | None
    notes: tuple[str, ...]


def _result(
    dataset: LabeledSet,
    cases: Sequence[AuditedRun],
    injected: Sequence[AuditedRun],
    checks: Sequence[Check],
    asked: _Request,
) -> DatasetAudit:
    paired = [case for case in injected if case.clean is not None]
    words = leak_words(paired)
    doubles = [*duplicate_tasks(dataset, asked.splits, asked.options), *duplicate_steps(paired, asked.options)]
    findings = [
        *(_finding(check) for check in checks if check.verdict == "fail" and check.is_binding),
        *marker_words(words, len(paired), asked.options),
        *forbidden_words(injected, asked.options.forbidden),
        *verification_in_runs(injected),
        *duplicate_findings(doubles, pairs=len(paired)),
    ]
    findings.sort(key=lambda finding: finding.severity != "fail")
    return DatasetAudit(
        passed=not any(finding.severity == "fail" for finding in findings),
        seed=asked.seed,
        folds=asked.folds,
        runs=len(cases),
        questions=_questions(cases),
        pairs=len([case for case in cases if case.clean is not None]),
        checks=tuple(checks),
        findings=tuple(findings),
        leak_words=tuple(words),
        near_duplicates=tuple(doubles),
        notes=asked.notes,
    )


def _finding(check: Check) -> AuditFinding:
    figure = "accuracy" if check.measure == "accuracy" else "AUC"
    is_fitted = check.name in {POSITION.name, NAME.name, WORDS.name, "few words"}
    return AuditFinding(
        kind="classifier" if is_fitted else "structure",
        severity="fail",
        name=check.name,
        message=f"{figure} {check.value:.3f} [{check.low:.3f}, {check.high:.3f}] over {check.runs} runs from "
        f"{check.reads}; expected {check.prior:.3f}, allowed {check.prior + check.margin:.3f}",
    )


def _left_out(dataset: LabeledSet, injected: Sequence[AuditedRun], natural: Sequence[AuditedRun]) -> list[str]:
    cases = [*injected, *natural]
    notes = []
    if len(cases) < len(dataset.labeled):
        count = len(dataset.labeled) - len(cases)
        notes.append(f"{count} labelled runs have no decisive step among at least two steps, and were left out")
    if not injected:
        notes.append("there is no injected fault, so nothing can fail but the tasks of a split")
    unpaired = sum(case.clean is None for case in injected)
    if unpaired:
        notes.append(f"{unpaired} injected runs have no passing run with the same agent at the same step")
    return notes


def _questions(cases: Sequence[AuditedRun]) -> int:
    return len({case.group for case in cases})


_MOST_ROWS = 20


def audit_tables(audit: DatasetAudit) -> RenderableType:
    """Return an audit for :func:`rich.print`: the checks, the findings, the words, and the verdict last."""
    from rich.console import Group
    from rich.text import Text

    notes = [Text(f"note: {note}", "dim") for note in audit.notes]
    verdict = Text(_verdict(audit), "bold green" if audit.passed else "bold red")
    return Group(*(table.to_rich() for table in _tables(audit)), *notes, verdict)


def audit_markdown(audit: DatasetAudit) -> str:
    """The same in markdown, under headings of the third level, the verdict first."""
    notes = "\n".join(f"- {note}" for note in audit.notes)
    parts = [f"**{_verdict(audit)}**", *(table.to_markdown() for table in _tables(audit)), notes]
    return "\n\n".join(part for part in parts if part)


def _verdict(audit: DatasetAudit) -> str:
    unclear = [check.name for check in audit.checks if check.verdict == "unclear" and check.is_binding]
    failures = sum(finding.severity == "fail" for finding in audit.findings)
    verdict = "The audit passed." if audit.passed else f"The audit failed: {failures} findings."
    return f"{verdict} Too few runs to tell: {', '.join(unclear)}." if unclear else verdict


def _tables(audit: DatasetAudit) -> list[TextTable]:
    tables = [_check_rows(audit)]
    if audit.findings:
        rows = tuple((one.severity, one.kind, one.message) for one in audit.findings)
        tables.append(TextTable("Findings", ("severity", "kind", "what"), rows, words=frozenset({"kind", "what"})))
    if audit.leak_words:
        words = tuple(
            (one.words, str(one.faulty), str(one.clean), f"{one.log_odds:+.2f}", f"{one.z:+.1f}")
            for one in audit.leak_words[:_MOST_ROWS]
        )
        columns = ("words", "faulty steps", "clean steps", "log odds", "z")
        tables.append(TextTable("Words that tell faulty from clean steps", columns, words))
    if audit.near_duplicates:
        doubles = tuple(
            (one.kind, str(one.size), ", ".join(one.parts) or "-", one.text)
            for one in audit.near_duplicates[:_MOST_ROWS]
        )
        columns4 = ("kind", "texts", "parts", "beginning")
        tables.append(TextTable("Near-duplicates", columns4, doubles, words=frozenset({"parts", "beginning"})))
    return tables


def _check_rows(audit: DatasetAudit) -> TextTable:
    columns = ("check", "runs", "figure [95 %]", "prior", "allowed", "p", "verdict")
    return TextTable("What finds the fault, per cent", columns, tuple(_row(check) for check in audit.checks))


def _row(check: Check) -> tuple[str, ...]:
    """The verdict of a check that only informs stands in brackets."""
    name = f"{check.name} (AUC)" if check.measure == "auc" else check.name
    return (
        name if check.source == "injected" else f"{check.source}: {name}",
        str(check.runs),
        f"{100 * check.value:.1f} [{100 * check.low:.1f}, {100 * check.high:.1f}]",
        f"{100 * check.prior:.1f}",
        f"{100 * (check.prior + check.margin):.1f}",
        f"{check.p_value:.3f}",
        check.verdict if check.is_binding else f"({check.verdict})",
    )
