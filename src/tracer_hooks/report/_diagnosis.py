"""The diagnosis of one attempt as the page shows it."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from tracer_hooks.report._suggestions import suggestion
from tracer_hooks.report._wording import clean, confidence_words, in_seconds, verdict
from tracer_hooks.schema import Attribution, Evidence

_QUOTE_LONGEST = 600
_MOST_CANDIDATES = 8
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
    suggestion: str
    evidence: tuple[QuoteView, ...]
    spread: tuple[QuoteView, ...]
    candidates: tuple[CandidateView, ...]
    faults: tuple[str, ...]
    source: str
    """Which attributor answered, how long it took and which tokens it used."""


def diagnosis_view(attribution: Attribution, agents: dict[int, str], shown: Set[int]) -> DiagnosisView:
    """``attribution`` for the template.

    Args:
        attribution: The diagnosis.
        agents: The agent of every step.
        shown: Indices of the steps in the page: only those can be linked.
    """
    mode = attribution.error_mode
    return DiagnosisView(
        verdict=verdict(attribution),
        abstained=attribution.abstained or attribution.agent is None,
        agent=clean(attribution.agent or ""),
        step=attribution.step,
        linked=attribution.step in shown,
        mode="" if mode is None else mode.value,
        mode_title="" if mode is None else mode.title,
        mode_definition="" if mode is None else mode.definition,
        mode_group="" if mode is None else mode.group,
        percent=f"{attribution.confidence:.0%}",
        width=_width(attribution.confidence),
        words=confidence_words(attribution.confidence),
        suggestion=suggestion(attribution),
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
            for each in attribution.candidates[:_MOST_CANDIDATES]
        ),
        faults=tuple(_fault(attribution)),
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
    )


def _fault(attribution: Attribution) -> list[str]:
    """Every faulty agent with its mode, when there is more to tell than the answer itself."""
    if len(attribution.faults) < 2:
        return []
    return [
        clean(fault.agent)
        + ("" if fault.error_mode is None else f": {fault.error_mode.value} {fault.error_mode.title}")
        + f" ({fault.score:.0%})"
        for fault in attribution.faults
    ]


def _source(attribution: Attribution) -> str:
    parts = [clean(attribution.attributor) or "unnamed attributor", in_seconds(attribution.elapsed_s)]
    if attribution.usage is not None:
        parts.append(f"{attribution.usage.input_tokens + attribution.usage.output_tokens:,} tokens")
    return ", ".join(part for part in parts if part)


def _width(share: float) -> float:
    return round(share * 100, 1)
