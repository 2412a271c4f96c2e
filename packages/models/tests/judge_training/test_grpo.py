import importlib.util
from typing import Any

import pytest
from safetensors.torch import load_file

from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.errors import MissingExtraError
from tracer_hooks_models.teaching import prompt_ids
from tracer_hooks_models.training import GRPOConfig, train_grpo
from tracer_hooks_models.training._language_model import load_language_model
from tracer_hooks_models.training.data import prompt_rows, read_labeled
from tracer_hooks_models.training.grpo import _trainer, prompts_of, reward_functions

from ._weights import moved, same


@pytest.fixture
def config_of(shared):
    own = {"reply_tokens": 32, "batch": 4, "rollouts": 4, "max_steps": 2, "rate": 1e-2}
    return lambda **options: GRPOConfig(**{**shared, **own, **options})


def trainer_of(config, score=None):
    """The run's trainer; with ``score``, replies are rewarded by it instead."""
    language = load_language_model(config)
    rows = prompt_rows(read_labeled(config.data).rows, config.asked, language.count_tokens).rows
    trainer = _trainer(config, language, rows, ())
    if score is not None:

        def scored(completions, **_):
            return [score(one if isinstance(one, str) else one[0]["content"]) for one in completions]

        trainer.reward_funcs[0] = scored
    return trainer


def share_of_a(text):
    return text.count("a") / max(1, len(text))


def test_rewards_move_every_weight_or_the_adapters_alone_and_equal_rewards_move_none(config_of):
    trainer = trainer_of(config_of(), share_of_a)
    assert moved(trainer) == trainer.model.state_dict().keys()
    assert moved(trainer_of(config_of(weight_decay=0.0), lambda text: 1.0)) == set()
    adapter = trainer_of(config_of(lora_rank=2), share_of_a)
    assert moved(adapter) == {name for name in adapter.model.state_dict() if "lora_" in name}


def test_fewer_replies_at_once_are_as_many_in_a_step(config_of):
    """Two prompts a step: their eight replies are generated in two goes of four, and all of them count."""
    asked = []

    def score(text):
        asked.append(text)
        return share_of_a(text)

    trainer = trainer_of(config_of(accumulation=2, generated_at_once=4), score)
    generate = trainer._generate_and_score_completions
    goes = []

    def counted(inputs):
        goes.append(len(inputs))
        return generate(inputs)

    trainer._generate_and_score_completions = counted
    assert moved(trainer) == trainer.model.state_dict().keys()
    assert goes == [4] * 4  # of two steps
    assert len(asked) == 16


@pytest.mark.slow
def test_what_is_rewarded_becomes_more_likely(config_of):
    config = config_of(max_steps=12, batch=8, rollouts=8, rate=4e-2, log_every=1, closing_clip=False)
    trainer = trainer_of(config, share_of_a)
    trainer.train()
    told = [one["reward"] for one in trainer.state.log_history if "reward" in one]
    assert sum(told[-3:]) / 3 > 1.2 * sum(told[:3]) / 3


def test_the_clip_closes_over_the_run_to_a_fifth_at_the_least(config_of):
    trainer = trainer_of(config_of(ratio_clip=0.5))
    closing = next(one for one in trainer.callback_handler.callbacks if type(one).__name__ == "ClosingClip")
    trainer.state.max_steps = 10
    found = []
    for step in (0, 4, 8, 10):
        trainer.state.global_step = step
        closing.on_step_begin(trainer.args, trainer.state, trainer.control)
        found.append(round(trainer.epsilon_low, 6))
        assert trainer.epsilon_low == trainer.epsilon_high
    assert found == [0.5, 0.3, 0.1, 0.1]


@pytest.mark.parametrize("chat", [False, True])
def test_prompts_are_the_judges_token_for_token(config_of, tiny, tiny_chat, chat):
    config = config_of(model=tiny_chat if chat else tiny)
    language = load_language_model(config)
    rows = prompt_rows(read_labeled(config.data).rows, config.asked, language.count_tokens).rows
    trainer = _trainer(config, language, rows, ())
    prompts = [one["prompt"] for one in prompts_of(rows, language.tokenizer)][:3]
    found = trainer._tokenize_prompts(prompts)[0]
    assert found == [prompt_ids(language.tokenizer, row.messages) for row in rows[:3]]


def test_replies_are_rewarded_by_the_row_that_they_answer(config_of):
    config = config_of()
    language = load_language_model(config)
    rows = prompt_rows(read_labeled(config.data).rows, config.asked, language.count_tokens).rows
    functions = reward_functions(rows, config)
    right = [f'{{"choice": "{"ABC"[row.options.index(row.gold.step)]}"}}' for row in rows]
    places = list(range(len(rows)))
    assert functions["reward"](completions=right, row=places) == [1.0] * len(rows)
    as_messages = [[{"role": "assistant", "content": text}] for text in right]
    assert functions["reward"](completions=as_messages, row=places) == [1.0] * len(rows)
    assert functions["reward"](completions=["nonsense"], row=[0]) == [0.0]
    assert functions["valid"](completions=["nonsense", right[1]], row=[0, 1]) == [0.0, 1.0]


def test_a_run_that_was_broken_off_and_resumed_gives_the_weights_of_one_that_was_not(config_of, tmp_path, monkeypatch):
    """Rollouts are drawn with the seed of the checkpoint."""
    common = {"max_steps": 4, "checkpoint_every": 1}
    monkeypatch.setattr("tracer_hooks_models.training.grpo.reward", lambda answer, gold, options: 0.0)
    from tracer_hooks_models.training import grpo

    made = grpo.reward_functions

    def rewarded(rows, config):
        found = made(rows, config)

        def reward(completions, row, **_):
            return [share_of_a(one) for one in completions]

        return {**found, "reward": reward}

    monkeypatch.setattr(grpo, "reward_functions", rewarded)
    train_grpo(config_of(out=tmp_path / "straight", **common))
    stopped = train_grpo(config_of(out=tmp_path / "broken", max_minutes=1e-9, **common))
    assert stopped["training"]["steps"] == 1
    train_grpo(config_of(out=tmp_path / "broken", resume=True, **common))
    assert same(*(load_file(tmp_path / name / "model.safetensors") for name in ("straight", "broken")))


def test_a_trained_judge_is_written_and_validated(config_of):
    config = config_of(valid_share=0.25, checkpoint_every=2)
    done = train_grpo(config)
    assert done["kind"] == "GRPO"
    assert done["figures"]["other questions"]["questions"] > 0
    judge: Any = get_attributor(config.out)
    assert judge.options.protocol == "shortlist"


def test_vllm_is_asked_for_where_it_is_missing(config_of):
    if importlib.util.find_spec("vllm") is None:
        with pytest.raises(MissingExtraError, match="vllm"):
            train_grpo(config_of(vllm=True))
