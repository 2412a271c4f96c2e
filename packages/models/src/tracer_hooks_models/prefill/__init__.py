"""The attributor ``prefill``: what a small causal language model notes while it reads a run."""

from tracer_hooks_models.prefill._attributor import PrefillAttributor
from tracer_hooks_models.prefill._model import PrefillOptions
from tracer_hooks_models.prefill._reader import PrefillFeatures

__all__ = ["PrefillAttributor", "PrefillFeatures", "PrefillOptions"]
