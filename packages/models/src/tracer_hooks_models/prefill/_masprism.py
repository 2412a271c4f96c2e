"""The two readings of MASPrism (Liu et al. 2026, arXiv 2605.07509), as the reference to compare with.

First a shortened transcript is read: steps that surprise are symptoms, and the earlier steps to which the symptoms
attend are candidates. Then symptoms and candidates are read in full, all others as a stub, with a note before the first
symptom; candidates are scored by attention times the contrast in surprise, over all symptoms.

The paper's code was not at hand. What public descriptions leave open is decided here: candidates alone are scored, the
mean attention of a symptom is taken over the candidates before it, "in full" is bounded by ``restored_tokens``, and the
wordings of the prompts and the words of failure are our own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.extension import RunReading
from tracer_hooks_models.prefill._model import LocalModel, PrefillOptions
from tracer_hooks_models.prefill._reader import PrefillFeatures, observe
from tracer_hooks_models.prefill._render import shorten, step_text, transcribe
from tracer_hooks_models.prefill._signals import shows_error, top_symptoms

Floats = NDArray[np.float64]

CANDIDATES = 5
_CONSENSUS = 0.3
_STUB_TOKENS = 16
_REST = 0.05
"""Belief that is left to all steps that are no candidates."""
_NOTE = "[Note] The next step is abnormal. Look back for the earlier step that caused it."


@dataclass(frozen=True, slots=True)
class Suspects:
    """Choice of the first reading."""

    symptoms: tuple[int, ...]
    """Steps at which the failure shows, in order of time."""
    candidates: tuple[int, ...]
    """Earlier steps that may be its source, in order of time; empty when no symptom looks back on any step."""
    pull: Floats
    """Attention that each step gets from all symptoms, shape (steps,)."""


def suspects_of(trace: RunReading, first: PrefillFeatures) -> Suspects:
    """Symptoms by surprise and words of failure, candidates by the symptoms' attention."""
    flagged = [shows_error(trace, step) for step in trace.steps]
    symptoms = top_symptoms(first.surprise[:, 0], flagged)
    pull = np.zeros(len(trace.steps))
    for symptom in symptoms:
        pull[:symptom] += first.attention[symptom, :symptom]
    ranked = [int(step) for step in np.argsort(-pull, kind="stable") if pull[step] > 0]
    return Suspects(tuple(symptoms), tuple(sorted(ranked[:CANDIDATES])), pull)


def read_again(model: LocalModel, trace: RunReading, suspects: Suspects, options: PrefillOptions) -> PrefillFeatures:
    """The second reading, with the suspects in full."""
    full = {*suspects.symptoms, *suspects.candidates}
    room = {step.index: options.restored_tokens if step.index in full else _STUB_TOKENS for step in trace.steps}
    texts = [shorten(model.tokenizer, step_text(step), room[step.index], "head") for step in trace.steps]
    notes = {suspects.symptoms[0]: _NOTE}
    transcript = transcribe(model.tokenizer, trace.trajectory, texts, task_tokens=options.task_tokens, notes=notes)
    return observe(model, transcript, chunk=options.chunk)


def rank(trace: RunReading, suspects: Suspects, second: PrefillFeatures) -> Floats:
    """Log-belief in every step, shape (steps,); candidates before all others."""
    surprise = second.surprise[:, 0]
    flagged = [shows_error(trace, step) for step in trace.steps]
    fused, votes = np.zeros(len(surprise)), np.zeros(len(surprise))
    for symptom in top_symptoms(surprise, flagged):
        earlier = [step for step in suspects.candidates if step < symptom]
        attention = second.attention[symptom, earlier]
        if not earlier or attention.mean() <= 0:
            continue
        contrast = 1 + np.maximum(0, surprise[symptom] - surprise[earlier])
        fused[earlier] += attention / attention.mean() * contrast
        votes[earlier] += 1
    return _log_belief(fused * (1 + _CONSENSUS * votes), suspects.pull)


def _log_belief(scores: Floats, pull: Floats) -> Floats:
    rest = np.where(scores > 0, 0, pull + 1e-6)
    if not scores.any():
        return np.asarray(np.log(rest / rest.sum()), dtype=np.float64)
    belief = (1 - _REST) * scores / scores.sum()
    if rest.any():
        belief = belief + _REST * rest / rest.sum() * min(1.0, belief[belief > 0].min())
    return np.asarray(np.log(belief), dtype=np.float64)
