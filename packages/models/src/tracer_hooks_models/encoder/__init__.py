"""The attributor ``encoder``: a fine-tuned sentence encoder and a trajectory transformer, and what it is made of.

Names are loaded at their first use: the attributor itself says what to install where torch is missing.
"""

from typing import TYPE_CHECKING

from tracer_hooks.extension import lazy_names

if TYPE_CHECKING:
    from tracer_hooks_models.encoder._attributor import EncoderAttributor as EncoderAttributor
    from tracer_hooks_models.encoder._model import EncoderModel as EncoderModel
    from tracer_hooks_models.encoder._model import HeadConfig as HeadConfig
    from tracer_hooks_models.encoder._model import HeadOutput as HeadOutput
    from tracer_hooks_models.encoder._model import StepEncoder as StepEncoder
    from tracer_hooks_models.encoder._model import TrajectoryHead as TrajectoryHead
    from tracer_hooks_models.encoder._model import has_bf16 as has_bf16
    from tracer_hooks_models.encoder._model import padded as padded
    from tracer_hooks_models.encoder._model import stack as stack
    from tracer_hooks_models.encoder._texts import TOKENIZER as TOKENIZER
    from tracer_hooks_models.encoder._texts import EncoderInput as EncoderInput
    from tracer_hooks_models.encoder._texts import StepTokenizer as StepTokenizer
    from tracer_hooks_models.encoder._texts import feature_names as feature_names
    from tracer_hooks_models.encoder._texts import read as read
    from tracer_hooks_models.encoder._weights import CONFIG as CONFIG
    from tracer_hooks_models.encoder._weights import WEIGHTS as WEIGHTS
    from tracer_hooks_models.encoder._weights import load_model as load_model
    from tracer_hooks_models.encoder._weights import save_model as save_model

__all__ = lazy_names(__name__)
