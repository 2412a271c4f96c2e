"""The structural attributor: interpretable features and a conditional logit, fitted to one's own labels in seconds."""

from tracer_hooks.diagnosis._structural._attributor import StructuralAttributor

__all__ = ["StructuralAttributor"]
