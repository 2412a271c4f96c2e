"""Checkpoints that are either whole or not there: the last good one is always known."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from tracer_hooks._atomic_files import write_files

FOLDER = "checkpoints"
"""Where a run keeps them, in its folder."""
_WHOLE = "whole.json"
_NAME = re.compile(r"checkpoint-(\d+)")


def mark_whole(checkpoint: Path) -> None:
    """Say that everything of a checkpoint is on the disk, with the size of each file.

    Raises:
        OSError: The mark cannot be written; the checkpoint then counts as broken off.
    """
    sizes = {str(path.relative_to(checkpoint)): path.stat().st_size for path in _files(checkpoint)}
    write_files({checkpoint / _WHOLE: (json.dumps(sizes, indent=1, sort_keys=True) + "\n").encode()})


def is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint was written to its end and has every file in its size."""
    try:
        sizes = json.loads((checkpoint / _WHOLE).read_text(encoding="utf-8"))
        return bool(sizes) and all((checkpoint / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def last_whole(out: Path) -> Path | None:
    """The last checkpoint of a run that is whole; None when there is none."""
    return next((one for one in reversed(_checkpoints(out)) if is_whole(one)), None)


def clear_broken(out: Path) -> list[Path]:
    """Remove checkpoints that a crash broke off; gives those that were."""
    broken = [one for one in _checkpoints(out) if not is_whole(one)]
    for one in broken:
        shutil.rmtree(one)
    return broken


def _checkpoints(out: Path) -> list[Path]:
    folder = out / FOLDER
    found = [one for one in folder.iterdir() if _NAME.fullmatch(one.name)] if folder.is_dir() else []
    return sorted(found, key=lambda one: int(one.name.rpartition("-")[2]))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _WHOLE)
