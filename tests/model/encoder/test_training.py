import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tracer_hooks.attribution.encoder._tokens import StepTokenizer
from tracer_hooks.errors import TrainingError
from tracer_hooks.training._data import examples_of, labeled_in
from tracer_hooks.training._job import CHECKPOINT, EncoderTraining
from tracer_hooks.training._trainer import LoopOptions, Trainer
from tracer_hooks.training.encoder import _fresh, train_encoder


def trainer_of(base, data, out, **loop: Any) -> Trainer:
    job = EncoderTraining(
        data=(data,), base=base, out=out, loop=LoopOptions(**{"epochs": 0.5, **loop}), freeze=1, features=False
    )
    torch.manual_seed(job.loop.seed)
    model, names = _fresh(job)
    return Trainer(model, examples_of(labeled_in(job.data), StepTokenizer(base), names), job.loop)


def weights_of(trainer):
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def run_out(trainer):
    while not trainer.done:
        trainer.step()
    return weights_of(trainer)


def test_a_run_that_was_killed_and_resumed_gives_the_weights_of_one_that_was_not(base, data, tmp_path: Path) -> None:
    undisturbed = run_out(trainer_of(base, data, tmp_path))
    killed = trainer_of(base, data, tmp_path)
    for _ in range(3):
        killed.step()
    killed.save(tmp_path / CHECKPOINT)
    for _ in range(2):
        killed.step()  # lost
    torch.rand(100)  # whatever else the process did
    resumed = trainer_of(base, data, tmp_path)
    resumed.resume(tmp_path / CHECKPOINT)
    assert resumed.step_number == 3
    found = run_out(resumed)
    assert all(torch.equal(found[name], value) for name, value in undisturbed.items())


def test_another_seed_gives_other_weights(base, data, tmp_path: Path) -> None:
    one = run_out(trainer_of(base, data, tmp_path, seed=0))
    other = run_out(trainer_of(base, data, tmp_path, seed=1))
    assert not torch.equal(one["head.words.point.weight"], other["head.words.point.weight"])


def test_frozen_layers_stay_as_they_are(base, data, tmp_path: Path) -> None:
    trainer = trainer_of(base, data, tmp_path)
    before = weights_of(trainer)
    after = run_out(trainer)
    moved = {name for name, value in before.items() if not torch.equal(after[name], value)}
    assert not any(name.startswith(("backbone.bert.embeddings", "backbone.bert.encoder.layer.0")) for name in moved)
    assert any(name.startswith("backbone.bert.encoder.layer.1") for name in moved)


def test_a_checkpoint_of_other_options_is_refused(base, data, tmp_path: Path) -> None:
    first = trainer_of(base, data, tmp_path)
    first.step()
    first.save(tmp_path / CHECKPOINT)
    with pytest.raises(TrainingError, match="other options or data"):
        trainer_of(base, data, tmp_path, seed=5).resume(tmp_path / CHECKPOINT)


def test_training_finds_what_sets_the_faulty_agent_apart(trained) -> None:
    out, metrics = trained
    assert metrics["held_out_questions"]["all"]["agent_auc"] > 0.9
    assert json.loads((out / "metrics.json").read_text()) == metrics


def test_the_command_stops_at_its_time_limit_and_goes_on_with_resume(base, data, tmp_path: Path) -> None:
    job = EncoderTraining(
        data=(data,), base=base, out=tmp_path, loop=LoopOptions(epochs=0.3), max_minutes=0, features=False
    )
    assert train_encoder(job)["training"]["steps"] == 0
    done = train_encoder(replace(job, max_minutes=5, resume=True))
    assert done["training"]["steps"] == done["training"]["of_steps"] > 0
    straight = train_encoder(replace(job, max_minutes=5, out=tmp_path / "straight"))
    assert straight["training"]["loss"] == done["training"]["loss"]


def test_architectures_that_are_left_out_are_reported_on_and_not_trained_on(base, data, tmp_path: Path) -> None:
    job = EncoderTraining(data=(data,), base=base, out=tmp_path, features=False, leave_out=("agentverse",))
    with pytest.raises(TrainingError, match="no labelled trajectory"):
        train_encoder(job)  # all of these runs are of agents called Solver, Critic and Evaluator


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leave_out": ("swarm",)}, "unknown architecture 'swarm'"),
        ({"resume": True}, "no 'checkpoint.pt'"),
    ],
)
def test_a_job_that_cannot_run_says_why(base, data, tmp_path: Path, change, message) -> None:
    job = replace(EncoderTraining(data=(data,), base=base, out=tmp_path), **change)
    with pytest.raises(TrainingError, match=message):
        train_encoder(job)


def test_a_base_without_weights_is_named(data, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="--base"):
        train_encoder(EncoderTraining(data=(data,), base=tmp_path, out=tmp_path))


def test_data_that_is_not_there_is_named(base, tmp_path: Path) -> None:
    job = EncoderTraining(data=(tmp_path / "nowhere",), base=base, out=tmp_path)
    with pytest.raises(TrainingError, match="nowhere"):
        train_encoder(job)
