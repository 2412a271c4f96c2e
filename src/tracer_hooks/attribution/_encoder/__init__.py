"""The attributor ``encoder``: a fine-tuned sentence encoder and a trajectory transformer."""

from tracer_hooks.attribution._encoder._attributor import EncoderAttributor

__all__ = ["EncoderAttributor"]
