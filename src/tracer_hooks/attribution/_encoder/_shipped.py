"""The weights that come with tracer-hooks."""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path(__file__).parent / "weights"
"""The folder that they are in."""
SHA256 = "6a0ba002391a00d9da62afeec245c4771e33e19f4abc2631f761eaaf565483ce"
"""Of ``encoder.safetensors``; a wheel whose file differs is not used."""
