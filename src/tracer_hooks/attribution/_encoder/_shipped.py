"""The weights that come with tracer-hooks."""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path(__file__).parent / "weights"
"""The folder that they are in."""
SHA256 = "unset"
"""Of ``encoder.safetensors``; a wheel whose file differs is not used."""
