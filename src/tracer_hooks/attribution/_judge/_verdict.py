"""What the judge found, checked against the trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tracer_hooks.attribution import _abstaining
from tracer_hooks.attribution._judge._case import ENVIRONMENT_FAULT, FAULT, NO_FAULT, Case, ReplyError
from tracer_hooks.attribution._judge._quotes import find_quote
from tracer_hooks.attribution._judge._replies import Judgement, Quote, VerdictReply
from tracer_hooks.schema import AgentFault, ErrorMode, Evidence

_LEAST = 0.01
_MOST_WHY = 600
_MOST_EVIDENCE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """An answer as the judge stated it; nothing in it is calibrated."""

    step: int
    """The decisive error step, or after an abstention the most suspicious one."""
    beliefs: Mapping[int, float]
    """Stated probability of each step that was named; they sum to at most 1 and none is above that of ``step``."""
    agents: Mapping[str, float] = field(default_factory=dict)
    """Stated probability of each agent, when agents were asked about."""
    mode: ErrorMode | None = None
    """How the agent went wrong."""
    faults: tuple[AgentFault, ...] = ()
    """Agents that went wrong, that of the answer first."""
    evidence: tuple[Evidence, ...] = ()
    """Quotations that stand in the steps; the first one carries the judge's reason."""
    abstention: str | None = None
    """``no fault`` or ``environment fault``; None when an agent is named."""


def plain_verdict(case: Case, beliefs: Mapping[int, float], remark: str) -> Verdict:
    """The most probable of ``beliefs`` without mode and quotations, for an answer that was not finished."""
    shares = _shares(beliefs)
    step = max(shares, key=lambda index: (shares[index], -index))
    return Verdict(step=step, beliefs=shares, evidence=tuple(_evidence(case, step, "", remark, ())))


def verdict_of(reply: VerdictReply, case: Case) -> Verdict:
    """The verdict in ``reply``.

    When the step is another agent's than the agent named, the step is kept, and the evidence says so.

    Raises:
        ReplyError: It names an agent or a step that the trajectory does not have, or no fault in a failed run.
    """
    step = case.check_step(reply.step)
    named, owner = case.agent_named(reply.agent, at=step), case.owner(step)
    remark = "" if named == owner else f"the judge named {named!r}, but step {step} is by {owner!r}: the step was kept"
    top = max(_LEAST, reply.probability)
    others = {each.step: each.probability for each in reply.alternatives if each.step in case.answerable}
    beliefs = {step: top, **{index: min(top, stated) for index, stated in others.items() if index != step}}
    return judged(case, Verdict(step=step, beliefs=_shares(beliefs)), reply, remark=remark)


def judged(case: Case, verdict: Verdict, reply: Judgement | VerdictReply, *, remark: str = "") -> Verdict:
    """``verdict`` with the mode, the faults and the quotations of ``reply``.

    Raises:
        ReplyError: The reply finds no fault in a run that is known to have failed.
    """
    if reply.verdict not in case.verdicts:
        expected = " or ".join(map(repr, case.verdicts))
        raise ReplyError(f"verdict is {reply.verdict!r}, but the run is known to have failed: expected {expected}")
    stated = verdict.beliefs.get(verdict.step, reply.probability)
    return replace(
        verdict,
        mode=reply.error_mode,
        faults=tuple(_faults(case, verdict.step, stated, reply)),
        evidence=tuple(_evidence(case, verdict.step, reply.reason, remark, reply.evidence)),
        abstention=reply.verdict if reply.verdict != FAULT else None,
    )


def with_remark(case: Case, verdict: Verdict, remark: str) -> Verdict:
    """``verdict`` whose first quotation also says ``remark``."""
    if not verdict.evidence:
        return replace(verdict, evidence=tuple(_evidence(case, verdict.step, "", remark, ())))
    first, *rest = verdict.evidence
    return replace(verdict, evidence=(first.model_copy(update={"why": f"{first.why} ({remark})"}), *rest))


def abstention_reason(verdict: Verdict) -> str | None:
    """Why the verdict names no agent, in the words of an attribution."""
    return {NO_FAULT: _abstaining.NO_FAULT, ENVIRONMENT_FAULT: _abstaining.ENVIRONMENT_FAULT}.get(
        verdict.abstention or ""
    )


def _shares(beliefs: Mapping[int, float]) -> dict[int, float]:
    """Beliefs that sum to at most 1."""
    total = max(1.0, sum(beliefs.values()))
    return {index: belief / total for index, belief in beliefs.items()}


def _faults(case: Case, step: int, stated: float, reply: Judgement | VerdictReply) -> Iterator[AgentFault]:
    if reply.verdict != FAULT:
        return
    owner = case.owner(step)
    yield AgentFault(agent=owner, error_mode=reply.error_mode, score=stated)
    seen = {(owner, reply.error_mode)}
    for each in reply.other_faults:
        try:
            agent = case.agent_named(each.agent)
        except ReplyError:  # a second fault with an invented name is no reason to lose the answer
            continue
        if (agent, each.error_mode) not in seen:
            seen.add((agent, each.error_mode))
            yield AgentFault(agent=agent, error_mode=each.error_mode, score=each.probability)


def _evidence(case: Case, step: int, reason: str, remark: str, quotes: Iterable[Quote]) -> Iterator[Evidence]:
    """Quotations that stand in their steps, those of the answer first; the first one carries reason and remark."""
    found: dict[tuple[int, str], str] = {}
    for each in quotes:
        text = find_quote(case.steps[each.step], each.quote) if 0 <= each.step < len(case.steps) else None
        if text:
            found.setdefault((each.step, text), each.why.strip())
    said = " ".join(part for part in (reason.strip(), remark and f"({remark})") if part)
    if said and not any(index == step for index, _ in found):
        found[step, ""] = ""
    ranked = sorted(found.items(), key=lambda item: item[0][0] != step)[:_MOST_EVIDENCE]
    for position, ((index, text), why) in enumerate(ranked):
        shown = said if position == 0 and said else why or "quoted by the judge"
        yield Evidence(step=index, quote=text, why=shown[:_MOST_WHY])
