import json
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.endpoint import ChatRequest
from tracer_hooks.errors import TrainingError
from tracer_hooks.schema import save_jsonl
from tracer_hooks_models.local_judge import LocalChat
from tracer_hooks_models.teaching import prompt_ids, read_verdict
from tracer_hooks_models.training import SFTConfig, train_sft
from tracer_hooks_models.training._judge_run import reply
from tracer_hooks_models.training._language_model import as_written, load_language_model, write_judge
from tracer_hooks_models.training.data import read_labeled, sft_rows
from tracer_hooks_models.training.sft import _trainer, token_rows

from ._weights import moved, same


@pytest.fixture
def config_of(shared):
    own = {"reply_tokens": 256, "batch": 2, "max_steps": 3, "rate": 1e-2}
    return lambda **options: SFTConfig(**{**shared, **own, **options})


def weights_in(folder, name="model.safetensors"):
    return load_file(folder / name)


def trainer_of(config):
    language = load_language_model(config)
    rows = sft_rows(read_labeled(config.data).rows, config.asked, language.count_tokens).rows
    return _trainer(config, language, token_rows(rows, language, config), [])


def test_every_weight_moves_or_the_adapters_alone(config_of, tiny):
    done = train_sft(config_of())
    before, after = weights_in(tiny), weights_in(config_of().out)
    assert before.keys() == after.keys()
    assert [name for name in before if torch.equal(before[name], after[name])] == []
    assert done["training"]["steps"] == 3
    trainer = trainer_of(config_of(lora_rank=2))
    found = moved(trainer)
    assert found == {name for name in trainer.model.state_dict() if "lora_" in name}
    linear = [name for name in weights_in(tiny) if name.endswith("_proj.weight")]
    assert len(found) == 2 * len(linear)  # every linear layer has both of its halves


def test_the_loss_counts_the_reply_only(config_of):
    config = config_of()
    language = load_language_model(config)
    rows = sft_rows(read_labeled(config.data).rows, config.asked, language.count_tokens).rows
    for row, tokens in zip(rows, token_rows(rows, language, config), strict=True):
        said = [one for one in tokens["labels"] if one != -100]
        assert language.tokenizer.decode(said) == row.completion + "<end>"
        prompt = tokens["input_ids"][: -len(said)]
        assert prompt == prompt_ids(language.tokenizer, row.messages)
        assert set(tokens["labels"][: len(prompt)]) == {-100}


def test_one_batch_of_eight_and_eight_of_one_train_alike(config_of):
    found = []
    for batch, accumulation in ((8, 1), (1, 8)):
        trainer = trainer_of(config_of(batch=batch, accumulation=accumulation, rate=1e-3))
        trainer.train()
        found.append(trainer.model.state_dict())
    assert all(torch.allclose(found[0][name], found[1][name], atol=1e-5) for name in found[0])


@pytest.mark.parametrize("lora_rank", [0, 2])
def test_a_run_that_was_broken_off_and_resumed_gives_the_weights_of_one_that_was_not(config_of, tmp_path, lora_rank):
    name = "adapter_model.safetensors" if lora_rank else "model.safetensors"
    common = {"max_steps": 6, "checkpoint_every": 2, "lora_rank": lora_rank}
    train_sft(config_of(out=tmp_path / "straight", **common))
    broken = config_of(out=tmp_path / "broken", **common)
    stop_after(trainer := trainer_of(broken), 4)
    trainer.train()
    done = train_sft(config_of(out=tmp_path / "broken", resume=True, **common))
    assert done["training"]["steps"] == 6
    assert same(weights_in(tmp_path / "straight", name), weights_in(tmp_path / "broken", name))


def stop_after(trainer, steps):
    """Break a run off with an error in the step after ``steps``."""
    from transformers import TrainerCallback

    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            control.should_training_stop = state.global_step >= steps

    trainer.add_callback(Stop())


@pytest.mark.parametrize("lora_rank", [0, 2])
@pytest.mark.parametrize("counted", [None, 20])
def test_no_logits_are_made_of_the_prompt_and_the_loss_is_that_of_trl(config_of, lora_rank, counted):
    from trl import SFTTrainer

    trainer = trainer_of(config_of(lora_rank=lora_rank))
    rows = sorted(trainer.train_dataset, key=lambda row: len(row["input_ids"]))
    batch = trainer.data_collator([rows[0], rows[-1]])
    labelled = int((batch["labels"] != -100).sum())
    scored = []
    trainer.model.get_output_embeddings().register_forward_hook(lambda _, given, made: scored.append(made.shape[1]))
    found = []
    for compute in (trainer.compute_loss, super(SFTTrainer, trainer).compute_loss, _of_trl(trainer)):
        trainer.model.zero_grad()
        loss = compute(trainer.model, dict(batch), num_items_in_batch=counted)
        loss.backward()
        moved = {name: one.grad.clone() for name, one in trainer.model.named_parameters() if one.grad is not None}
        found.append((loss.detach(), moved))
    assert scored[0] <= labelled < scored[1] == batch["labels"].shape[1]
    for loss, moved in found[1:]:
        assert torch.allclose(loss, found[0][0], atol=1e-6)
        assert moved.keys() == found[0][1].keys()
        assert all(torch.allclose(moved[name], found[0][1][name], atol=1e-6) for name in moved)


def _of_trl(trainer):
    from tracer_hooks_models.training._language_model import ReplyLoss

    return super(ReplyLoss, trainer).compute_loss


