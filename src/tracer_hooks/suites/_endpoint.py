"""Where the model of a team is."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where a team's model is: the scripted server, a local one, or any OpenAI-compatible endpoint."""

    base_url: str
    """Up to and including ``/v1``."""
    model: str
    """The model's name there."""
    api_key: str = "unused"
    """Its key."""
    temperature: float | None = None
    """Sampling temperature; None leaves it to the server."""
    max_tokens: int | None = None
    """How long a reply may be, in tokens; None leaves it to the server."""

    @classmethod
    def from_env(cls, *, base_url: str = "", model: str = "") -> Endpoint:
        """A real endpoint from the arguments, else from ``OPENAI_BASE_URL``, ``OPENAI_MODEL``, ``OPENAI_API_KEY``."""
        return cls(
            base_url=base_url or os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
            model=model or os.environ.get("OPENAI_MODEL", "gpt-4o-mini"),
            api_key=os.environ.get("OPENAI_API_KEY") or "unused",
        )
