from __future__ import annotations

import numpy as np
import pytest

from tracer_hooks.diagnosis import StructuralAttributor
from tracer_hooks.diagnosis.ranking import _fit
from tracer_hooks.diagnosis.ranking._fit import FitCase, cases_of
from tracer_hooks.diagnosis.ranking._learners import RunFeatures

from ._runs import labelled_runs


def judged(belief: float, right: int, wrong: int, *, weight: float = 1.0) -> list[tuple[FitCase, np.ndarray]]:
    """Runs of two steps whose first is believed in alike, and is right in so many of them."""
    run = RunFeatures((), np.zeros((2, 0)), np.zeros(2), "k")
    logits = np.log([belief, 1 - belief])
    return [
        (FitCase(run, ("a", "b"), target=int(number >= right), group="q", weight=weight), logits)
        for number in range(right + wrong)
    ]


def sure_of(belief: float, sharpness: float) -> float:
    odds = sharpness * np.log(belief / (1 - belief))
    return float(1 / (1 + np.exp(-odds)))


def test_beliefs_that_are_too_sure_are_held_back() -> None:
    assert sure_of(0.9, _fit._sharpness(judged(0.9, right=700, wrong=300))) == pytest.approx(0.7, abs=0.01)


def test_timid_beliefs_that_are_right_more_often_are_raised() -> None:
    assert sure_of(0.7, _fit._sharpness(judged(0.7, right=800, wrong=200))) == pytest.approx(0.8, abs=0.01)


def test_a_handful_of_labels_changes_little() -> None:
    assert sure_of(0.9, _fit._sharpness(judged(0.9, right=2, wrong=3))) > 0.7, "though two of five are right"


def test_a_label_that_counts_half_weighs_half() -> None:
    sure, halved = judged(0.9, right=40, wrong=20), judged(0.9, right=80, wrong=40, weight=0.5)
    assert _fit._sharpness(halved) == pytest.approx(_fit._sharpness(sure), abs=1e-3)


def test_no_logit_that_judges_a_question_has_seen_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[set[str]] = []
    fit, judge = _fit._logits_on, _fit._sharpness

    def watched(cases, **options):
        fits.append({case.group for case in cases})
        return fit(cases, **options)

    def judging(unseen):
        assert sorted(case.group for case, _ in unseen) == [f"q{number}" for number in range(8)]
        return judge(unseen)

    monkeypatch.setattr(_fit, "_logits_on", watched)
    monkeypatch.setattr(_fit, "_sharpness", judging)
    _fit.adapt(cases_of(labelled_runs(8)), seed=0)
    assert sorted(len(known) for known in fits) == [7] * 8 + [8], "one for each question left out, and one for all"


def test_the_answer_is_as_sure_as_its_beliefs() -> None:
    fitted = StructuralAttributor().fitted(labelled_runs(24))
    trajectory = labelled_runs(1, seed=2)[0].trajectory
    scores = fitted.score(trajectory)
    assert scores is not None
    belief = np.array(scores.belief())
    best = int(belief.argmax())
    own = sum(b for b, step in zip(belief, trajectory.steps, strict=True) if step.agent == trajectory.steps[best].agent)
    answer = fitted.attribute(trajectory)
    assert answer.confidence == pytest.approx(answer.candidates[0].score, abs=1e-5)
    assert answer.agent_confidence == pytest.approx(own, abs=1e-5)
