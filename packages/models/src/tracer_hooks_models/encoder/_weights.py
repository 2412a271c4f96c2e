"""Weights on disk (int8 matrices with one scale a row, the rest float16), and scoring with a loaded encoder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from tracer_hooks.errors import AttributionError, MissingExtraError
from tracer_hooks.extension import brief, read_weights, reason_of, require, write_files
from tracer_hooks.schema import Trajectory
from tracer_hooks_models._shipped import ENCODER, REINSTALL, refuse_changed
from tracer_hooks_models.encoder._model import EncoderModel, HeadConfig, StepEncoder, TrajectoryHead, stack
from tracer_hooks_models.encoder._texts import TOKENIZER, EncoderInput, StepTokenizer, read

Size = Annotated[int, Field(ge=1, le=65_536)]
Few = Annotated[int, Field(ge=1, le=64)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Backbone(_Part):
    hidden_size: Size
    num_hidden_layers: Few
    num_attention_heads: Few
    intermediate_size: Size
    vocab_size: Annotated[int, Field(ge=1, le=1_000_000)]
    max_position_embeddings: Size
    type_vocab_size: Few
    layer_norm_eps: Annotated[float, Field(gt=0.0, lt=1.0)]
    hidden_act: str


class _Head(_Part):
    model_config = ConfigDict(strict=True, allow_inf_nan=False, extra="forbid")

    vectors: Annotated[int, Field(ge=0, le=65_536)]
    width: Size
    layers: Annotated[int, Field(ge=0, le=64)]
    heads: Few
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)]
    features: list[str]


class _Config(_Part):
    format: Literal[1]
    backbone: _Backbone
    head: _Head
    share: Annotated[float, Field(ge=0.0, le=1.0)]
    weights_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    mode_threshold: Annotated[float, Field(ge=-1e6, le=1e6)] = 0.0


def refuse_unusable(config: dict[str, Any], weights_bytes: int) -> None:
    """Raise when ``config`` describes no encoder, or one that is far larger than its weights.

    Args:
        config: The configuration as it stands in the file.
        weights_bytes: Size of the file with the weights, which take a byte a number or more.

    Raises:
        ValueError: It does; the message says what is wrong.
    """
    found = _Config.model_validate(config)
    one, head = found.backbone, found.head
    layer = 4 * one.hidden_size**2 + 2 * one.hidden_size * one.intermediate_size
    numbers = (one.vocab_size + one.max_position_embeddings) * one.hidden_size + one.num_hidden_layers * layer
    numbers += head.width * (2 * head.vectors + head.layers * 8 * head.width)
    if numbers > weights_bytes:
        raise ValueError(f"a network of {numbers:,} numbers is described, and its weights are {weights_bytes:,} bytes")
    if 2 * one.hidden_size != head.vectors and head.vectors:
        raise ValueError(f"'head.vectors' is {head.vectors}, expected {2 * one.hidden_size}, twice 'hidden_size'")


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
    pack_bytes = require("safetensors.torch", extra="models", feature="the attributor 'encoder'").save
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
    load_bytes = require("safetensors.torch", extra="models", feature="the attributor 'encoder'").load
    config = load_config(directory)
    path = directory / WEIGHTS  # of the shipped one the configuration is pinned, and with it this sum
    try:
        data = path.read_bytes()
    except OSError as error:
        raise AttributionError(f"cannot read the weights {str(path)!r}: {error.strerror or error}") from error
    if hashlib.sha256(data).hexdigest() != config["weights_sha256"]:
        again = f"run {REINSTALL}" if directory == ENCODER else "fetch or train them again"
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
    refuse_changed(directory / CONFIG)
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


@dataclass(frozen=True, slots=True)
class ScoredTrajectory:
    """Scores of the encoder for one trajectory with n candidate steps and A agents."""

    reading: EncoderInput
    pointer: NDArray[np.float64]
    """(n,): the shipped pointer's logit of each candidate step."""
    states: NDArray[np.float64]
    """(n, width): what the pointer reads."""
    agents: NDArray[np.float64]
    """(A,): log-odds that each agent is at fault."""
    modes: NDArray[np.float64]
    """(A, 14): log-odds of each pair of agent and mode."""


class EncoderEngine:
    """An encoder in memory.

    Args:
        directory: The folder with its weights.
        device: Where to compute.

    Raises:
        AttributionError: The weights are missing, damaged, or not the expected ones.
    """

    def __init__(self, directory: Path, *, device: str = "cpu") -> None:
        self._directory = directory
        self._model, config = load_model(directory)
        self._model.to(device)
        self._tokenizer = StepTokenizer(directory)
        self.mode_threshold = float(config.get("mode_threshold", 0.0))
        """Log-odds above which a pair of agent and mode is named."""

    def features_with(self, more: Sequence[str]) -> tuple[str, ...]:
        """Names of the structural features that the head reads, then those of ``more`` that it does not."""
        return tuple(dict.fromkeys((*self._model.head.config.features, *more)))

    def save(self, directory: Path) -> None:
        """Copy the weights to another folder."""
        names = (WEIGHTS, CONFIG, TOKENIZER)
        others = [name for name in names if (directory / name).resolve() != (self._directory / name).resolve()]
        write_files({directory / name: (self._directory / name).read_bytes() for name in others})

    def score(self, trajectory: Trajectory, features: Sequence[str] = ()) -> ScoredTrajectory | None:
        """Score a trajectory; None for one without a step by an agent that has anything to read.

        Args:
            trajectory: What happened.
            features: Structural features that a fitted pointer reads; those of the head come first in any case.
        """
        if not trajectory.steps:
            return None
        reading = read(trajectory, self._tokenizer, self.features_with(features))
        if not any(reading.text.steps[k].own for k in reading.steps):
            return None
        with torch.inference_mode():
            given = stack([reading], self._model.vectors([reading]))
            given = given._replace(features=given.features[..., : len(self._model.head.config.features)])
            states, output = self._model.head.states(given)
        return ScoredTrajectory(
            reading=reading,
            pointer=output.steps[0].double().cpu().numpy(),
            states=states[0].double().cpu().numpy(),
            agents=output.agents[0].double().cpu().numpy(),
            modes=output.modes[0].double().cpu().numpy(),
        )
