"""The diagnosis of one attempt as the page shows it."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from tracer_hooks.report._candidates import ON_PAGE, visible
from tracer_hooks.report._suggestions import suggestion
from tracer_hooks.report._wording import agent_words, belief_note, certainty_words, clean, in_seconds, verdict
from tracer_hooks.schema import Attribution, Evidence, Trajectory

_QUOTE_LONGEST = 600
_MOST_QUOTES = 12


@dataclass(frozen=True, kw_only=True)
class QuoteView:
    """A quoted passage with what it shows."""

    step: int
    linked: bool
    """Whether the step is in the page."""
    agent: str
    quote: str
    why: str
    weight: str
    """How much it speaks for the blame, in log-odds; empty when nothing weighs it."""


@dataclass(frozen=True, kw_only=True)
class CandidateView:
    """One ranked possibility."""

    agent: str
    step: int
    linked: bool
    percent: str
    width: float
    """Length of the bar in percent."""


@dataclass(frozen=True, kw_only=True)
class DiagnosisView:
    """Everything that the diagnosis card shows."""

    verdict: str
    abstained: bool
    certainty: str
    """``clear``, ``likely``, ``weak``, or empty when nobody is named."""
    agent: str
    step: int | None
    linked: bool
    mode: str
    mode_title: str
    mode_definition: str
    mode_group: str
    percent: str
    width: float
    words: str
    agent_words: str
    suggestion: str
    evidence: tuple[QuoteView, ...]
    spread: tuple[QuoteView, ...]
    candidates: tuple[CandidateView, ...]
    note: str
    """Why the beliefs do not add up to 100 %; empty when they do."""
    faults: tuple[str, ...]
    fault_numbers: tuple[str, ...]
    """The same with the belief in each, which is no share of the belief in the step."""
    source: str
    """Which attributor answered, how long it took and which tokens it used."""


def diagnosis_view(
    attribution: Attribution, agents: dict[int, str], shown: Set[int], trajectory: Trajectory | None = None
) -> DiagnosisView:
    """``attribution`` for the template.

    Args:
        attribution: The diagnosis.
        agents: The agent of every step.
        shown: Indices of the steps in the page: only those can be linked.
        trajectory: The run, so that the advice can name its tools and errors.
    """
    mode = attribution.error_mode
    return DiagnosisView(
        verdict=verdict(attribution),
        abstained=attribution.certainty is None,
        certainty=attribution.certainty or "",
        agent=clean(attribution.agent or ""),
        step=attribution.step,
        linked=attribution.step in shown,
        mode="" if mode is None else mode.value,
        mode_title="" if mode is None else mode.title,
        mode_definition="" if mode is None else mode.definition,
        mode_group="" if mode is None else mode.group,
        percent=f"{attribution.confidence:.0%}",
        width=_width(attribution.confidence),
        words=certainty_words(attribution),
        agent_words=clean(agent_words(attribution)),
        suggestion=clean(suggestion(attribution, trajectory)),
        evidence=tuple(_quote(each, agents, shown) for each in attribution.evidence[:_MOST_QUOTES]),
        spread=tuple(_quote(each, agents, shown) for each in attribution.spread[:_MOST_QUOTES]),
        candidates=tuple(
            CandidateView(
                agent=clean(each.agent),
                step=each.step,
                linked=each.step in shown,
                percent=f"{each.score:.0%}",
                width=_width(each.score),
            )
            for each in visible(attribution)[:ON_PAGE]
        ),
        note=belief_note([each.score for each in visible(attribution)[:ON_PAGE]], steps=len(agents)),
        faults=_faults(attribution),
        fault_numbers=_fault_numbers(attribution),
        source=_source(attribution),
    )


def _quote(evidence: Evidence, agents: dict[int, str], shown: Set[int]) -> QuoteView:
    quote = clean(evidence.quote)
    if len(quote) > _QUOTE_LONGEST:
        quote = quote[:_QUOTE_LONGEST].rstrip() + " …"
    return QuoteView(
        step=evidence.step,
        linked=evidence.step in shown,
        agent=clean(agents.get(evidence.step, "")),
        quote=quote,
        why=clean(evidence.why),
        weight="" if evidence.weight is None else f"{evidence.weight:+.2f}",
    )


def _faults(attribution: Attribution) -> tuple[str, ...]:
    """Every faulty agent with its modes, when there is more to tell than the answer itself."""
    if len(attribution.faults) < 2:
        return ()
    modes: dict[str, list[str]] = {}
    for fault in attribution.faults:
        known = modes.setdefault(clean(fault.agent), [])
        if fault.error_mode is not None:
            known.append(f"{fault.error_mode.title} ({fault.error_mode.value})")
    return tuple(agent + (f": {', '.join(known)}" if known else "") for agent, known in modes.items())


def _fault_numbers(attribution: Attribution) -> tuple[str, ...]:
    if len(attribution.faults) < 2:
        return ()
    return tuple(
        f"{clean(fault.agent)}{'' if fault.error_mode is None else f', {fault.error_mode.value}'}: {fault.score:.0%}"
        for fault in attribution.faults
    )


def _source(attribution: Attribution) -> str:
    parts = [clean(attribution.attributor) or "unnamed attributor", in_seconds(attribution.elapsed_s)]
    if attribution.usage is not None:
        parts.append(f"{attribution.usage.total:,} tokens")
    return ", ".join(part for part in parts if part)


def _width(share: float) -> float:
    return round(share * 100, 1)
