import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tracer_hooks.cli._train import train_app


def run(*arguments: Any):
    return CliRunner().invoke(train_app, ["encoder", *map(str, arguments)])


def test_the_command_trains_and_prints_its_figures(base, data, tmp_path: Path) -> None:
    done = run("--data", data, "--base", base, "--out", tmp_path, "--epochs", 0.2, "--freeze", 1, "--no-features")
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures == json.loads((tmp_path / "metrics.json").read_text())
    assert figures["training"]["steps"] > 0
    assert "step" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint.pt",
        "encoder.json",
        "encoder.safetensors",
        "metrics.json",
        "tokenizer.json",
    ]


def test_heads_can_be_trained_on_an_encoder_of_an_earlier_run(trained, data, tmp_path: Path) -> None:
    done = run("--data", data, "--base", trained[0], "--out", tmp_path, "--epochs", 4, "--heads-only")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["held_out_questions"]["all"]["agent_auc"] > 0.9


def test_an_unknown_architecture_is_a_usage_error(base, data, tmp_path: Path) -> None:
    done = run("--data", data, "--base", base, "--out", tmp_path, "--leave-out", "swarm")
    assert done.exit_code == 2
