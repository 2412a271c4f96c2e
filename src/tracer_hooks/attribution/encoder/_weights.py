"""Weights on disk: matrices as int8 with one scale a row, everything else as float16."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tracer_hooks._atomic_files import write_files
from tracer_hooks._limits import brief
from tracer_hooks._optional import require
from tracer_hooks.attribution._weight_files import REINSTALL_ENCODER, encoder_folder, read_weights, reason_of
from tracer_hooks.attribution.encoder._backbone import StepEncoder
from tracer_hooks.attribution.encoder._head import HeadConfig
from tracer_hooks.attribution.encoder._model import EncoderModel
from tracer_hooks.attribution.encoder._saved_config import refuse_unusable
from tracer_hooks.attribution.encoder._tokens import TOKENIZER
from tracer_hooks.attribution.encoder._towers import TrajectoryHead
from tracer_hooks.errors import AttributionError, MissingExtraError

WEIGHTS, CONFIG = "encoder.safetensors", "encoder.json"
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
    pack_bytes = require("safetensors.torch", extra="model", feature="the attributor 'encoder'").save
    weights: bytes = pack_bytes(pack(model.state_dict()))
    config = {
        "format": _FORMAT,
        "backbone": model.backbone.config,
        "head": model.head.config.as_json(),
        "share": model.head.share,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        **(notes or {}),
    }
    files = {
        directory / WEIGHTS: weights,
        directory / CONFIG: (json.dumps(config, indent=1) + "\n").encode(),
        directory / TOKENIZER: tokenizer.read_bytes(),
    }
    write_files(files)


def load_model(directory: Path) -> tuple[EncoderModel, dict[str, Any]]:
    """The model of a folder, ready to score, and its configuration.

    Raises:
        AttributionError: The folder is no such model, or its weights are damaged.
    """
    load_bytes = require("safetensors.torch", extra="model", feature="the attributor 'encoder'").load
    config = load_config(directory)
    path = directory / WEIGHTS  # of the shipped one the configuration is pinned, and with it this sum
    try:
        data = path.read_bytes()
    except OSError as error:
        raise AttributionError(f"cannot read the weights {str(path)!r}: {error.strerror or error}") from error
    if hashlib.sha256(data).hexdigest() != config["weights_sha256"]:
        again = f"run {REINSTALL_ENCODER}" if directory == encoder_folder() else "fetch or train them again"
        raise AttributionError(
            f"the weights {str(path)!r} are not those that were written (their SHA-256 differs): {again}"
        )
    try:
        model = EncoderModel(
            StepEncoder(config["backbone"]), TrajectoryHead(HeadConfig.of_json(config["head"]), config["share"])
        )
        model.load_state_dict(unpack(load_bytes(data)))
        _refuse_odd_numbers(model)
    except MissingExtraError:
        raise
    except Exception as error:  # a file that fits its own sum may still hold anything
        raise AttributionError(
            f"the weights {str(path)!r} do not fit {CONFIG} beside them ({brief(reason_of(error))}): "
            "fetch or train them again"
        ) from error
    return model.eval(), config


def _refuse_odd_numbers(model: EncoderModel) -> None:
    for name, value in model.state_dict().items():
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise ValueError(f"{name} holds what is no finite number")


def load_config(directory: Path) -> dict[str, Any]:
    """The configuration of a model's folder.

    Raises:
        AttributionError: The folder holds no encoder that this version can read.
    """

    def made(config: dict[str, Any]) -> dict[str, Any]:
        try:
            size = (directory / WEIGHTS).stat().st_size
        except OSError as error:
            raise ValueError(f"there is no {WEIGHTS} beside it: {error.strerror}") from error
        refuse_unusable(config, size)
        return config

    again = f"expected {CONFIG}, {WEIGHTS} and {TOKENIZER} as `tracer-hooks train contrastive` writes them"
    return read_weights(directory / CONFIG, made, what="encoder", again=again)


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
