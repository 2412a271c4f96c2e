"""Weights that come with this distribution, pinned to their SHA-256: a file that differs is not used."""

import hashlib
from functools import cache
from pathlib import Path

from tracer_hooks.errors import AttributionError

REINSTALL = "pip install --force-reinstall tracer-hooks-models"
AGENT_HEAD = Path(__file__).parent / "weights" / "agents.json"
"""Weights of the agent head; the file says what they were fitted to."""
ENCODER = Path(__file__).parent / "encoder" / "weights"
"""Folder of the encoder's weights; MODEL_CARD.md there says how they were made."""
SHA256 = {
    AGENT_HEAD: "5335d8a42ac717ff87019fdfb35a31b2ed8667154ce1a8780daab84a69d9c310",
    ENCODER / "encoder.json": "838d34efd6e0b01a756ded62a59a5081ec934c72ba24594bbc6da2267c03241f",
    ENCODER / "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ENCODER / "encoder.safetensors": "6a0ba002391a00d9da62afeec245c4771e33e19f4abc2631f761eaaf565483ce",
}


def refuse_changed(path: Path) -> None:
    """Raise when a file of ours is not the one that was shipped; each is looked at once in a process.

    Raises:
        AttributionError: It is another one, or cannot be read.
    """
    if path in SHA256:
        _compare(path)


@cache
def _compare(path: Path) -> None:
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise AttributionError(f"cannot read the weights {str(path)!r}: {error.strerror or error}") from error
    if found != SHA256[path]:
        raise AttributionError(f"the weights {str(path)!r} are not those of this version: run {REINSTALL}")
