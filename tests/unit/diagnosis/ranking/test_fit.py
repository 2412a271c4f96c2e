from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tracer_hooks.diagnosis import Fittable, StructuralAttributor, diagnose_trajectory, get_attributor
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.schema import RunOutcome

from ._runs import labelled_runs


@pytest.fixture(scope="module")
def fitted():
    return StructuralAttributor().fit(labelled_runs(24))


def accuracy(attributor, runs):
    return sum(attributor.attribute(one.trajectory).step == one.decisive.step for one in runs) / len(runs)


def test_a_fit_learns_what_marks_the_fault(fitted) -> None:
    attributor, report = fitted
    assert accuracy(attributor, labelled_runs(20, seed=9)) > 0.9
    assert report.trajectories == report.questions == 24
    assert report.fitted_step > 0.8
    assert report.gain == pytest.approx(report.fitted_step - report.shipped_step)
    assert "prior as shipped" in report.chosen


def test_the_attributor_itself_stays_as_it_was() -> None:
    shipped = StructuralAttributor()
    before = shipped.attribute(labelled_runs(1)[0].trajectory)
    shipped.fit(labelled_runs(8))
    after = shipped.attribute(labelled_runs(1)[0].trajectory)
    assert before.candidates == after.candidates


def test_a_saved_attributor_gives_the_same_answers(fitted, tmp_path: Path) -> None:
    attributor, report = fitted
    right = round(24 * report.fitted_step)
    attributor.save(tmp_path / "mine")
    again = get_attributor(str(tmp_path / "mine"))
    assert isinstance(again, Fittable)
    for one in labelled_runs(5, seed=4):
        first, second = attributor.attribute(one.trajectory), again.attribute(one.trajectory)
        assert (first.step, first.agent) == (second.step, second.agent)
        assert first.confidence == pytest.approx(second.confidence, abs=1e-2)
        assert first.own_labels_right == second.own_labels_right == (right, 24)
    answer = diagnose_trajectory(labelled_runs(1)[0].trajectory, attributor=str(tmp_path / "mine"))
    assert answer.attributor.startswith("structural/3+fit")


def test_labels_say_nothing_of_another_team_and_those_that_nothing_was_tried_on_say_nothing(fitted) -> None:
    run = labelled_runs(1)[0].trajectory
    steps = tuple(step.model_copy(update={"agent": f"other {step.agent}"}) for step in run.steps)
    assert fitted[0].attribute(run.model_copy(update={"steps": steps})).own_labels_right is None
    answer = StructuralAttributor().fitted(labelled_runs(24)).attribute(run)
    assert (answer.own_labels_right, "own_labels_right" in answer.model_dump_json()) == (None, False)


def test_fits_of_the_same_seed_are_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        StructuralAttributor().fit(labelled_runs(10), seed=5)[0].save(tmp_path / name)
    assert (tmp_path / "a" / "structural.json").read_text() == (tmp_path / "b" / "structural.json").read_text()


def test_confidence_of_a_fitted_attributor_is_a_probability(fitted) -> None:
    answer = fitted[0].attribute(labelled_runs(1, seed=2)[0].trajectory)
    assert 0.4 < answer.confidence <= 1.0
    assert sum(one.score for one in answer.candidates) <= 1.0


def test_too_few_labels_say_how_many_are_needed() -> None:
    unlabelled = [one.model_copy(update={"decisive": None}) for one in labelled_runs(10)]
    with pytest.raises(AttributionError, match="4 of 14 trajectories have a decisive step, expected at least 5"):
        StructuralAttributor().fit([*labelled_runs(4), *unlabelled])