@pytest.mark.parametrize("lora_rank", [0, 2])
@pytest.mark.parametrize("template", [False, True])
def test_the_judge_gives_the_trainers_answers(config_of, tiny, tiny_chat, run_of, lora_rank, template):
    """Prompt, tokens and weights are the same: the reply is, too, letter for letter."""
    config = config_of(model=tiny_chat if template else tiny, task="verdict", lora_rank=lora_rank, max_steps=4)
    trainer = trainer_of(config)
    trainer.train()
    model = trainer.model.eval()
    write_judge(trainer, config, as_written(trainer, config))
    rows = sft_rows(read_labeled(config.data).rows, config.asked, lambda text: trainer_count(trainer, text)).rows
    judge: Any = get_attributor(config.out)
    chat = judge._resources.model
    assert isinstance(chat, LocalChat)
    for row in rows[:3]:
        ids = prompt_ids(trainer.processing_class, row.messages)
        mine = reply(model, trainer.processing_class, ids, max_tokens=64)
        request = ChatRequest(messages=row.messages, schema={}, schema_name="verdict", max_tokens=64)
        assert chat.complete(request).text == mine
        assert len(mine) > 20


def trainer_count(trainer, text):
    return len(trainer.processing_class.encode(text, add_special_tokens=False))


@pytest.mark.slow
def test_the_loss_falls_and_the_judge_then_says_what_was_learnt_by_heart(config_of, tiny_chat, run_of, tmp_path):
    item = run_of(1)
    save_jsonl(tmp_path / "one.jsonl", [item])
    config = config_of(
        data=(tmp_path / "one.jsonl",), task="verdict", model=tiny_chat, batch=1, max_steps=110, rate=6e-3
    )
    trainer = trainer_of(config)
    trainer.train()
    losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
    assert losses[-1] < 0.1 * losses[0]
    write_judge(trainer, config, as_written(trainer, config))
    judge: Any = get_attributor(str(config.out))
    assert (judge.name, judge.options.protocol, judge.options.context_tokens) == ("judge", "all-at-once", 3072)
    answer = judge.attribute(item.trajectory)
    assert (answer.agent, answer.step) == (item.decisive.agent, item.decisive.step)
    assert answer.error_mode is item.decisive.error_mode


def test_an_adapter_can_be_merged_and_an_adapter_of_an_earlier_run_goes_on(config_of, tmp_path):
    first = config_of(out=tmp_path / "first", lora_rank=2)
    train_sft(first)
    second = config_of(out=tmp_path / "second", model=first.out)
    train_sft(second)
    one, other = (weights_in(folder, "adapter_model.safetensors") for folder in (first.out, second.out))
    assert one.keys() == other.keys()
    assert not same(one, other)
    merged = config_of(out=tmp_path / "merged", lora_rank=2, merge=True)
    train_sft(merged)
    assert not (merged.out / "adapter_config.json").exists()
    assert (merged.out / "model.safetensors").is_file()
    assert get_attributor(merged.out).name == "judge"


@pytest.mark.parametrize("merge", [False, True])
def test_a_whole_model_is_written_in_the_precision_of_its_base_and_answers_the_same(config_of, tiny, tmp_path, merge):
    import transformers

    base = tmp_path / "half"
    half = transformers.AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.bfloat16)
    half.save_pretrained(base)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    tokenizer.save_pretrained(base)
    config = config_of(model=base, task="verdict", max_steps=4, lora_rank=2 if merge else 0, merge=merge)
    trainer = trainer_of(config)
    trainer.train()
    model = as_written(trainer, config)
    write_judge(trainer, config, model)
    assert {one.dtype for one in weights_in(config.out).values()} == {torch.bfloat16}
    assert json.loads((config.out / "config.json").read_text())["dtype"] == "bfloat16"
    rows = sft_rows(read_labeled(config.data).rows, config.asked, lambda text: trainer_count(trainer, text)).rows
    judge: Any = get_attributor(config.out)
    for row in rows[:3]:
        mine = reply(model.eval(), tokenizer, prompt_ids(tokenizer, row.messages), max_tokens=64)
        request = ChatRequest(messages=row.messages, schema={}, schema_name="verdict", max_tokens=64)
        assert judge._resources.model.complete(request).text == mine
        assert len(mine) > 20


def test_the_run_writes_its_figures_and_a_card(config_of, labels):
    config = config_of(valid_share=0.25, checkpoint_every=2, tensorboard=True)
    done = train_sft(config)
    assert json.loads((config.out / "metrics.json").read_text()) == done
    assert done["trajectories"] == {"trained on": 6, "other questions": 2, "teams left out": 0}
    assert 0 <= done["figures"]["other questions"]["valid"] <= 1
    assert done["training"]["best_step"] in (2, 3)
    card = (config.out / "README.md").read_text()
    assert "| other questions | 2 |" in card
    assert "| rate | 0.01 |" in card
    assert list((config.out / "tensorboard").rglob("events.out.*"))


def test_training_stops_when_other_questions_get_worse_and_the_best_is_kept(config_of):
    config = config_of(valid_share=0.25, checkpoint_every=1, patience=2, max_steps=40, rate=0.5)
    done = train_sft(config)
    training = done["training"]
    assert training["stopped"] == "no improvement"
    assert training["best_step"] <= training["steps"] - 2
    best = config.out / "checkpoints" / f"checkpoint-{training['best_step']}"
    assert same(weights_in(config.out), weights_in(best))


def test_a_reply_that_is_longer_than_the_judge_would_read_is_an_error_that_names_the_row(config_of):
    with pytest.raises(TrainingError, match=r"labeled.jsonl:\d+: the reply takes \d+ tokens, reply_tokens is 32"):
        train_sft(config_of(task="verdict", reply_tokens=32))
    assert read_verdict("{}", read_labeled(config_of().data).rows[0].trajectory) is None
