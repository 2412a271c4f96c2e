"""The name under which everything that belongs to one team is kept."""

from __future__ import annotations

import hashlib
import re


def fingerprint(framework: str, team: str) -> str:
    """A team's name in files and tables: readable, and different for teams whose names differ in signs only."""
    readable = re.sub(r"[^a-z0-9]+", "-", f"{framework}-{team}".casefold()).strip("-")[:60]
    return f"{readable}-{hashlib.sha256(f'{framework}/{team}'.encode()).hexdigest()[:8]}"