def test_weak_labels_are_learnt_from_and_judge_nothing() -> None:
    proven, more = labelled_runs(8), labelled_runs(16, seed=6)
    weak = [one.model_copy(update={"weight": 0.6, "question_id": f"w{n}"}) for n, one in enumerate(more)]
    wrong = [
        one.model_copy(update={"decisive": one.decisive.model_copy(update={"step": 0, "agent": "nobody"})})
        for one in weak
    ]
    alone, _ = StructuralAttributor().fit(proven)
    helped, with_them = StructuralAttributor().fit([*proven, *weak])
    _, misled = StructuralAttributor().fit([*proven, *wrong])
    assert with_them.trajectories == 24
    assert with_them.fitted_step in [k / 8 for k in range(9)], "judged on the proven ones alone"
    assert with_them.shipped_step == misled.shipped_step
    fresh = labelled_runs(20, seed=9)
    assert accuracy(helped, fresh) >= accuracy(alone, fresh)


def test_weak_labels_alone_are_too_few() -> None:
    weak = [one.model_copy(update={"weight": 0.6}) for one in labelled_runs(10)]
    with pytest.raises(AttributionError, match=r"4 of 14 .* decisive step \(10 more only a weak label\), expected at"):
        StructuralAttributor().fit([*labelled_runs(4, seed=3), *weak])


def test_a_fitted_attributor_still_abstains_on_a_success(fitted) -> None:
    trajectory = labelled_runs(1)[0].trajectory.model_copy(update={"outcome": RunOutcome.SUCCEEDED})
    assert fitted[0].attribute(trajectory).abstained


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no fitted attributor 'structural'"),
        ('{"version": 1}', "no fitted attributor 'structural'"),
        (json.dumps({"version": 99, "model": {}}), "version 99, this release reads 3"),
    ],
)
def test_damaged_and_newer_files_say_what_to_do(tmp_path: Path, content, message) -> None:
    (tmp_path / "structural.json").write_text(content)
    with pytest.raises(AttributionError, match=message):
        get_attributor(tmp_path)


def test_a_directory_without_an_attributor(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no fitted attributor in"):
        get_attributor(str(tmp_path))


def test_labels_of_a_single_question_are_refused() -> None:
    one = [labelled.model_copy(update={"question_id": "the same"}) for labelled in labelled_runs(12)]
    with pytest.raises(AttributionError, match="belong to 1 question, expected at least 3"):
        StructuralAttributor().fit(one)


def test_a_fit_of_the_earlier_format_says_which_command_fits_anew(tmp_path: Path) -> None:
    (tmp_path / "structural.json").write_text(json.dumps({"attributor": "structural", "version": 1, "model": {}}))
    with pytest.raises(AttributionError, match=r"of version 1, this release reads 3.*tracer-hooks fit"):
        get_attributor(tmp_path)


def test_the_unmeasured_fit_is_the_same(tmp_path: Path) -> None:
    runs = labelled_runs(10)
    StructuralAttributor().fit(runs, seed=5)[0].save(tmp_path / "a")
    StructuralAttributor().fitted(runs, seed=5).save(tmp_path / "b")
    measured, unmeasured = (json.loads((tmp_path / name / "structural.json").read_text()) for name in ("a", "b"))
    assert measured["model"].pop("right")[1] == 10
    assert unmeasured["model"].pop("right") is None
    assert measured == unmeasured


def test_the_agent_has_a_confidence_of_its_own(fitted) -> None:
    answer = fitted[0].attribute(labelled_runs(1, seed=2)[0].trajectory)
    assert answer.agent_confidence is not None
    assert answer.agent_confidence >= answer.confidence, "where the step is right, so is the agent"


def test_labels_of_noise_promise_no_gain() -> None:
    rng = random.Random(1)
    runs = []
    for one in labelled_runs(24):
        step = rng.randrange(len(one.trajectory.steps))
        gold = one.decisive.model_copy(update={"step": step, "agent": one.trajectory.steps[step].agent})
        runs.append(one.model_copy(update={"decisive": gold}))
    assert StructuralAttributor().fit(runs)[1].fitted_step < 0.5, "the mark that misleads is not believed"
