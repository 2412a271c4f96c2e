"""Quotations that a reading gives: the most surprising passage of a step, and of the symptom that looks back on it."""

from __future__ import annotations

from tracer_hooks.attribution._prefill._features import PrefillFeatures
from tracer_hooks.attribution._prefill._render import part_at, step_parts
from tracer_hooks.attribution._prefill._symptoms import late_symptoms
from tracer_hooks.attribution._reading import Trace
from tracer_hooks.schema import Evidence

_MAX_QUOTE = 240


def evidence_of(trace: Trace, features: PrefillFeatures, step: int) -> tuple[Evidence, ...]:
    """Why ``step`` is named, the passage in the step itself first; empty when it has no words of its own."""
    found = []
    own = quote_of(trace, features, step)
    if own:
        why = "Of all the words of this step, the language model that read the run foresaw these least."
        found.append(Evidence(step=step, quote=own, why=why))
    symptom = _heaviest_symptom(trace, features, step)
    words = quote_of(trace, features, symptom) if symptom is not None else None
    if symptom is not None and words:
        why = (
            f"Late in the run, these words surprise the language model that read it, and it looks back at step {step}."
        )
        found.append(Evidence(step=symptom, quote=words, why=why))
    return tuple(found)


def quote_of(trace: Trace, features: PrefillFeatures, step: int) -> str | None:
    """The most surprising passage of a step, word for word; None when it stands in nothing that can be quoted."""
    if not step_parts(trace.steps[step]):
        return None
    start, end = (int(place) for place in features.peaks[step])
    part, text, at = part_at(trace.steps[step], start)
    quote = text[at : at + max(0, min(end - start, _MAX_QUOTE))].strip()
    if part != "call" and quote:
        return quote
    return None  # the written form of a tool call is ours, and nobody's words


def _heaviest_symptom(trace: Trace, features: PrefillFeatures, step: int) -> int | None:
    later = [one for one in late_symptoms(trace, features.surprise[:, 0]) if one > step]
    return max(later, key=lambda one: float(features.attention[one, step]), default=None)
