"""Quotations: the passage of the failed step that differs, and what a passing run did instead."""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.attribution._contrast._comparison import Comparison
from tracer_hooks.attribution._contrast._divergence import Divergences
from tracer_hooks.attribution._contrast._marks import VALUES, Divergence, Instead, Mark
from tracer_hooks.attribution._contrast._spectrum import ElementKind, Spectrum
from tracer_hooks.attribution._reading._trace import Trace
from tracer_hooks.attribution._wording import grouped
from tracer_hooks.schema import Evidence, EvidenceKind, Step

MAX_EVIDENCE = 4
_SHORT = 120
"""Characters of a passing run's words that ``why`` repeats."""
_WORTH_TELLING = 0.25
"""Share of the strongest reason's part in the score from which another reason is told too."""
_VAGUE = (Divergence.CONTENT, Divergence.PATH)
"""Told only when there is nothing better to say."""
_WHY = {
    Divergence.CLAIM: "No passing run says {words!r}",
    Divergence.ARGUMENT: "No passing run calls the tool with {words!r}",
    Divergence.MISPLACED: "The passing runs mostly have another value than {words!r} in such a place",
    Divergence.RESULT: "What came back differs from every passing run",
    Divergence.ACT: "The passing runs do something else here",
    Divergence.AGENT: "Another agent acts here in the passing runs",
    Divergence.EXTRA: "The passing runs have no such step",
    Divergence.REPEAT: "The passing runs do this once, and here it is done again",
    Divergence.MISSING: "The passing runs did something before this that is missing here",
    Divergence.MISSING_CHECK: "The passing runs made a check before going on, and it is missing here",
    Divergence.MISSING_CLAIM: "The passing runs have a value here that this run never says",
    Divergence.EARLY_END: "The passing runs went on after this",
    Divergence.CONTENT: "The passing runs say something else here",
    Divergence.PATH: "From here on the run is less like the passing ones",
}


def evidence_for(divergences: Divergences, step: int, trace: Trace) -> tuple[Evidence, ...]:
    """Why a step is named, the strongest reason first."""
    return grouped(_reasons(divergences, step, trace), most=MAX_EVIDENCE)


def _reasons(divergences: Divergences, step: int, trace: Trace) -> Iterator[Evidence]:
    marks = [mark for mark in divergences.marks if mark.step == step]
    told = _told_best([mark for mark in marks if mark.divergence not in _VAGUE]) or marks
    worth = _WORTH_TELLING * max((divergences.part_of(mark) for mark in told), default=0.0)
    for mark in sorted(told, key=lambda one: (-divergences.part_of(one), -one.weight)):
        if divergences.part_of(mark) < worth:
            break
        quote = _passage(trace, mark.step, mark.words)
        kind: EvidenceKind = "value" if mark.divergence in VALUES and quote else "sign"
        yield Evidence(step=step, quote=quote or "", why=_why(divergences.comparison, mark), kind=kind)
    if divergences.spectrum is not None:
        reason = _spectrum_reason(divergences.spectrum, step)
        if reason:
            yield Evidence(step=step, why=reason)


def _told_best(marks: list[Mark]) -> list[Mark]:
    """Without the values out of place of which it is told already that no passing run has them at all."""
    unheard = [mark.words for mark in marks if mark.divergence in VALUES]
    return [
        mark
        for mark in marks
        if mark.divergence is not Divergence.MISPLACED or not any(mark.words in words for words in unheard)
    ]


def _passage(trace: Trace, step: int, words: str) -> str | None:
    """The passage with the words that differ; in scripts without spaces they need not stand alone."""
    if not words:
        return None
    found = trace.locate(step, words)
    for passage in trace.passages(step) if found is None else ():
        at = passage.raw.find(words)
        if at >= 0:
            return passage.quote_raw(at, at + len(words))
    return found


def _why(comparison: Comparison, mark: Mark) -> str:
    why = _WHY[mark.divergence].format(words=shorten(mark.words))
    if mark.instead is None:
        return f"{why}."
    other = comparison.pairings[mark.instead.run].other.trajectory
    step = other.steps[mark.instead.step]
    return f"{why}; in the passing run {other.run_id!r}, step {step.index}, {step.agent!r} {_did(step, mark.instead)}."


def _did(step: Step, instead: Instead) -> str:
    if instead.value:
        return f"has {shorten(instead.value)!r}"
    if step.tool_calls:
        return "calls " + ", ".join(repr(call.name) for call in step.tool_calls[:3])
    if step.recipient:
        return f"hands over to {step.recipient!r}"
    return f"writes {shorten(step.content)!r}" if step.content.strip() else "acts"


def _spectrum_reason(spectrum: Spectrum, step: int) -> str | None:
    element = spectrum.top(step)
    if element is None:
        return None
    failing, passing = spectrum.runs_with(element)
    what = {ElementKind.AGENT: "agent", ElementKind.ACT: "kind of act", ElementKind.CLAIM: "value or sentence"}
    return (
        f"This {what[element.kind]} stands in {failing} of {1 + len(spectrum.failing)} failing runs of the task "
        f"and in {passing} of {len(spectrum.passing)} passing ones."
    )


def shorten(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text[: 4 * _SHORT].split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"
