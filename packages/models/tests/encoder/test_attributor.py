import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.diagnosis import Attributor
from tracer_hooks.diagnosis._protocol import Fittable, Scorer
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import RunOutcome, Step, Trajectory
from tracer_hooks_models.encoder import EncoderAttributor
from tracer_hooks_models.encoder._adaptation import POINTER


@pytest.fixture(scope="module")
def encoder(trained) -> EncoderAttributor:
    return EncoderAttributor(trained[0])


def test_it_names_the_faulty_agent_of_runs_it_has_not_seen(encoder, labeled) -> None:
    assert isinstance(encoder, Attributor)
    assert isinstance(encoder, Scorer)
    assert isinstance(encoder, Fittable)
    runs = [labeled(number, step_label=True) for number in range(500, 540)]
    right = [encoder.attribute(run.trajectory).agent == run.decisive.agent for run in runs]
    assert sum(right) / len(right) > 0.8


def test_scores_cover_every_step_agent_and_mode(encoder, labeled) -> None:
    trajectory = labeled(3).trajectory
    scores = encoder.score(trajectory)
    assert len(scores.steps) == len(trajectory.steps)
    assert set(scores.agents) == set(trajectory.agent_names)
    assert len(scores.modes) == 14 * len(trajectory.agent_names)
    assert sum(scores.belief()) == pytest.approx(1)


def test_the_answer_keeps_the_contract(encoder, labeled) -> None:
    trajectory = labeled(4).trajectory
    answer = encoder.attribute(trajectory)
    assert trajectory.steps[answer.step].agent == answer.agent
    assert sum(one.score for one in answer.candidates) <= 1 + 1e-9
    assert answer.evidence
    assert all(one.quote in trajectory.steps[one.step].content for one in answer.evidence)
    assert encoder.attribute(trajectory).candidates == answer.candidates


def test_a_person_is_never_blamed(encoder) -> None:
    texts = [("user", "banana nonsense wrong"), ("Solver", "the sum is five"), ("user", "banana banana nonsense")]
    steps = tuple(Step(index=k, agent=agent, content=text) for k, (agent, text) in enumerate(texts))
    answer = encoder.attribute(Trajectory(run_id="r", task="solve", steps=steps, outcome=RunOutcome.FAILED))
    assert answer.agent == "Solver"
    assert encoder.score(Trajectory(run_id="r", steps=steps)).belief() == (0, 1, 0)


@pytest.mark.parametrize(
    ("steps", "outcome", "reason"),
    [
        ((), RunOutcome.UNKNOWN, "trace too incomplete"),
        ((Step(index=0, agent="user", content="solve the sum"),), RunOutcome.UNKNOWN, "trace too incomplete"),
        ((Step(index=0, agent="Solver", content="  "),), RunOutcome.UNKNOWN, "trace too incomplete"),
        ((Step(index=0, agent="Solver", content="solve"),), RunOutcome.SUCCEEDED, "no sign of failure"),
    ],
)
def test_a_run_with_nothing_to_read_or_to_blame_gives_an_abstention(encoder, steps, outcome, reason: str) -> None:
    answer = encoder.attribute(Trajectory(run_id="r", steps=steps, outcome=outcome))
    assert (answer.abstained, answer.abstained_reason) == (True, reason)


def test_names_and_the_reference_do_not_count(encoder, labeled) -> None:
    trajectory = labeled(7).trajectory
    renamed = {"Solver": "Alpha", "Critic": "Beta", "Evaluator": "Gamma"}
    steps = tuple(step.model_copy(update={"agent": renamed[step.agent]}) for step in trajectory.steps)
    found = encoder.score(trajectory.model_copy(update={"steps": steps, "reference": "banana"}))
    assert found.steps == encoder.score(trajectory).steps


def test_fitting_moves_the_pointer_to_the_labelled_steps_and_leaves_the_encoder_alone(
    encoder, labeled, tmp_path: Path
) -> None:
    # in these runs the decisive step is the second one of the faulty agent's, which the shipped pointer cannot know
    runs = []
    for k in range(30):
        one = labeled(k, step_label=True)
        later = one.decisive.model_copy(update={"step": one.decisive.step + 3})
        runs.append(one.model_copy(update={"decisive": later}))
    before = encoder.score(runs[0].trajectory)
    fitted, report = encoder.fit(runs)
    assert encoder.score(runs[0].trajectory) == before
    assert report.trajectories == 30
    assert report.shipped_step < 0.3
    assert report.fitted_step > 0.7
    assert report.gain == pytest.approx(report.fitted_step - report.shipped_step)
    fitted.save(tmp_path)
    again = EncoderAttributor.load(tmp_path)
    assert again.score(runs[1].trajectory).steps == pytest.approx(fitted.score(runs[1].trajectory).steps)
    assert again.attribute(runs[1].trajectory).step == fitted.attribute(runs[1].trajectory).step


