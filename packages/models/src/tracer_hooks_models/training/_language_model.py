"""Language model that a judge is made of: loading, adapter, saving, and the loss of its replies."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer

from tracer_hooks.errors import ConfigError, TracerHooksError, TrainingError
from tracer_hooks.extension import require
from tracer_hooks_models.teaching import base_of, write_judge_options
from tracer_hooks_models.training._config import JudgeConfig
from tracer_hooks_models.training._run import Mixin, computes_in_bfloat16

EXTRA = "train"
IGNORED = -100
"""The label of a token that the loss does not count, as transformers takes it."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """Language model that is trained, and what goes with it."""

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
    """Return what a trainer holds at its end, in the form in which it is written.

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
    """Tell whether the model that training began with is stored in bfloat16."""
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


class ReplyLoss(Mixin):  # type: ignore[misc]
    """Mixed into trl's ``SFTTrainer``, before it: on a CPU, no logits are made of places that have no label.

    trl 1.16 leaves them out on devices with Triton only. Elsewhere it makes those of the whole row, twice, in parts;
    a row is a prompt of a thousand tokens with a reply of fifty.
    """

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The mean over the labels of all accumulated batches; see the base."""
        if inputs["labels"].device.type != "cpu" or not _chooses_logits(self.accelerator.unwrap_model(model)):
            return super().compute_loss(model, inputs, *args, **kwargs)
        return Trainer.compute_loss(self, model, _only_labelled({**inputs, "use_cache": False}), *args, **kwargs)


def _only_labelled(inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs that let the model make the logits of places at which some row of the batch has a label.

    Args:
        inputs: ``labels`` of shape (rows, tokens), beside what the model reads.
    """
    following = torch.nn.functional.pad(inputs["labels"][:, 1:], (0, 1), value=IGNORED)
    places = (following != IGNORED).any(dim=0).nonzero().squeeze(1)
    return {**inputs, "logits_to_keep": places, "shift_labels": following[:, places].contiguous()}


def _chooses_logits(model: Any) -> bool:
    """Tell whether the model takes ``logits_to_keep``, as those that transformers wrote since 4.45 do."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return "logits_to_keep" in inspect.signature(base.forward).parameters
