"""The attributor ``prefill``: what a small causal language model notes while it reads a run."""

from tracer_hooks.attribution._prefill._attributor import PrefillAttributor
from tracer_hooks.attribution._prefill._features import PrefillFeatures
from tracer_hooks.attribution._prefill._options import PrefillOptions

__all__ = ["PrefillAttributor", "PrefillFeatures", "PrefillOptions"]
