"""The example files in configs/ are valid, and say in their first lines how they are used."""

import re
import tomllib
from pathlib import Path

import pytest

from tracer_hooks_models.training import ContrastiveConfig, GRPOConfig, SFTConfig, load_config
from tracer_hooks_models.training.stages import judge_stages

ROOT = Path(__file__).parents[4]
CONFIGS = sorted((ROOT / "configs").glob("*.toml"))
GIVEN = {"data": "labels.jsonl", "out": "out"}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_an_example_is_valid_and_says_how_it_is_used(path: Path) -> None:
    kinds = ("judge-sft", "judge-grpo", "judge-calibrate", "encoder")
    assert all(any(other.stem.startswith(kind) for other in CONFIGS) for kind in kinds), "there is one of every kind"
    text = path.read_text()
    assert f"configs/{path.name}" in text
    assert re.match(r"# [A-Z].*\n#   \S", text)
    assert not {"data", "out", "model", "base"} & tomllib.loads(text).keys(), "these are given on the command line"
    if path.stem == "encoder":
        config = load_config(ContrastiveConfig, path, {**GIVEN, "base": "base"})
        defaults = load_config(ContrastiveConfig, None, {**GIVEN, "base": "base"})
        assert config == defaults, "it spells the defaults out"
    elif path.stem == "judge-calibrate":
        stages = judge_stages(path, data=Path("labels.jsonl"), out=Path("out"), model=Path("model"))
        assert stages.grpo.context_tokens == stages.sft.context_tokens
    else:
        load_config(GRPOConfig if "grpo" in path.stem else SFTConfig, path, {**GIVEN, "model": "model"})
