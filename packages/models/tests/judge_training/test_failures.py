"""What goes wrong in a run names the step, and leaves the last good checkpoint."""

import json
import shutil

import pytest
import torch
from typer.testing import CliRunner

from tracer_hooks.errors import ConfigError, TrainingError
from tracer_hooks_models.commands import train_app
from tracer_hooks_models.training import SFTConfig, train_sft
from tracer_hooks_models.training import sft as module
from tracer_hooks_models.training._run import is_whole, last_whole

from ._weights import same


@pytest.fixture
def config_of(shared):
    own = {"reply_tokens": 64, "batch": 1, "max_steps": 4, "checkpoint_every": 1, "rate": 1e-3}
    return lambda **options: SFTConfig(**{**shared, **own, **options})


@pytest.fixture
def trainer_with(monkeypatch):
    """Has what is given change every trainer that is made."""

    def installed(change):
        made = module._trainer

        def trainer(*arguments):
            found = made(*arguments)
            change(found)
            return found

        monkeypatch.setattr(module, "_trainer", trainer)

    return installed


@pytest.fixture
def third_step(trainer_with):
    """Has something happen in the loss of the third step."""

    def installed(happens):
        def change(trainer):
            compute = trainer.compute_loss

            def loss(*given, **named):
                value = compute(*given, **named)
                return happens(value) if trainer.state.global_step == 2 else value

            trainer.compute_loss = loss

        trainer_with(change)

    return installed


def raising(error):
    def fail(*_):
        raise error

    return fail


def test_a_loss_that_is_no_number_stops_the_run(config_of, third_step):
    third_step(lambda loss: loss * float("nan"))
    config = config_of()
    with pytest.raises(TrainingError, match=r"step 3 of 4: the loss is nan. The last good .*checkpoint-2"):
        train_sft(config)
    assert last_whole(config.out).name == "checkpoint-2"


@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), MemoryError(),
     RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")],
)  # fmt: skip
def test_a_device_without_memory_stops_the_run_and_says_what_helps(config_of, third_step, error):
    third_step(raising(error))
    with pytest.raises(TrainingError, match=r"step 3 of 4: the device has no memory.*checkpoint-2.*Halve batch"):
        train_sft(config_of())


def test_another_error_is_not_called_one_of_memory(config_of, third_step):
    third_step(raising(RuntimeError("shapes do not match")))
    with pytest.raises(RuntimeError, match="shapes do not match"):
        train_sft(config_of())


def test_weights_that_are_no_numbers_are_never_a_checkpoint(config_of, trainer_with):
    def change(trainer):
        step = trainer.training_step

        def broken(*given, **named):
            value = step(*given, **named)
            if trainer.state.global_step == 1:
                next(trainer.model.parameters()).data[0, 0] = float("inf")
            return value

        trainer.training_step = broken

    trainer_with(change)
    config = config_of()
    said = r"after step 2 of 4: the weight '.*' is no number any more. The last good .*checkpoint-1"
    with pytest.raises(TrainingError, match=said):
        train_sft(config)
    assert last_whole(config.out).name == "checkpoint-1"


def test_a_checkpoint_that_is_broken_off_is_not_gone_on_from(config_of, monkeypatch, tmp_path):
    from safetensors.torch import load_file
    from transformers import Trainer

    train_sft(config_of(out=tmp_path / "straight"))
    write = Trainer._save_optimizer_and_scheduler

    def full(self, folder):
        if self.state.global_step == 3:
            raise OSError(28, "No space left on device")
        write(self, folder)

    monkeypatch.setattr(Trainer, "_save_optimizer_and_scheduler", full)
    config = config_of()
    with pytest.raises(
        TrainingError, match=r"after step 3 of 4: the checkpoint cannot be written: .*No space left.*checkpoint-2"
    ):
        train_sft(config)
    broken = config.out / "checkpoints" / "checkpoint-3"
    assert broken.is_dir()
    assert not is_whole(broken)
    monkeypatch.undo()
    train_sft(config_of(resume=True))
    assert same(*(load_file(out / "model.safetensors") for out in (tmp_path / "straight", config.out)))


def test_an_adapter_whose_base_is_gone_is_named(config_of, tmp_path, tiny):
    base = shutil.copytree(tiny, tmp_path / "base")
    train_sft(config_of(model=base, out=tmp_path / "adapter", lora_rank=2, max_steps=1))
    shutil.rmtree(base)
    with pytest.raises(ConfigError, match="which is not there"):
        train_sft(config_of(model=tmp_path / "adapter", out=tmp_path / "more"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "nowhere"}, r"'model' is '.*nowhere'"),
        ({"model": "."}, r"'model' = '.*' cannot be loaded"),
        ({"context_tokens": 9000}, "'context_tokens' is 9000, but the model reads 4096"),
        ({"init": "random", "lora_rank": 2}, "would have no base"),
    ],
)
def test_options_that_cannot_work_are_refused(config_of, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        train_sft(config_of(**options))


def test_a_model_can_begin_with_random_weights_of_the_same_shape(config_of, tiny):
    from safetensors.torch import load_file

    config = config_of(init="random", rate=1e-9, max_steps=1)
    train_sft(config)
    before, after = load_file(tiny / "model.safetensors"), load_file(config.out / "model.safetensors")
    assert {name: value.shape for name, value in before.items()} == {name: one.shape for name, one in after.items()}
    assert not torch.allclose(before["lm_head.weight"], after["lm_head.weight"])


def test_the_command_takes_a_file_and_flags(config_of, tiny, labels, tmp_path):
    (tmp_path / "run.toml").write_text(
        f'data = "{labels}"\nmodel = "{tiny}"\ntask = "shortlist"\ncontext_tokens = 3072\nreply_tokens = 64\n'
        "valid_share = 0\nmax_steps = 9\ntensorboard = false\n"
    )
    given = ["sft", "--config", str(tmp_path / "run.toml"), "--out", str(tmp_path / "out"), "--max-steps", "1"]
    done = CliRunner().invoke(train_app, given)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert json.loads(done.stdout)["training"]["steps"] == 1
    again = CliRunner().invoke(train_app, given)
    assert isinstance(again.exception, TrainingError)
    assert "go on from it with --resume" in str(again.exception)
