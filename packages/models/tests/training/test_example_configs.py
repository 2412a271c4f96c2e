"""The example files in configs/ are valid, and say in their first lines how they are used."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tracer_hooks_models.training import ContrastiveConfig, GRPOConfig, SFTConfig, load_config
from tracer_hooks_models.training.stages import judge_stages

ROOT = Path(__file__).parents[4]
CONFIGS = sorted((ROOT / "configs").glob("*.toml"))
GIVEN = {"data": "labels.jsonl", "out": "out"}


def test_there_are_examples_of_every_kind() -> None:
    names = " ".join(path.name for path in CONFIGS)
    assert all(kind in names for kind in ("judge-sft", "judge-grpo", "judge-calibrate", "encoder"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_an_example_is_valid(path: Path) -> None:
    if path.stem == "encoder":
        config = load_config(ContrastiveConfig, path, {**GIVEN, "base": "base"})
        defaults = load_config(ContrastiveConfig, None, {**GIVEN, "base": "base"})
        assert config == defaults, "it spells the defaults out"
    elif path.stem == "judge-calibrate":
        stages = judge_stages(path, data=Path("labels.jsonl"), out=Path("out"), model=Path("model"))
        assert stages.grpo is not None
        assert stages.grpo.context_tokens == stages.sft.context_tokens
    else:
        load_config(GRPOConfig if "grpo" in path.stem else SFTConfig, path, {**GIVEN, "model": "model"})


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_an_example_says_how_it_is_used(path: Path) -> None:
    text = path.read_text()
    assert f"configs/{path.name}" in text
    assert re.match(r"# [A-Z].*\n#   \S", text)
    assert not {"data", "out", "model", "base"} & tomllib.loads(text).keys(), "these are given on the command line"
