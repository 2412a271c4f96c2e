"""The best attributor that is installed."""

from __future__ import annotations

from tracer_hooks.attribution._protocol import Attributor
from tracer_hooks.attribution._structural import StructuralAttributor


def automatic() -> Attributor:
    """The attributor that ``auto`` stands for."""
    return StructuralAttributor()
