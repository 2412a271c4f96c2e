"""Short names for what stands in a journal."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def digest(value: Any, length: int = 64) -> str:
    """The first ``length`` hexadecimal digits of the SHA-256 of ``value`` as JSON; lone surrogates are let through."""
    return hashlib.sha256(json.dumps(value).encode("utf-8", "surrogatepass")).hexdigest()[:length]
