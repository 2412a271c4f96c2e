"""What the configuration of an encoder's folder must hold, looked at before a network of that shape is built."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

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
