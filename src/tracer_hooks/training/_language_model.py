"""The language model that a judge is made of: loaded, given an adapter, and written where ``judge`` finds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tracer_hooks._optional import require
from tracer_hooks.attribution.teaching import base_of, write_judge_options
from tracer_hooks.errors import ConfigError, TracerHooksError, TrainingError
from tracer_hooks.training._config import JudgeConfig
from tracer_hooks.training._run import computes_in_bfloat16

EXTRA = "train"
IGNORED = -100
"""The label of a token that the loss does not count, as transformers takes it."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """What is trained."""

    model: Any
    """A causal language model of transformers, or of peft when it goes on with an adapter."""
    tokenizer: Any
    adapter: Any
    """A ``LoraConfig`` for a new adapter; None for none."""

    @property
    def ends(self) -> int:
        """The token that ends a reply."""
        return int(self.tokenizer.eos_token_id)

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text``."""
        return len(self.tokenizer.encode(text, add_special_tokens=False))


def load_language_model(config: JudgeConfig) -> LanguageModel:
    """The model that a run begins with.

    Raises:
        ConfigError: The folder holds no model, or options contradict each other.
        MissingExtraError: Something is not installed.
    """
    import transformers

    _refuse_contradictions(config)
    place = config.model.resolve()
    base = base_of(place)
    # The base of an adapter is only read: it need not be kept in float32.
    is_half = computes_in_bfloat16(config) and bool(config.lora_rank or base)
    dtype = torch.bfloat16 if is_half else torch.float32
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, local_files_only=True)
        model = _weights(base or place, config, dtype)
        if base is not None:
            peft = require("peft", extra=EXTRA, feature="training an adapter")
            model = peft.PeftModel.from_pretrained(model, str(place), is_trainable=True)
    except (OSError, ValueError, KeyError) as error:
        raise _unloadable(config, error) from error
    _refuse_endless(tokenizer, config)
    _refuse_long(model.config, config)
    return LanguageModel(model, tokenizer, _adapter(config) if base is None else None)


def check_language_model(config: JudgeConfig) -> None:
    """Find out whether :func:`load_language_model` has something to load, without reading any weights.

    Raises:
        ConfigError: It has not, or options contradict each other.
    """
    import transformers

    _refuse_contradictions(config)
    place = config.model.resolve()
    whole = base_of(place) or place
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, local_files_only=True)
        shape = transformers.AutoConfig.from_pretrained(whole, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise _unloadable(config, error) from error
    if config.init == "weights" and not any(one.suffix in (".safetensors", ".bin") for one in whole.iterdir()):
        raise ConfigError(f"'model' is {str(config.model)!r}, which holds no weights, expected *.safetensors in it")
    _refuse_endless(tokenizer, config)
    _refuse_long(shape, config)


def as_written(trainer: Any, config: JudgeConfig) -> Any:
    """What a trainer holds at its end, in the form in which it is written.

    An adapter stays one unless ``merge`` asks for a whole model. A whole model gets the precision of the one that it
    was trained from: the float32 of its optimiser is twice as large and tells the judge nothing more. A model that is
    sharded over several processes stays as it is.
    """
    model = trainer.accelerator.unwrap_model(trainer.model)
    if config.merge and _is_adapter(model):
        model = model.merge_and_unload()
    if not _is_adapter(model) and not _is_sharded(trainer) and _is_half(config):
        for one in model.parameters():  # no buffers: those of positions stay float32 in a model that is loaded, too
            one.data = one.data.to(torch.bfloat16)
    return model


def write_judge(trainer: Any, config: JudgeConfig, model: Any) -> None:
    """Write a trained model so that ``tracer-hooks diagnose --attributor FOLDER`` uses it.

    Args:
        trainer: Whose model it is.
        config: Where to.
        model: What :func:`as_written` gave.

    Raises:
        TrainingError: It cannot be written.
    """
    try:
        if _is_adapter(model) or _is_sharded(trainer):
            trainer.save_model(str(config.out))
        elif trainer.args.should_save:
            model.save_pretrained(config.out)
        if trainer.args.should_save:
            trainer.processing_class.save_pretrained(config.out)
            write_judge_options(config.out, config.asked.judge)
            (config.out / "training_args.bin").unlink(missing_ok=True)  # a pickle, and full of this machine's paths
    except OSError as error:
        raise TrainingError(f"cannot write the model to {str(config.out)!r}: {error.strerror or error}") from error


def _is_adapter(model: Any) -> bool:
    return hasattr(model, "merge_and_unload")


def _is_sharded(trainer: Any) -> bool:
    return bool(trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled)


def _is_half(config: JudgeConfig) -> bool:
    """Whether the model that training began with is stored in bfloat16."""
    import transformers

    place = config.model.resolve()
    shape = transformers.AutoConfig.from_pretrained(base_of(place) or place, local_files_only=True)
    return bool(shape.dtype == torch.bfloat16)


def _weights(place: Path, config: JudgeConfig, dtype: torch.dtype) -> Any:
    import transformers

    if config.init == "weights":
        return transformers.AutoModelForCausalLM.from_pretrained(place, local_files_only=True, dtype=dtype)
    torch.manual_seed(config.seed)
    shape = transformers.AutoConfig.from_pretrained(place, local_files_only=True)
    auto: Any = transformers.AutoModelForCausalLM
    return auto.from_config(shape, dtype=dtype)


def _adapter(config: JudgeConfig) -> Any:
    if not config.lora_rank:
        return None
    peft = require("peft", extra=EXTRA, feature="training an adapter")
    return peft.LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def _refuse_contradictions(config: JudgeConfig) -> None:
    if config.init == "random" and config.lora_rank and not config.merge:
        raise ConfigError(
            "'init' = 'random' with 'lora_rank' needs 'merge' = true: an adapter alone would have no base"
        )
    if not config.model.is_dir():
        raise ConfigError(f"'model' is {str(config.model)!r}, expected a folder with a model of transformers")


def _unloadable(config: JudgeConfig, error: Exception) -> ConfigError:
    said = " ".join(str(error).split())[:300]
    return ConfigError(f"'model' = {str(config.model)!r} cannot be loaded: {said}")


def _refuse_endless(tokenizer: Any, config: JudgeConfig) -> None:
    if tokenizer.eos_token_id is None:
        raise ConfigError(f"the tokenizer in {str(config.model)!r} has no token that ends a text")


def _refuse_long(shape: Any, config: JudgeConfig) -> None:
    most = getattr(shape, "max_position_embeddings", None)
    if most is not None and config.context_tokens > most:
        raise ConfigError(f"'context_tokens' is {config.context_tokens}, but the model reads {most} tokens at most")
    try:
        _ = config.asked.judge
    except TracerHooksError as error:
        raise ConfigError(str(error)) from error
