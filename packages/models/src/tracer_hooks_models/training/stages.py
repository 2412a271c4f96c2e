"""A judge in one go: by examples, then by rewards where that is asked for; what was done is not done again."""

from __future__ import annotations

import gc
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracer_hooks.errors import ConfigError
from tracer_hooks.extension import require
from tracer_hooks_models.training._config import GRPOConfig, JudgeConfig, SFTConfig, checked_config, read_options

if TYPE_CHECKING:
    from tracer_hooks_models.training._progress import Progress

__all__ = ["JudgeStages", "check_stages", "judge_stages", "options_that_decide", "train_stages"]

FIRST = "sft"
"""Where the judge of the first stage lies, in the folder of the last one."""
REWARDS = "grpo"
"""The table of a configuration that asks for the second stage."""
_GIVEN = ("data", "out", "resume")
_SHARED = (
    *("seed", "bad_rows", "valid_share", "leave_out_teams", "similarity", "precision", "device", "threads"),
    *("tensorboard", "task", "context_tokens", "reply_tokens", "step_chars", "top_k"),
    *("lora_rank", "lora_alpha", "merge", "gradient_checkpointing"),
)
"""What the second stage takes from the first unless told otherwise: all that is not about how it learns."""


@dataclass(frozen=True, slots=True)
class JudgeStages:
    """Stages in which a judge is trained."""

    sft: SFTConfig
    """By examples."""
    grpo: GRPOConfig | None = None
    """By rewards after that, from what the first stage wrote."""

    @property
    def last(self) -> JudgeConfig:
        """The stage whose folder holds the judge in the end."""
        return self.grpo or self.sft


def judge_stages(path: Path | None, *, data: Path, out: Path, model: Path | None = None) -> JudgeStages:
    """The stages that a configuration asks for.

    Args:
        path: TOML, YAML or JSON with keys of :class:`SFTConfig`; a table ``grpo`` with keys of :class:`GRPOConfig` asks
            for the second stage, which takes from the first what it does not say about prompts, adapter and device.
            None takes defaults.
        data: Labelled trajectories.
        out: Folder of the judge.
        model: Folder of the model to begin with; goes before that of the file.

    Raises:
        ConfigError: The file cannot be read, or a key or value cannot be used; the message names it.
    """
    stated = {} if path is None else read_options(path)
    rewards = stated.pop(REWARDS, None)
    if rewards is not None and not isinstance(rewards, dict):
        raise ConfigError(f"{REWARDS!r} of {str(path)!r} is {rewards!r}, expected a table with keys of GRPOConfig")
    for key in {**stated, **(rewards or {})}:
        if key in _GIVEN:
            raise ConfigError(f"{key!r} of {str(path)!r} is set by the command itself: leave it out")
        if key == "max_minutes":  # what is half trained is no base for the second stage
            raise ConfigError(
                f"{key!r} of {str(path)!r} is not for this command: Ctrl-C stops it, and it goes on later"
            )
    if model is not None:
        stated["model"] = model
    if "model" not in stated:
        raise ConfigError("no model to begin with: give --model FOLDER, or 'model' in the file of --train-config")
    first = out if rewards is None else out / FIRST
    sft = checked_config(SFTConfig, stated, {"data": data, "out": first, "resume": True}, path)
    if rewards is None:
        return JudgeStages(sft)
    if "model" in rewards:
        raise ConfigError(f"'{REWARDS}.model' of {str(path)!r}: the second stage goes on from the first: leave it out")
    shared = {name: getattr(sft, name) for name in _SHARED}
    ours = {"data": data, "out": out, "model": first, "resume": True}
    return JudgeStages(sft, checked_config(GRPOConfig, {**shared, **rewards}, ours, path, table=REWARDS))


def check_stages(stages: JudgeStages) -> None:
    """Find out whether the stages can begin, in seconds and without reading any weights.

    Raises:
        MissingExtraError: Something is not installed.
        ConfigError: There is no model to begin with, or options contradict each other.
    """
    require("trl", extra="train", feature="training a judge")
    from tracer_hooks_models.training._judge_run import require_libraries
    from tracer_hooks_models.training._language_model import check_language_model

    require_libraries("training a judge")
    check_language_model(stages.sft)
    if stages.grpo is not None and stages.grpo.vllm:
        require("vllm", extra="train", feature="'vllm' = true; vLLM is installed for itself and")


def train_stages(stages: JudgeStages, progress: Progress | None = None) -> dict[str, Any]:
    """Train a judge; a stage that is done is left as it is, one that was broken off goes on.

    Args:
        stages: What to train, and how.
        progress: Told how it goes.

    Returns:
        ``metrics.json`` of each stage, by ``sft`` and ``grpo``.

    Raises:
        TrainingError: See :func:`~tracer_hooks_models.training.train_sft` and ``train_grpo``.
        ConfigError: A model cannot be loaded.
        MissingExtraError: Something is not installed.
    """
    from tracer_hooks_models.training.grpo import train_grpo
    from tracer_hooks_models.training.sft import train_sft

    found = {"sft": _finished(stages.sft) or train_sft(stages.sft, progress)}
    if stages.grpo is not None:
        _free()
        found["grpo"] = _finished(stages.grpo) or train_grpo(stages.grpo, progress)
    _free()
    return found


def options_that_decide(stages: JudgeStages) -> dict[str, Any]:
    """The options that decide what comes out, as plain JSON, but for where the data and the judge lie."""
    from tracer_hooks_models.training._run import MAY_CHANGE, options_of

    named = {"sft": stages.sft, "grpo": stages.grpo}
    return {
        f"{name}.{one.name}": options_of(config)[one.name]
        for name, config in named.items()
        if config is not None
        for one in fields(config)
        if one.name not in {*MAY_CHANGE, "data", "out"}
    }


def _finished(config: JudgeConfig) -> dict[str, Any] | None:
    """``metrics.json``, which is written last."""
    from tracer_hooks_models.training._run import METRICS

    try:
        found = json.loads((config.out / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _free() -> None:
    """Give back the memory of a stage: its trainer holds on to itself in a circle."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
