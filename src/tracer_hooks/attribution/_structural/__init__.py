"""The structural attributor: interpretable features and a conditional logit, fitted to one's own labels in seconds."""

from tracer_hooks.attribution._structural._attributor import StructuralAttributor

__all__ = ["StructuralAttributor"]
