"""Reinforcement learning of a judge by GRPO: what ``tracer-hooks train grpo`` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracer_hooks.errors import TrainingError
from tracer_hooks.extension import require
from tracer_hooks_models.teaching import ChatMessage, prompt_text
from tracer_hooks_models.training._config import GRPOConfig
from tracer_hooks_models.training._judge_run import answer_in, finish, require_libraries
from tracer_hooks_models.training._language_model import LanguageModel, load_language_model
from tracer_hooks_models.training._progress import Progress, Silent
from tracer_hooks_models.training._run import arguments_of, begin, read_training_rows, train
from tracer_hooks_models.training.data import PromptRow, prompt_rows
from tracer_hooks_models.training.rewards import agent_reward, reward, step_kernel

__all__ = ["GRPOConfig", "reward_functions", "train_grpo"]

_MOST_VALID = 64
"""Prompts of the validation part that a look at it takes."""
_LEAST_CLIP = 0.2
"""What is left of the clip in the end."""

RewardFunction = Callable[..., list[float]]


def train_grpo(config: GRPOConfig, progress: Progress | None = None) -> dict[str, Any]:
    """Train a language model by rewards of its own replies, and write it to ``config.out``.

    Args:
        config: What to train on, and how.
        progress: Told how it goes.

    Returns:
        What stands in ``metrics.json``; see :func:`~tracer_hooks_models.training.sft.train_sft`.

    Raises:
        TrainingError: The data cannot be used, or training cannot go on; the row or the step is named.
        ConfigError: The model cannot be loaded, or options contradict each other.
        MissingExtraError: Something is not installed.
    """
    require_libraries("tracer-hooks train grpo")
    if config.vllm:
        require("vllm", extra="train", feature="'vllm' = true; vLLM is installed for itself and")
    progress = progress or Silent()
    checkpoint = begin(config)
    language = load_language_model(config)
    material = read_training_rows(config, progress)
    with progress.phase("building rows") as tick:
        trained, valid = (
            prompt_rows(part, config.asked, language.count_tokens, bad_rows=config.bad_rows, tick=tick)
            for part in (material.splits.train, material.splits.valid)
        )
    material.left_out.update(trained.left_out + valid.left_out)
    trainer = _trainer(config, language, trained.rows, valid.rows[:_MOST_VALID])
    done = train(trainer, config, checkpoint, progress)
    return finish(trainer, config, material, done, kind="GRPO", rewarded=config.rewarded, progress=progress)


def reward_functions(rows: Sequence[PromptRow], config: GRPOConfig) -> dict[str, RewardFunction]:
    """Return what a Trainer is rewarded by, and what it only reports, in the form that trl calls.

    Args:
        rows: Those that the column ``row`` counts.
        config: What is rewarded.
    """

    def of(score: Callable[[str, PromptRow], float]) -> RewardFunction:
        def scored(completions: Sequence[Any], row: Sequence[int], **_: Any) -> list[float]:
            return [score(_text(one), rows[place]) for one, place in zip(completions, row, strict=True)]

        return scored

    found = {
        "reward": of(lambda text, row: reward(answer_in(text, row), row.gold, config.rewarded)),
        "valid": of(lambda text, row: float(answer_in(text, row) is not None)),
        "step": of(lambda text, row: _step(text, row, config.sigma)),
        "agent": of(lambda text, row: _agent(text, row)),
    }
    for name, function in found.items():
        function.__name__ = name
    return found


def prompts_of(rows: Sequence[PromptRow], tokenizer: Any, *, first: int = 0) -> list[dict[str, Any]]:
    """Rows as trl takes them: messages where the model has a chat template, else their text."""
    return [{"prompt": _prompt(tokenizer, row), "row": first + place} for place, row in enumerate(rows)]


def _prompt(tokenizer: Any, row: PromptRow) -> Any:
    if not tokenizer.chat_template:
        return prompt_text(tokenizer, row.messages)[0]
    messages = row.messages
    wanted = prompt_text(tokenizer, messages)[0]
    if wanted != _templated(tokenizer, messages):  # its template takes no system message
        first, second, *rest = messages
        messages = (ChatMessage("user", f"{first.content}\n\n{second.content}"), *rest)
    return [{"role": one.role, "content": one.content} for one in messages]


def _templated(tokenizer: Any, messages: Sequence[ChatMessage]) -> str | None:
    written = [{"role": one.role, "content": one.content} for one in messages]
    try:
        return str(
            tokenizer.apply_chat_template(written, tokenize=False, add_generation_prompt=True, enable_thinking=False)
        )
    except Exception:  # templates raise what they like
        return None


def _text(completion: Any) -> str:
    return completion if isinstance(completion, str) else str(completion[0]["content"])


def _step(text: str, row: PromptRow, sigma: float) -> float:
    answer = answer_in(text, row)
    if answer is None or answer.step is None or row.gold.step is None:
        return 0.0
    return step_kernel(answer.step - row.gold.step, sigma)


def _agent(text: str, row: PromptRow) -> float:
    answer = answer_in(text, row)
    return 0.0 if answer is None else agent_reward(answer.agent, row.gold.agent)


def _trainer(config: GRPOConfig, language: LanguageModel, rows: Sequence[PromptRow], valid: Sequence[PromptRow]) -> Any:
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig as Arguments
    from trl import GRPOTrainer

    from tracer_hooks_models.training._run import GuardedTrainer

    class GuardedGRPO(GuardedTrainer, GRPOTrainer):  # type: ignore[misc]
        """GRPO that names the step where something goes wrong."""

    class ClosingClip(TrainerCallback):
        """B_s = max(0.2 B_0, B_0 (1 - s / S)), as AgenTracer has it."""

        trainer: Any = None

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            left = max(_LEAST_CLIP, 1 - state.global_step / state.max_steps)
            self.trainer.epsilon_low = self.trainer.epsilon_high = config.ratio_clip * left

    if not rows:
        raise TrainingError(
            "no labelled trajectory gave a prompt to train on: the labelled step is in no window or among no "
            "candidates. Set context_tokens or top_k higher, or task = 'verdict'"
        )
    functions = reward_functions((*rows, *valid), config)
    arguments = arguments_of(
        config,
        rate=config.highest_rate,
        validates=bool(valid),
        per_device_eval_batch_size=config.rollouts,
        metric_for_best_model="eval_reward" if valid else None,
        greater_is_better=True if valid else None,
        num_generations=config.rollouts,
        steps_per_generation=None if config.generated_at_once is None else config.generated_at_once // config.batch,
        max_completion_length=config.reply_tokens,
        temperature=config.temperature,
        beta=config.kl,
        epsilon=config.ratio_clip,
        num_iterations=config.updates,
        loss_type="grpo",
        scale_rewards="group",
        reward_weights=[1.0] + [0.0] * (len(functions) - 1),
        chat_template_kwargs={"enable_thinking": False},
        use_vllm=config.vllm,
        activation_checkpointing=config.gradient_checkpointing,
    )
    if config.vllm:
        arguments["vllm_mode"] = "colocate"
    trainer = GuardedGRPO(
        model=language.model,
        reward_funcs=list(functions.values()),
        args=Arguments(**arguments),
        train_dataset=Dataset.from_list(prompts_of(rows, language.tokenizer)),
        eval_dataset=Dataset.from_list(prompts_of(valid, language.tokenizer, first=len(rows))) if valid else None,
        processing_class=language.tokenizer,
        peft_config=language.adapter,
    )
    if config.closing_clip:
        callback = ClosingClip()
        callback.trainer = trainer
        trainer.add_callback(callback)
    return trainer
