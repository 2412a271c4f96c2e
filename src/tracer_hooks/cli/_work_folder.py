"""Where long work on a team is kept, if the user names no folder."""

from __future__ import annotations

from pathlib import Path

from tracer_hooks.config import DEFAULT_STORE, store_path


def work_folder(kind: str, team: str) -> Path:
    """The folder for ``kind`` of work on ``team``, beside the run store.

    Args:
        kind: ``calibration`` or ``improvement``.
        team: ``MODULE:NAME`` or ``path/to/file.py:NAME``, as the user wrote it.
    """
    name = team.rpartition(":")[0].replace("/", "-").removesuffix(".py").strip("-.")
    return (store_path() or DEFAULT_STORE).absolute().parent / kind / name
