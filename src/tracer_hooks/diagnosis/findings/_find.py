"""Every kind of finding, and all findings of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from tracer_hooks._guard import guard
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis.findings import (
    announced_not_done,
    answer_origin,
    constraint_lost,
    different_form,
    dropped_item,
    ending,
    ignored_error,
    loop,
    made_up_data,
    reason_matched,
    record_contradicted,
    replaced_value,
    wrong_calculation,
    wrong_request,
)
from tracer_hooks.diagnosis.findings._kind import KindOfFinding
from tracer_hooks.schema import Finding, FindingKind

_ALL: tuple[KindOfFinding, ...] = (
    wrong_calculation.KIND,
    record_contradicted.KIND,
    dropped_item.KIND,
    wrong_request.KIND,
    replaced_value.KIND,
    constraint_lost.KIND,
    different_form.KIND,
    ignored_error.KIND,
    reason_matched.KIND,
    ending.KIND,
    made_up_data.KIND,
    announced_not_done.KIND,
    loop.KIND,
    answer_origin.KIND,
)
KINDS: Mapping[FindingKind, KindOfFinding] = {each.kind: each for each in _ALL}
"""The kinds by name, in the order in which findings of equal weight are told."""
MOST = 12
"""Findings of one run that are kept."""


def kind_of(finding: Finding) -> KindOfFinding | None:
    """The kind of a finding; None for one that this version does not look for."""
    return KINDS.get(finding.kind)


def proving(finding: Finding) -> bool:
    """Tell whether a finding is enough to blame the step that it stands at."""
    kind = kind_of(finding)
    is_proof = kind is not None and finding.detail in kind.blame
    return is_proof and finding.step is not None and finding.leads_to_answer


def find_in(run: RunReading) -> tuple[Finding, ...]:
    """All findings of a run, looked for once: what proves first, then what leads to the answer, then the rest.

    A kind that fails on an odd run is left out, with one log line.
    """
    if run not in _known:
        found: list[Finding] = []
        for kind in KINDS.values():
            with guard(f"look for {kind.kind.value!r} in a run"):
                found += kind.find(run)
        others = [each for each in found if each.kind is not FindingKind.ANSWER_ORIGIN]
        if any(each.leads_to_answer for each in others):  # they say already where the answer went wrong
            found = others
        if any(
            each.kind is FindingKind.DIFFERENT_FORM for each in found
        ):  # the value is right: nothing led to a wrong one
            found = [each if each.kind is FindingKind.DIFFERENT_FORM else _aside(each) for each in found]
        _known[run] = tuple(sorted(_each_once(found), key=_order))[:MOST]
    return _known[run]


_known: WeakKeyDictionary[RunReading, tuple[Finding, ...]] = WeakKeyDictionary()


def _aside(finding: Finding) -> Finding:
    return finding.model_copy(update={"leads_to_answer": False})


def _each_once(found: Sequence[Finding]) -> list[Finding]:
    """Of several findings of one kind at one step the first."""
    best: dict[tuple[FindingKind, int | None], Finding] = {}
    for each in found:
        best.setdefault((each.kind, each.step), each)
    return list(best.values())


def _order(finding: Finding) -> tuple[bool, bool, int]:
    return not proving(finding), not finding.leads_to_answer, -1 if finding.step is None else finding.step
