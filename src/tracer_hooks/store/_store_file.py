"""What the stores have in common: one file, opened, and SQLAlchemy imported, at the first use."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tracer_hooks.store._location import default_path, store_file

if TYPE_CHECKING:
    from tracer_hooks.store._database import Database


class StoreFile:
    """A SQLite file that several threads and processes may use at once; see the classes that derive from it."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        busy_timeout_s: float = 5.0,
        read_only: bool = False,
        stays_open: bool = False,
    ) -> None:
        self._path = default_path() if path is None else store_file(path)
        self._busy_timeout_s = busy_timeout_s
        self._read_only = read_only
        self._stays_open = stays_open
        self._opened: Database | None = None

    @property
    def path(self) -> Path:
        """The SQLite file, absolute."""
        return self._path

    def close_idle(self) -> None:
        """Close what ``stays_open`` keeps open between uses; the next use opens it again."""
        if self._opened is not None:
            self._opened.close_idle()

    def close(self) -> None:
        """Let go of the file; the store may be used again, which opens it anew."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _database(self) -> Database:
        from tracer_hooks.store._database import Database

        # Two threads may both get here first: both then open the same file, and one of the objects is let go.
        opened = self._opened
        if opened is None:
            opened = Database(
                self._path,
                busy_timeout_s=self._busy_timeout_s,
                read_only=self._read_only,
                stays_open=self._stays_open,
            )
            self._opened = opened
        return opened
