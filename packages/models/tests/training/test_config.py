import json

import pytest

from tracer_hooks.errors import ConfigError

pytest.importorskip("yaml")

from tracer_hooks_models.training import GRPOConfig, SFTConfig, load_config

NEEDED = {"data": "runs", "out": "out", "model": "tiny"}


def write(path, values):
    if path.suffix == ".toml":
        path.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in values.items()))
    else:
        path.write_text(json.dumps(values))  # JSON is YAML too
    return path


@pytest.mark.parametrize("name", ["a.toml", "a.yaml", "a.json"])
def test_options_come_from_a_file_and_flags_go_before_them(tmp_path, name):
    path = write(tmp_path / name, {**NEEDED, "epochs": 3, "seed": 7, "data": ["a", "b"]})
    config = load_config(SFTConfig, path, {"seed": 0, "epochs": None})
    assert (config.epochs, config.seed) == (3.0, 0)
    assert [str(one) for one in config.data] == ["a", "b"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"learning_rate": 1}, r"'learning_rate' of '.*bad.toml': Unexpected keyword.*expected one of.*rate"),
        ({"batch": 0}, r"'batch' of '.*bad.toml': Input should be greater than or equal to 1"),
        ({"task": "guess"}, r"'task' of '.*bad.toml': Input should be 'verdict' or 'shortlist'"),
        ({"epochs": "many"}, r"'epochs' of '.*bad.toml'"),
        ({"checkpoints_kept": 1}, r"'checkpoints_kept'"),
    ],
)
def test_an_option_that_cannot_be_used_is_named_with_its_file(tmp_path, values, message):
    with pytest.raises(ConfigError, match=message):
        load_config(SFTConfig, write(tmp_path / "bad.toml", {**NEEDED, **values}))
    with pytest.raises(ConfigError, match="'model'"):
        load_config(SFTConfig, None, {"data": ("x",), "out": "out"})


@pytest.mark.parametrize(("name", "text"), [("a.toml", "x = ["), ("a.yaml", "- 1"), ("a.json", "{"), ("a.ini", "")])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=name):
        load_config(SFTConfig, tmp_path / name)
    with pytest.raises(ConfigError, match="nowhere"):
        load_config(SFTConfig, tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch": 2, "accumulation": 3}, "batch x accumulation is 6, expected a multiple of rollouts = 4"),
        ({"batch": 2, "generated_at_once": 6}, "generated_at_once is 6, expected a multiple of rollouts = 4"),
        ({"batch": 8, "generated_at_once": 4}, "generated_at_once is 4, expected a multiple of rollouts = 4"),
    ],
)
def test_replies_fill_whole_groups_and_batches(given, message):
    with pytest.raises(ConfigError, match=message):
        load_config(GRPOConfig, None, {**NEEDED, "accumulation": 8, "rollouts": 4, **given})


def test_the_learning_rate_follows_what_is_trained():
    whole = load_config(SFTConfig, None, NEEDED)
    assert whole.highest_rate == 3e-6
    assert load_config(SFTConfig, None, {**NEEDED, "lora_rank": 8}).highest_rate == 1e-4
    assert load_config(GRPOConfig, None, {**NEEDED, "lora_rank": 8}).highest_rate == 5e-6
    assert load_config(GRPOConfig, None, {**NEEDED, "rate": 0.5}).highest_rate == 0.5
