import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tracer_hooks.errors import TrainingError
from tracer_hooks_models.commands import train_app


def run(*arguments: Any):
    return CliRunner().invoke(train_app, ["encoder", *map(str, arguments)])


def test_the_command_trains_and_prints_its_figures(base, data, tmp_path: Path) -> None:
    done = run("--data", data, "--base", base, "--out", tmp_path, "--epochs", 0.2, "--freeze", 1, "--no-features")
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures == json.loads((tmp_path / "metrics.json").read_text())
    assert figures["training"]["steps"] > 0
    assert "step" in done.stderr
    assert "deprecated" in done.stderr.lower()
    names = {path.name for path in tmp_path.iterdir()}
    assert {"encoder.json", "encoder.safetensors", "metrics.json", "tokenizer.json", "README.md"} <= names


def test_heads_can_be_trained_on_an_encoder_of_an_earlier_run(trained, data, tmp_path: Path) -> None:
    done = run("--data", data, "--base", trained[0], "--out", tmp_path, "--epochs", 4, "--heads-only")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["figures"]["other questions"]["all"]["agent_auc"] > 0.8


def test_architectures_that_are_left_out_are_not_trained_on(base, data, tmp_path):
    done = run("--data", data, "--base", base, "--out", tmp_path, "--leave-out", "agentverse")
    assert isinstance(done.exception, TrainingError)  # all of these runs are of Solver, Critic and Evaluator
    assert "left to train on" in str(done.exception)
    unknown = run("--data", data, "--base", base, "--out", tmp_path, "--leave-out", "swarm")
    assert unknown.exit_code == 2
