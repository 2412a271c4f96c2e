from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tracer_hooks.diagnosis import StructuralAttributor, get_attributor
from tracer_hooks.diagnosis.ranking import _fit, _learners
from tracer_hooks.diagnosis.ranking._fit import cases_of
from tracer_hooks.diagnosis.ranking._pooling import Judgement, Mixing, Sureness, fit_sureness, sharpened

from ._runs import labelled_runs


def judged(belief: float, right: int, wrong: int) -> list[Judgement]:
    """Answers of which the step is believed in alike, and as many of the agents are right as can be."""
    return [Judgement(belief, number < right, 0.9, True, 1.0) for number in range(right + wrong)]


def test_beliefs_that_are_too_sure_are_held_back() -> None:
    found = fit_sureness(judged(0.9, right=700, wrong=300))
    assert found.of_step(0.9) == pytest.approx(0.7, abs=0.01)


def test_timid_beliefs_that_are_right_more_often_are_raised() -> None:
    found = fit_sureness(judged(0.7, right=800, wrong=200))
    assert found.of_step(0.7) == pytest.approx(0.8, abs=0.01)


def test_step_and_agent_have_factors_of_their_own() -> None:
    found = fit_sureness(judged(0.9, right=600, wrong=400))
    assert found.step < 0.5 < 1.0 < found.agent


def test_a_handful_of_labels_changes_little() -> None:
    found = fit_sureness(judged(0.9, right=2, wrong=3))
    assert found.of_step(0.9) > 0.75, "though two of five are right"


def test_a_label_that_counts_half_weighs_half() -> None:
    sure = [Judgement(0.9, number % 3 > 0, 0.9, True, 1.0) for number in range(60)]
    halved = [Judgement(one.step_belief, one.step_right, one.agent_belief, one.agent_right, 0.5) for one in sure * 2]
    assert fit_sureness(halved).step == pytest.approx(fit_sureness(sure).step, abs=1e-3)


def test_the_agent_of_the_likeliest_step_is_judged_with_all_its_steps() -> None:
    logits = np.log([0.3, 0.5, 0.2])
    one = Judgement.of(logits, ["a", "b", "b"], target=0, blamed="b", weight=1.0)
    assert (one.step_belief, one.step_right) == (pytest.approx(0.5), False)
    assert (one.agent_belief, one.agent_right) == (pytest.approx(0.7), True)


def test_certainty_stays_finite() -> None:
    assert 0.0 < Sureness(step=2.0).of_step(0.0) < Sureness(step=2.0).of_step(1.0) < 1.0


@pytest.mark.parametrize("confidence", [0.45, 0.6, 0.99])
def test_sharpening_keeps_the_order_and_gives_the_first_its_confidence(confidence: float) -> None:
    logits = np.log([0.1, 0.4, 0.3, 0.2])
    steps = sharpened(logits, confidence)
    assert steps.max() == pytest.approx(confidence, abs=1e-6)
    assert steps.sum() == pytest.approx(1.0)
    assert np.argsort(steps).tolist() == np.argsort(logits).tolist()


def test_equal_steps_cannot_be_told_apart() -> None:
    assert sharpened(np.zeros(4), 0.9).tolist() == [0.25] * 4


def test_a_confidence_below_that_of_equal_steps_gives_equal_steps() -> None:
    assert sharpened(np.log([0.1, 0.5, 0.4]), 0.1) == pytest.approx([1 / 3] * 3, abs=1e-6)


@pytest.fixture(scope="module")
def fitted():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_learners, "TREES", 15)
        yield StructuralAttributor().fitted(labelled_runs(24))


def test_no_share_that_judges_a_question_has_seen_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Mixing, set[str]]] = []
    question_of: dict[int, str] = {}
    judged, real, logits = [], _fit._mixing, Mixing.logits

    def watched(unseen) -> Mixing:
        seen.append((real(unseen), {one.case.group for one in unseen}))
        question_of.update((id(one.beliefs), one.case.group) for one in unseen)
        return seen[-1][0]

    def judging(mixing, kind, beliefs):
        judged.append(question_of[id(beliefs)])
        assert judged[-1] not in next(groups for known, groups in seen if known is mixing)
        return logits(mixing, kind, beliefs)

    monkeypatch.setattr(Mixing, "logits", judging)
    monkeypatch.setattr(_learners, "TREES", 15)
    monkeypatch.setattr(_fit, "_mixing", watched)
    _fit.adapt(cases_of(labelled_runs(8)), seed=0)
    assert sorted(judged) == sorted(f"q{number}" for number in range(8) for _ in range(_fit._WAYS))


def test_the_answer_is_as_sure_as_was_learnt(fitted) -> None:
    trajectory = labelled_runs(1, seed=2)[0].trajectory
    belief = np.array(fitted.score(trajectory).belief())
    best = int(belief.argmax())
    own = sum(b for b, step in zip(belief, trajectory.steps, strict=True) if step.agent == trajectory.steps[best].agent)
    answer = fitted.attribute(trajectory)
    sure = fitted._model.sureness
    assert sure != Sureness(), "something was learnt"
    assert answer.confidence == pytest.approx(sure.of_step(belief[best]), abs=1e-5)
    assert answer.confidence == pytest.approx(answer.candidates[0].score, abs=1e-5)
    assert answer.agent_confidence == pytest.approx(max(sure.of_agent(own), answer.confidence), abs=1e-5)


def test_it_is_saved_with_the_fit(fitted, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    again = get_attributor(tmp_path)
    assert again._model.sureness.step == pytest.approx(fitted._model.sureness.step, abs=1e-4)  # type: ignore[attr-defined]
    assert again._model.sureness.agent == pytest.approx(fitted._model.sureness.agent, abs=1e-4)  # type: ignore[attr-defined]


def test_a_fit_that_was_saved_without_it_is_as_sure_as_its_beliefs(fitted, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    path = tmp_path / "structural.json"
    document = json.loads(path.read_text())
    del document["model"]["sureness"]
    path.write_text(json.dumps(document))
    again = get_attributor(tmp_path)
    trajectory = labelled_runs(1, seed=2)[0].trajectory
    assert again.attribute(trajectory).confidence == pytest.approx(max(again.score(trajectory).belief()), abs=1e-5)  # type: ignore[attr-defined]


def test_log_odds_are_what_is_scaled() -> None:
    found = Sureness(step=0.5).of_step(0.9)
    assert math.log(found / (1 - found)) == pytest.approx(0.5 * math.log(9))
