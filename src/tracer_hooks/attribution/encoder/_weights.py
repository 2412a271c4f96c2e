"""Weights on disk: matrices as int8 with one scale a row, everything else as float16."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tracer_hooks._optional import require
from tracer_hooks.attribution.encoder._backbone import StepEncoder
from tracer_hooks.attribution.encoder._head import HeadConfig
from tracer_hooks.attribution.encoder._model import EncoderModel
from tracer_hooks.attribution.encoder._tokens import TOKENIZER
from tracer_hooks.attribution.encoder._towers import TrajectoryHead
from tracer_hooks.errors import AttributionError

WEIGHTS, CONFIG = "encoder.safetensors", "encoder.json"
SHIPPED = Path(__file__).parent / "weights"
"""The folder of the weights that come with tracer-hooks."""
SHIPPED_SHA256 = "6a0ba002391a00d9da62afeec245c4771e33e19f4abc2631f761eaaf565483ce"
"""Of their ``encoder.safetensors``; a wheel whose file differs is not used."""
_FORMAT = 1
_SCALE = ".scale"
_LEAST = 4096
"""Smaller tensors are not worth packing."""


def save_model(model: EncoderModel, tokenizer: Path, directory: Path, notes: Mapping[str, Any] | None = None) -> None:
    """Write a model so that :func:`load_model` can read it.

    Args:
        model: What to write.
        tokenizer: The ``tokenizer.json`` that goes with it.
        directory: Where to; made when it is not there.
        notes: What else should stand in the configuration, such as thresholds.
    """
    directory.mkdir(parents=True, exist_ok=True)
    pack_bytes = require("safetensors.torch", extra="model", feature="the attributor 'encoder'").save
    (directory / WEIGHTS).write_bytes(pack_bytes(pack(model.state_dict())))
    config = {
        "format": _FORMAT,
        "backbone": model.backbone.config,
        "head": model.head.config.as_json(),
        "share": model.head.share,
        "weights_sha256": sha256(directory / WEIGHTS),
        **(notes or {}),
    }
    (directory / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    if tokenizer.resolve() != (directory / TOKENIZER).resolve():
        shutil.copyfile(tokenizer, directory / TOKENIZER)


def load_model(directory: Path) -> tuple[EncoderModel, dict[str, Any]]:
    """The model of a folder, ready to score, and its configuration.

    Raises:
        AttributionError: The folder is no such model, or its weights are damaged.
    """
    load_file = require("safetensors.torch", extra="model", feature="the attributor 'encoder'").load_file
    config = load_config(directory)
    if sha256(directory / WEIGHTS) != config["weights_sha256"]:
        raise AttributionError(
            f"the weights {str(directory / WEIGHTS)!r} are not those that were written (their SHA-256 differs): "
            "fetch or train them again"
        )
    model = EncoderModel(
        StepEncoder(config["backbone"]), TrajectoryHead(HeadConfig.of_json(config["head"]), config["share"])
    )
    model.load_state_dict(unpack(load_file(directory / WEIGHTS)))
    return model.eval(), config


def load_config(directory: Path) -> dict[str, Any]:
    """The configuration of a model's folder.

    Raises:
        AttributionError: The folder holds no encoder that this version can read.
    """
    try:
        config: dict[str, Any] = json.loads((directory / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AttributionError(
            f"{str(directory)!r} holds no encoder, expected {CONFIG}, {WEIGHTS} and {TOKENIZER} as "
            "`tracer-hooks train encoder` writes them"
        ) from error
    if config.get("format") != _FORMAT or not (directory / WEIGHTS).is_file():
        raise AttributionError(f"{str(directory)!r} holds no encoder of format {_FORMAT}: train it again")
    return config


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pack(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Large matrices as int8 with a float16 scale for each row, the rest as float16; whole numbers stay as they are."""
    packed: dict[str, Tensor] = {}
    for name, value in state.items():
        value = value.detach().cpu()
        if not value.is_floating_point():
            packed[name] = value.contiguous()
        elif value.dim() == 2 and value.numel() >= _LEAST:
            scale = (value.abs().amax(1, keepdim=True) / 127).clamp(min=1e-6).half()
            packed[name] = (value / scale.float()).round().clamp(-127, 127).to(torch.int8).contiguous()
            packed[name + _SCALE] = scale.contiguous()
        else:
            packed[name] = value.half().contiguous()
    return packed


def unpack(packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The reverse of :func:`pack`, in float32, up to rounding."""
    return {
        name: value.float() * packed[name + _SCALE].float()
        if name + _SCALE in packed
        else value.float()
        if value.is_floating_point()
        else value
        for name, value in packed.items()
        if not name.endswith(_SCALE)
    }
