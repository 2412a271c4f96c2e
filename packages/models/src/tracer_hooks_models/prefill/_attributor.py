"""The attributor ``prefill``: reads a run once with a small language model, and quotes what surprised it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracer_hooks.diagnosis import StepScores
from tracer_hooks.extension import INCOMPLETE, Refusal, RunReading, cached_property, has_content, refusal_of
from tracer_hooks.schema import Attribution, Candidate, Evidence, LabeledTrajectory, Trajectory, Usage
from tracer_hooks_models.prefill import _masprism
from tracer_hooks_models.prefill._model import LocalModel, PrefillOptions, fingerprint_of, load_model, model_path
from tracer_hooks_models.prefill._reader import DEFAULT_CACHE, PrefillFeatures, cached, extract, reading_name
from tracer_hooks_models.prefill._render import part_at, step_parts, step_text
from tracer_hooks_models.prefill._signals import Floats, Probe, combined, late_symptoms, signals_of

if TYPE_CHECKING:
    from tracer_hooks.diagnosis import FitReport

_MAX_QUOTE = 240


def evidence_of(trace: RunReading, features: PrefillFeatures, step: int) -> tuple[Evidence, ...]:
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


def quote_of(trace: RunReading, features: PrefillFeatures, step: int) -> str | None:
    """The most surprising passage of a step, word for word; None when it stands in nothing that can be quoted."""
    if not step_parts(trace.steps[step]):
        return None
    start, end = (int(place) for place in features.peaks[step])
    part, text, at = part_at(trace.steps[step], start)
    quote = text[at : at + max(0, min(end - start, _MAX_QUOTE))].strip()
    if part != "call" and quote:
        return quote
    return None  # the written form of a tool call is ours, and nobody's words


def _heaviest_symptom(trace: RunReading, features: PrefillFeatures, step: int) -> int | None:
    later = [one for one in late_symptoms(trace, features.surprise[:, 0]) if one > step]
    return max(later, key=lambda one: float(features.attention[one, step]), default=None)


VERSION = 1
_MAX_CANDIDATES = 10


class PrefillAttributor:
    """Ranks steps by what a local causal language model notes while it reads the run: no text is generated.

    Unfitted it combines surprise and attention with fixed weights, or follows MASPrism (``protocol="masprism"``).
    :meth:`fit` learns a linear probe over these signals, the place of a step, and hidden states. The model is loaded at
    the first trajectory; what it noted is kept on disk, so that the same trajectory is read once.

    Args:
        options: Which model, and how it reads.
        probe: A fitted probe; see :meth:`fit` and :meth:`load`.

    Raises:
        ConfigError: No model is set, or there is none at that place.
    """

    name = "prefill"

    def __init__(self, options: PrefillOptions | None = None, *, probe: Probe | None = None) -> None:
        self.options = options if options is not None else PrefillOptions()
        self.path = model_path(self.options.model)
        """Where the language model lies."""
        self.probe = probe
        self._model: LocalModel | None = None
        self._lock = threading.RLock()

    @property
    def model(self) -> LocalModel:
        """The language model; loaded when first asked for.

        Raises:
            MissingExtraError: torch or transformers is not installed.
            ConfigError: The model cannot be loaded.
        """
        with self._lock:
            if self._model is None:
                self._model = load_model(self.path, self.options)
            return self._model

    @cached_property
    def fingerprint(self) -> str:
        """Stands for the model's weights, tokenizer and number format: 16 hex digits."""
        return fingerprint_of(self.path, self.options)

    def features(self, trajectory: Trajectory) -> PrefillFeatures:
        """Return what the model notes while it reads a trajectory, from the cache when it was read before."""
        return self._cached(trajectory, {}, lambda: extract(self.model, trajectory, self.options))

    def score(self, trajectory: Trajectory, *, reference: str | None = None) -> StepScores | None:
        """Log-belief in every step, with quotations; None for a trajectory without any text.

        ``reference`` is not used: the signals say nothing about right answers.
        """
        if not any(step_text(step).strip() for step in trajectory.steps):
            return None
        trace = RunReading(trajectory)
        features = self.features(trajectory)
        belief, tokens = self._belief(trace, features)
        allowed = set(self.allowed(trace))
        steps = tuple(float(belief[k]) if k in allowed else -math.inf for k in range(len(belief)))
        top = max(range(len(steps)), key=lambda k: (steps[k], -k))
        return StepScores(
            steps=steps, evidence=evidence_of(trace, features, top), usage=Usage(input_tokens=int(tokens))
        )

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose one run; see :class:`~tracer_hooks.diagnosis.Attributor`.

        A run that does not look failed gets an abstention, since surprise is no sign of a fault by itself.
        """
        began = time.perf_counter()
        refused = refusal_of(trajectory) if has_content(trajectory) else Refusal(INCOMPLETE)
        scores = self.score(trajectory) if refused is None else None
        if scores is None:
            reason = refused.reason if refused is not None else INCOMPLETE
            answer = _blank(trajectory, abstained=True, abstained_reason=reason)
        else:
            answer = _answer(trajectory, scores)
        return answer.model_copy(update={"elapsed_s": time.perf_counter() - began})

    def fit(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> tuple[PrefillAttributor, FitReport]:
        """A new attributor with a probe fitted to these trajectories, and what it gained.

        The number of hidden components and the strength of the prior, whose mean are the fixed weights, are chosen by
        cross-validation over questions; so is whether to fit at all. The figures come from an outer cross-validation.

        Args:
            labeled: Trajectories with a decisive step or faulty agents; those without either are passed over.
            seed: Decides the folds.

        Raises:
            AttributionError: There are fewer than five labelled trajectories, or all are of one question.
        """
        from tracer_hooks_models.prefill._fit import fit_probe

        probe, report = fit_probe(self, labeled, seed=seed)
        return self._with(probe if probe is not None else self.probe), report

    def save(self, directory: Path) -> None:
        """Write the options and the probe; the language model itself is only named, with its fingerprint."""
        from tracer_hooks_models.prefill._fit import save

        save(self, directory)

    @classmethod
    def load(cls, directory: Path) -> PrefillAttributor:
        """The attributor that was saved there; ``TRACER_HOOKS_PREFILL_MODEL`` wins over the model named in it.

        Raises:
            AttributionError: The directory holds no such attributor, or its probe belongs to another language model.
            ConfigError: The language model is not there.
        """
        from tracer_hooks_models.prefill._fit import load

        options, probe = load(directory)
        return cls(options, probe=probe)

    def allowed(self, trace: RunReading) -> list[int]:
        """The steps that can be the decisive one: those with text, of the team's members unless all are asked for."""
        among = trace.acts if self.options.acts_only else range(len(trace.steps))
        return [step for step in among if step_text(trace.steps[step]).strip()] or list(among)

    def _belief(self, trace: RunReading, features: PrefillFeatures) -> tuple[Floats, int]:
        tokens = int(features.tokens.sum())
        if self.probe is not None:
            return self.probe.score(trace, features, self.allowed(trace)), tokens
        if self.options.protocol == "flow":
            return combined(signals_of(trace, features), self.allowed(trace)), tokens
        suspects = _masprism.suspects_of(trace, features)
        chosen: dict[str, object] = {
            "symptoms": suspects.symptoms,
            "candidates": suspects.candidates,
            "restored_tokens": self.options.restored_tokens,
        }
        second = self._cached(
            trace.trajectory, chosen, lambda: _masprism.read_again(self.model, trace, suspects, self.options)
        )
        # What the first reading took without the steps alone, which MASPrism does not read.
        return _masprism.rank(trace, suspects, second), int(features.tokens[0] + second.tokens.sum())

    def _cached(
        self, trajectory: Trajectory, more: dict[str, object], make: Callable[[], PrefillFeatures]
    ) -> PrefillFeatures:
        name = reading_name(trajectory, fingerprint=self.fingerprint, settings={**self.options.reading_key(), **more})
        directory = self.options.cache_dir if self.options.cache_dir is not None else DEFAULT_CACHE
        return cached(Path(directory), name, make)

    def _with(self, probe: Probe | None) -> PrefillAttributor:
        fitted = type(self)(self.options, probe=probe)
        fitted._model = self._model
        return fitted


def _blank(trajectory: Trajectory, **fields: object) -> Attribution:
    return Attribution(run_id=trajectory.run_id, attributor=f"{PrefillAttributor.name}/{VERSION}").model_copy(
        update=fields
    )


def _answer(trajectory: Trajectory, scores: StepScores) -> Attribution:
    belief = scores.belief()
    order = sorted(range(len(belief)), key=lambda k: (-belief[k], k))[:_MAX_CANDIDATES]
    candidates = tuple(
        Candidate(agent=trajectory.steps[k].agent, step=k, score=belief[k]) for k in order if belief[k] > 0
    )
    return _blank(
        trajectory,
        agent=candidates[0].agent,
        step=candidates[0].step,
        confidence=candidates[0].score,
        candidates=candidates,
        evidence=scores.evidence,
        usage=scores.usage,
    )
