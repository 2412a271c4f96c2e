"""Blame: which step a diagnosis names and how sure it is; from what was found first, from the learned rank second."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import canonical, numbers_in
from tracer_hooks.diagnosis.findings import find_in, kind_of, proving
from tracer_hooks.diagnosis.findings.reason_matched import named_agent
from tracer_hooks.schema import LIKELY_FROM, Attribution, ErrorMode, Evidence, EvidenceKind, Finding, FindingKind

_UNPROVED = LIKELY_FROM - 0.01
"""The most that a rank alone is worth on a team that it was not fitted to: on logs of teams never seen its first
step is the right one in a third to a half (docs/benchmarks.md)."""
_NAMED = 0.9
"""Share of the belief that goes to the steps of an agent that the check's reason names."""
_EVIDENCE: dict[FindingKind, EvidenceKind] = {
    FindingKind.ENDING: "error",
    FindingKind.IGNORED_ERROR: "error",
    FindingKind.RECORD_CONTRADICTED: "contradiction",
    FindingKind.REPLACED_VALUE: "contradiction",
    FindingKind.WRONG_REQUEST: "contradiction",
    FindingKind.DROPPED_ITEM: "contradiction",
    FindingKind.WRONG_CALCULATION: "value",
    FindingKind.ANSWER_ORIGIN: "value",
}


def blamed(run: RunReading, belief: Sequence[float], *, is_own_fit: bool = False) -> tuple[float, ...]:
    """Weigh the steps: where a finding proves one, it comes first; else the rank says where to start.

    Args:
        run: What happened.
        belief: The rank's probability of each step; sums to at most 1.
        is_own_fit: The rank was fitted to labelled runs of this very team, so that its probability can be vouched for.

    Returns:
        The probability that each step is the decisive one; sums to at most 1.
    """
    named = named_agent(run)
    if named is not None:  # the check itself says who: steps of others come after
        belief = _turned_to(run, named, belief)
    proofs = [each for each in find_in(run) if proving(each) and named in (None, each.agent)]
    if proofs:
        expected = run.known_outcome.expected
        proof = max(proofs, key=lambda each: (_sure(each, expected), belief[each.step or 0], -(each.step or 0)))
        step, sure = proof.step or 0, _sure(proof, expected)
        others = sum(own for index, own in enumerate(belief) if index != step)
        scale = min(1.0, (1.0 - sure) / others) if others > 0 else 0.0
        return tuple(sure if index == step else own * scale for index, own in enumerate(belief))
    top = max(belief, default=0.0)
    scale = 1.0 if is_own_fit or top <= _UNPROVED else _UNPROVED / top
    return tuple(own * scale for own in belief)


def _turned_to(run: RunReading, agent: str, belief: Sequence[float]) -> list[float]:
    """The belief with the steps of one agent first, in the order that they had among themselves."""
    steps = [index for index in run.acts if run.steps[index].agent == agent]
    own, total = sum(belief[index] for index in steps), sum(belief)
    if own >= _NAMED * total:
        return list(belief)
    turned = [each * (1 - _NAMED) * total / (total - own) for each in belief]
    for index in steps:
        turned[index] = _NAMED * total * (belief[index] / own if own > 0 else 1 / len(steps))
    return turned


_CORRECTED = 0.95
"""Of a proof whose right value is the very answer that was expected."""


def _sure(finding: Finding, expected: Sequence[str]) -> float:
    kind = kind_of(finding)
    right = None if finding.values is None else finding.values.right
    if right is not None and any(_is_same(right, answer) for answer in expected):
        return _CORRECTED
    return 0.0 if kind is None else kind.blame.get(finding.detail, 0.0)


def _is_same(value: str, answer: str) -> bool:
    """Tell whether two short texts are the same value, whatever unit or words one of them has around its number."""
    numbers = [[canonical(match.group()) for match in numbers_in(text)] for text in (value, answer)]
    if all(len(found) == 1 for found in numbers):
        return numbers[0] == numbers[1]
    return canonical(value) == canonical(answer)


def with_findings(answer: Attribution, run: RunReading) -> Attribution:
    """The answer of any attributor with what was found in the run: findings, evidence, advice, expected and got.

    Where a finding carries the blame and shows a mode, that is the mode.
    """
    found = find_in(run)
    outcome = run.known_outcome
    told = answer.model_copy(
        update={
            "findings": found,
            "evidence": (*answer.evidence, *evidence_of(found, answer.step)),
            "expected": outcome.expected[0] if outcome.expected else None,
            "got": run.answer.text[:_LONGEST_ANSWER] or None,
        }
    )
    is_blamed = told.certainty in ("clear", "likely")
    carrying = next((each for each in found if is_blamed and each.step == told.step and each.leads_to_answer), None)
    mode = _mode(carrying) or told.error_mode
    return told.model_copy(
        update={
            "error_mode": mode,
            "advice": _advice(carrying or told.heading_finding),
        }
    )


_LONGEST_ANSWER = 2_000


def evidence_of(found: Sequence[Finding], step: int | None) -> tuple[Evidence, ...]:
    """The findings at the blamed step as evidence."""
    return tuple(
        Evidence(step=step, quote=each.quote, why=each.text, kind=_EVIDENCE.get(each.kind, "sign"))
        for each in found
        if step is not None and each.step == step
    )


def _mode(finding: Finding | None) -> ErrorMode | None:
    kind = None if finding is None else kind_of(finding)
    return None if kind is None or finding is None else kind.modes.get(finding.detail, kind.mode)


def _advice(finding: Finding | None) -> str:
    kind = None if finding is None else kind_of(finding)
    return "" if finding is None or kind is None or kind.advice is None else kind.advice(finding)
