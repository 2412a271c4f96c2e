"""The attributor ``encoder``: a fine-tuned sentence encoder and a trajectory transformer, and what it is made of.

Names are loaded at their first use: the attributor itself says what to install where torch is missing.
"""

from typing import TYPE_CHECKING

from tracer_hooks._lazy_names import lazy_names

if TYPE_CHECKING:
    from tracer_hooks.attribution.encoder._attributor import EncoderAttributor
    from tracer_hooks.attribution.encoder._backbone import StepEncoder
    from tracer_hooks.attribution.encoder._given import Reading, feature_names, read
    from tracer_hooks.attribution.encoder._head import HeadConfig, HeadOutput
    from tracer_hooks.attribution.encoder._model import EncoderModel, has_bf16
    from tracer_hooks.attribution.encoder._stack import padded, stack
    from tracer_hooks.attribution.encoder._tokens import TOKENIZER, StepTokenizer
    from tracer_hooks.attribution.encoder._towers import TrajectoryHead
    from tracer_hooks.attribution.encoder._weights import CONFIG, WEIGHTS, load_model, save_model

__all__ = [
    "CONFIG",
    "TOKENIZER",
    "WEIGHTS",
    "EncoderAttributor",
    "EncoderModel",
    "HeadConfig",
    "HeadOutput",
    "Reading",
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
        "._backbone": ("StepEncoder",),
        "._given": ("Reading", "feature_names", "read"),
        "._head": ("HeadConfig", "HeadOutput"),
        "._model": ("EncoderModel", "has_bf16"),
        "._stack": ("padded", "stack"),
        "._tokens": ("TOKENIZER", "StepTokenizer"),
        "._towers": ("TrajectoryHead",),
        "._weights": ("CONFIG", "WEIGHTS", "load_model", "save_model"),
    },
)
