"""Requests that were taken, on the disk until what came of them is stored, so that a killed server loses none."""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracer_hooks._files import locked, make_folder, sync

_JSON, _PROTOBUF = ".json", ".pb"


@dataclass(eq=False)
class KeptRequest:
    """A request on the disk."""

    path: Path
    size: int
    waiting: set[str] = field(default_factory=set)
    """The traces that have spans in it and are not done."""

    @property
    def is_json(self) -> bool:
        """Tell whether it is JSON, and not protobuf."""
        return self.path.suffix == _JSON


class Spool:
    """Requests in a folder, each in a file of its own. Several threads add to it.

    Another server of the same store has files of its own in the same folder. Their names begin with what their server
    has locked, and that lock ends with the process.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._own = folder, folder / uuid.uuid4().hex
        self._lock = threading.Lock()
        self._held = contextlib.ExitStack()
        self._count = 0
        self.size = 0
        """Bytes that wait."""

    def append(self, body: bytes, *, is_json: bool) -> KeptRequest:
        """Write a request, and come back when it is on the disk.

        Raises:
            OSError: It is not on the disk.
        """
        request = self._new(len(body), _JSON if is_json else _PROTOBUF)
        try:
            with open(request.path, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            if os.name != "nt":  # the name of the new file, too
                sync(self._folder)
        except OSError:
            self.remove(request)
            raise
        return request

    def remove(self, request: KeptRequest) -> None:
        """Forget a request."""
        with self._lock:
            self.size -= request.size
        with contextlib.suppress(OSError):
            request.path.unlink()

    def left(self) -> Iterator[KeptRequest]:
        """The requests that a server which is no longer there has left; they are this one's now."""
        ours = [path for path in self._folder.glob("*-*") if path.suffix in (_JSON, _PROTOBUF)]
        for name in sorted({path.name.partition("-")[0] for path in ours}):
            with locked(self._folder / name, waits=False) as is_left:
                for path in sorted(self._folder.glob(f"{name}-*")) if is_left else ():
                    request = self._new(path.stat().st_size, path.suffix)
                    path.rename(request.path)
                    yield request

    def close(self) -> None:
        """Leave what is not done to the next server."""
        with self._lock:
            self._held.close()

    def _new(self, size: int, ending: str) -> KeptRequest:
        with self._lock:
            if not self._count:
                make_folder(self._folder.parent)
                self._folder.mkdir(mode=0o700, exist_ok=True)
                self._held.enter_context(locked(self._own))
            self._count += 1
            self.size += size
            return KeptRequest(self._own.with_name(f"{self._own.name}-{self._count:09d}{ending}"), size)
