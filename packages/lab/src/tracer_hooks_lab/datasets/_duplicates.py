"""Near-duplicates: texts of different questions, tasks over parts, faulty steps (MinHash over shingles)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracer_hooks.datasets import LabeledSet, near_duplicates
from tracer_hooks.extension import step_text
from tracer_hooks_lab.datasets._audit_records import AuditedRun, AuditFinding, AuditOptions, NearDuplicate

_EXCERPT = 120


def duplicate_tasks(
    dataset: LabeledSet, splits: Mapping[str, LabeledSet] | None, options: AuditOptions
) -> list[NearDuplicate]:
    """Tasks that are nearly the same, and tasks of one text in several parts: first those that cross parts."""
    parts_of: dict[str, set[str]] = {}
    for name, part in {"": dataset, **(splits or {})}.items():
        for item in (*part.labeled, *part.clean):
            parts_of.setdefault(" ".join(item.trajectory.task.split()), set()).add(name)
    tasks = sorted(parts_of)
    groups = [[task] for task in tasks if len(parts_of[task] - {""}) > 1]
    groups += [[tasks[k] for k in alike] for alike in near_duplicates(tasks, similarity=options.similarity)]
    found = [_alike_tasks(group, set().union(*(parts_of[task] for task in group)) - {""}) for group in groups]
    return sorted(found, key=lambda one: (not one.parts, -one.size))


def _alike_tasks(tasks: Sequence[str], parts: set[str]) -> NearDuplicate:
    shown = tuple(sorted(parts)) if len(parts) > 1 else ()
    return NearDuplicate(kind="task", size=len(tasks), text=tasks[0][:_EXCERPT], parts=shown)


def duplicate_steps(cases: Sequence[AuditedRun], options: AuditOptions) -> list[NearDuplicate]:
    """Decisive steps of different questions that are nearly the same, and more often so than the clean counterparts."""
    paired = [case for case in cases if case.clean is not None]
    faulty = _shared([step_text(case.run.steps[case.step]) for case in paired], paired, options)
    clean = _shared([step_text(case.clean.steps[case.step]) for case in paired if case.clean], paired, options)
    if sum(one.size for one in faulty) - sum(one.size for one in clean) <= options.marker_share * len(paired):
        return []
    return faulty


def duplicate_findings(found: Sequence[NearDuplicate], *, pairs: int) -> list[AuditFinding]:
    """A failure for a task in several parts of the split and for faulty steps of one pattern; else notes.

    Tasks that are only nearly the same are often one kind of question with other numbers, and are notes.
    """
    crossing = [one for one in found if one.parts and one.size == 1]
    tasks = [one for one in found if one.kind == "task" and one.size > 1]
    steps = [one for one in found if one.kind == "faulty step"]
    findings = []
    if crossing:
        message = f"{len(crossing)} tasks stand in several parts of the split: {crossing[0].text!r}"
        findings.append(AuditFinding(kind="near-duplicate", severity="fail", name="split", message=message))
    if steps:
        message = f"{sum(one.size for one in steps)} questions of {pairs} pairs have nearly the same faulty steps, "
        message += f"far more than have the same clean ones: {steps[0].text!r}"
        findings.append(AuditFinding(kind="near-duplicate", severity="fail", name="faulty steps", message=message))
    if tasks:
        across = sum(bool(one.parts) for one in tasks)
        message = f"{sum(one.size for one in tasks)} tasks in {len(tasks)} groups are nearly the same, {across} groups "
        message += f"of them in several parts of the split: {tasks[0].text!r}"
        findings.append(AuditFinding(kind="near-duplicate", severity="note", name="tasks", message=message))
    return findings


def _shared(texts: Sequence[str], cases: Sequence[AuditedRun], options: AuditOptions) -> list[NearDuplicate]:
    found = []
    for alike in near_duplicates(texts, similarity=options.similarity):
        questions = {cases[k].group for k in alike}
        if len(questions) > 1:
            text = texts[alike[0]][:_EXCERPT]
            found.append(NearDuplicate(kind="faulty step", size=len(questions), text=text))
    return sorted(found, key=lambda one: -one.size)
