"""CrewAI keeps its files in a directory of the test session."""

from __future__ import annotations

import os
import tempfile

# Read when crewai is imported, before any fixture runs.
os.environ.setdefault("CREWAI_STORAGE_DIR", tempfile.mkdtemp(prefix="crewai-tests-"))
