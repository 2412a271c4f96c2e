"""The attributor ``encoder``: a fine-tuned sentence encoder and a trajectory transformer, and what it is made of.

Names are loaded at their first use: the attributor itself says what to install where torch is missing.
"""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_models.encoder._attributor import EncoderAttributor
    from tracer_hooks_models.encoder._model import (
        EncoderModel,
        HeadConfig,
        HeadOutput,
        StepEncoder,
        TrajectoryHead,
        has_bf16,
        padded,
        stack,
    )
    from tracer_hooks_models.encoder._texts import TOKENIZER, EncoderInput, StepTokenizer, feature_names, read
    from tracer_hooks_models.encoder._weights import CONFIG, WEIGHTS, load_model, save_model

__all__ = [
    "CONFIG",
    "TOKENIZER",
    "WEIGHTS",
    "EncoderAttributor",
    "EncoderInput",
    "EncoderModel",
    "HeadConfig",
    "HeadOutput",
    "StepEncoder",
    "StepTokenizer",
    "TrajectoryHead",
    "feature_names",
    "has_bf16",
    "load_model",
    "padded",
    "read",
    "save_model",
    "stack",
]

lazy_names(
    __name__,
    {
        "._attributor": ("EncoderAttributor",),
        "._model": (
            "EncoderModel",
            "HeadConfig",
            "HeadOutput",
            "StepEncoder",
            "TrajectoryHead",
            "has_bf16",
            "padded",
            "stack",
        ),
        "._texts": (
            "EncoderInput",
            "StepTokenizer",
            "TOKENIZER",
            "feature_names",
            "read",
        ),
        "._weights": (
            "CONFIG",
            "WEIGHTS",
            "load_model",
            "save_model",
        ),
    },
)
