"""Where the run store lies."""

from __future__ import annotations

import os
from pathlib import Path

from tracer_hooks._private_files import HOME, make_store_file, opener
from tracer_hooks.config import store_path
from tracer_hooks.errors import StoreError

_FILE = "runs.sqlite"


def default_path() -> Path:
    """The store's file: what ``TRACER_HOOKS_STORE`` names, else ``.tracer_hooks/runs.sqlite`` right here.

    Raises:
        StoreError: The variable says ``off``.
    """
    named = store_path()
    if named is None:
        raise StoreError(
            "the run store is switched off by TRACER_HOOKS_STORE='off'. Run: unset TRACER_HOOKS_STORE, or pass path="
        )
    return store_file(named)


def store_file(path: str | os.PathLike[str]) -> Path:
    """``path`` made absolute; a directory stands for ``runs.sqlite`` inside it."""
    given = Path(path).expanduser().absolute()
    return given / _FILE if given.is_dir() else given


def make_place(file: Path) -> None:
    """Create ``file`` and its directory, for the owner alone; keep our own out of the user's version control.

    Raises:
        OSError: They cannot be made.
    """
    make_store_file(file)
    ignore = file.parent / ".gitignore"
    # Only in the directory that is ours: a store that the user put elsewhere must not hide other files.
    if file.parent.name == HOME and not ignore.exists():
        with open(ignore, "w", encoding="utf-8", opener=opener) as written:
            written.write("*\n")