def test_fitting_to_labels_without_sense_or_to_few_keeps_the_shipped_pointer(encoder, labeled) -> None:
    runs = [labeled(k, step_label=True) for k in range(30)]
    _, report = encoder.fit(runs)
    assert report.fitted_step >= report.shipped_step
    with pytest.raises(AttributionError, match="at least 5"):
        encoder.fit(runs[:3])


def tampered(folder: Path, copy: Path, *, fields: dict[str, Any] | None = None, weights: bytes | None = None) -> Path:
    """A copy of an encoder with other fields ("part.name") or other weights, and sums that fit."""
    shutil.copytree(folder, copy)
    config = json.loads((copy / "encoder.json").read_text())
    for name, value in (fields or {}).items():
        part, _, field = name.partition(".")
        config[part][field] = value
    if weights is not None:
        (copy / "encoder.safetensors").write_bytes(weights)
        config["weights_sha256"] = hashlib.sha256(weights).hexdigest()
    (copy / "encoder.json").write_text(json.dumps(config))
    return copy


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("encoder.safetensors", None, "SHA-256"),
        ("tokenizer.json", "{}", "tokenizer"),
        ("tokenizer.json", "no tokenizer", "tokenizer"),
        ("tokenizer.json", '{"model": {"type": "WordLevel", "vocab": {"a": 0}}}', "tokenizer"),
        ("encoder.json", "", "tracer-hooks train contrastive"),
    ],
)
def test_a_damaged_file_is_refused(trained, labeled, tmp_path: Path, file: str, text: str | None, said: str) -> None:
    folder = tampered(trained[0], tmp_path / "copy")
    if text:
        (folder / file).write_text(text)
    elif text is None:
        data = bytearray((folder / file).read_bytes())
        data[-1] ^= 1
        (folder / file).write_bytes(data)
    else:
        (folder / file).unlink()
    with pytest.raises(AttributionError, match=said):
        EncoderAttributor(folder).score(labeled(1).trajectory)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"backbone.vocab_size": 900_000}, "a network of .* numbers is described, and its weights are"),
        ({"head.vectors": 6}, "'head.vectors' is 6, expected"),
        ({"backbone.num_hidden_layers": 3}, "do not fit encoder.json beside them|a network of"),
    ],
)
def test_a_configuration_that_does_not_fit_the_weights_is_refused(trained, labeled, tmp_path, fields, said) -> None:
    folder = tampered(trained[0], tmp_path / "copy", fields=fields)
    with pytest.raises(AttributionError, match=said):
        EncoderAttributor(folder).score(labeled(1).trajectory)


def test_weights_that_fit_their_sum_and_hold_no_numbers_are_refused(trained, labeled, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load, save

    state = load((trained[0] / "encoder.safetensors").read_bytes())
    name = next(name for name, value in state.items() if value.is_floating_point() and value.numel())
    spoilt = {**state, name: torch.full_like(state[name], float("nan"))}
    for weights in (save(spoilt), b"\xff" * 2_000_000):
        folder = tampered(trained[0], tmp_path / hashlib.sha256(weights).hexdigest(), weights=weights)
        with pytest.raises(AttributionError, match=r"encoder\.safetensors' do not fit encoder\.json beside them"):
            EncoderAttributor(folder).score(labeled(1).trajectory)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spread": [0.0]}, "'spread' must hold a positive number for each of 'weights'"),
        ({"features": [1]}, "'features' must be a list of names"),
        ({"slope": float("nan")}, "no fitted pointer"),
        ({}, "the fitted pointer reads 1 numbers a step"),
    ],
)
def test_a_pointer_that_was_tampered_with_is_refused(trained, labeled, tmp_path, change, said) -> None:
    folder = tampered(trained[0], tmp_path / "copy")
    pointer = {"slope": 1.0, "weights": [0.5], "spread": [1.0], "features": [], **change}
    (folder / POINTER).write_text(json.dumps(pointer))
    with pytest.raises(AttributionError, match=said):
        EncoderAttributor(folder).score(labeled(1).trajectory)
