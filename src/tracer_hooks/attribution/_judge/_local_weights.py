"""A causal language model of transformers from a folder: whole, or as a LoRA adapter beside the model it belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tracer_hooks._optional import require
from tracer_hooks.errors import ConfigError

ADAPTER = "adapter_config.json"
"""The file that makes a folder one of an adapter."""
_FEATURE = "a judge from a local model"


def load_weights(directory: Path) -> tuple[Any, Any]:
    """Model and tokenizer; an adapter is laid over its base and not merged, so that it answers as it was trained.

    Raises:
        ConfigError: The directory, or the base that its adapter names, holds no model that transformers can load.
        MissingExtraError: It holds an adapter, and ``peft`` is not installed.
    """
    import transformers

    base = base_of(directory)
    peft = require("peft", extra="train", feature=f"{_FEATURE} with an adapter") if base is not None else None
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory, local_files_only=True)
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            directory if base is None else base, local_files_only=True, dtype="auto"
        )
        if peft is not None:
            model = peft.PeftModel.from_pretrained(model, str(directory))
    except (OSError, ValueError, KeyError) as error:
        said = " ".join(str(error).split())[:300]
        raise ConfigError(
            f"model={str(directory)!r} of the attributor 'judge' cannot be loaded: {said}. Expected a directory with a "
            "causal language model of transformers, or an adapter for one, and its tokenizer"
        ) from error
    return model, tokenizer


def base_of(directory: Path) -> Path | None:
    """The folder of the model that an adapter belongs to; None when the directory holds a whole model.

    Raises:
        ConfigError: The adapter names no folder that is there.
    """
    if not (directory / ADAPTER).is_file():
        return None
    try:
        named = json.loads((directory / ADAPTER).read_text(encoding="utf-8"))["base_model_name_or_path"]
        base = directory / str(named)  # an absolute path stays what it is
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{str(directory / ADAPTER)!r} names no base model: train the adapter again") from error
    if not base.is_dir():
        raise ConfigError(
            f"the adapter in {str(directory)!r} belongs to the model in {str(base)!r}, which is not there. Put the "
            f"model there, or its folder under 'base_model_name_or_path' in {ADAPTER}"
        )
    return base


def stamp(directory: Path) -> list[Any]:
    """Size and time of each weight file: other weights in the same place are another model."""
    base = base_of(directory)
    folders = [directory] if base is None else [directory, base]
    files = [
        path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.suffix in (".safetensors", ".bin", ".json")
    ]
    return [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]
