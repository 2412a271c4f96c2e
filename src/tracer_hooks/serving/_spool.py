"""Requests that were taken, on the disk until what came of them is stored, so that a killed server loses none."""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import threading
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracer_hooks._files import make_folder
from tracer_hooks._guard import logger

_HEAD = struct.Struct(">IIB")
"""Length and checksum of a body, and whether it is JSON."""
_SEGMENT_BYTES = 8 << 20
_ENDING = ".otlp-spool"
_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(eq=False)
class Segment:
    """A file of requests, one after the other; it goes when nobody waits for any of them."""

    path: Path
    handle: int
    size: int = 0
    waiting: set[str] = field(default_factory=set)
    """The traces that have spans in it and are not done."""
    uses: int = 0
    """Requests in it whose traces are not known yet."""


@dataclass(eq=False)
class _Ticket:
    """A request that is to be written."""

    frame: bytes
    segment: Segment | None = None
    error: OSError | None = None


class Spool:
    """Requests in a folder. Several threads add to it; those that come at the same time share one wait for the disk.

    Another server of the same store has files of its own in the same folder: a file is locked by its server, and that
    lock ends with the process.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._tickets: list[_Ticket] = []
        self._segments: set[Segment] = set()
        self._current: Segment | None = None

    @property
    def size(self) -> int:
        """Bytes that wait."""
        return sum(segment.size for segment in list(self._segments))

    def append(self, body: bytes, *, is_json: bool) -> Segment:
        """Write a request, and come back when it is on the disk; :meth:`let_go` says that its traces are known.

        Raises:
            OSError: It is not on the disk.
        """
        ticket = _Ticket(_HEAD.pack(len(body), zlib.crc32(body), is_json) + body)
        with self._lock:
            self._tickets.append(ticket)
        with self._writing:
            if ticket.segment is None and ticket.error is None:  # else whoever wrote before has written it, too
                with self._lock:
                    batch, self._tickets = self._tickets, []
                self._write(batch)
        if ticket.error is not None:
            raise ticket.error
        assert ticket.segment is not None
        return ticket.segment

    def let_go(self, segment: Segment) -> None:
        """Note that the traces of one request are known."""
        with self._lock:
            segment.uses -= 1
        self._remove_if_done(segment)

    def wait_for(self, segment: Segment, trace_id: str) -> None:
        """Keep the file until this trace is done."""
        with self._lock:
            segment.waiting.add(trace_id)

    def done(self, segment: Segment, trace_id: str) -> None:
        """Note that a trace is stored, so that it needs the file no longer."""
        with self._lock:
            segment.waiting.discard(trace_id)
        self._remove_if_done(segment)

    def recovered(self) -> Iterator[tuple[Segment, bytes, bool]]:
        """The requests that a server which is no longer there has left: file, body, and whether that is JSON."""
        for path in sorted(self._folder.glob(f"*{_ENDING}")) if self._folder.is_dir() else ():
            handle = _locked_handle(path)
            if handle is None:
                continue
            data = path.read_bytes()
            segment = Segment(path, handle, len(data), uses=1)
            with self._lock:
                self._segments.add(segment)
            try:
                for body, is_json in _frames(data):
                    yield segment, body, is_json
            finally:
                self.let_go(segment)

    # --- details ---------------------------------------------------------------------------------------------------
    def _write(self, batch: list[_Ticket]) -> None:
        try:
            segment = self._open()
            data = memoryview(b"".join(ticket.frame for ticket in batch))
            while data:
                data = data[os.write(segment.handle, data) :]
            os.fsync(segment.handle)
        except OSError as error:
            with self._lock:
                broken, self._current = self._current, None  # its end may be torn: nothing comes after it
                for ticket in batch:
                    ticket.error = error
            if broken is not None:
                self._remove_if_done(broken)
            return
        with self._lock:
            for ticket in batch:
                segment.size += len(ticket.frame)
                segment.uses += 1
                ticket.segment = segment
            if segment.size >= _SEGMENT_BYTES:
                self._current = None

    def _open(self) -> Segment:
        """The file that is written to, which nobody removes meanwhile."""
        if self._current is not None:
            return self._current
        make_folder(self._folder.parent)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        while True:
            path = self._folder / f"{uuid.uuid4().hex}{_ENDING}"
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | _BINARY, 0o600)
            if _is_locked_now(handle):
                break
            os.close(handle)  # another server, which looks for what was left, was faster; it removes the empty file
        _sync_folder(self._folder)
        segment = Segment(path, handle)
        with self._lock:
            self._segments.add(segment)
            self._current = segment
        return segment

    def _remove_if_done(self, segment: Segment) -> None:
        with self._lock:
            if segment.uses or segment.waiting or segment not in self._segments or segment is self._current:
                return
            self._segments.discard(segment)
        os.close(segment.handle)
        with contextlib.suppress(OSError):
            segment.path.unlink()

    def tidy(self) -> None:
        """Begin a new file, so that the present one can go when all in it is done."""
        with self._writing:
            with self._lock:
                current = self._current
                if current is None or current.uses or current.waiting:
                    return
                self._current = None
            self._remove_if_done(current)


def _frames(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """The whole requests in a file; one that broke off was never acknowledged."""
    place = 0
    while place + _HEAD.size <= len(data):
        length, checksum, is_json = _HEAD.unpack_from(data, place)
        body = data[place + _HEAD.size : place + _HEAD.size + length]
        if len(body) < length or zlib.crc32(body) != checksum:
            logger.warning("tracer-hooks leaves out a request that was not written to its end, and not acknowledged")
            return
        yield body, bool(is_json)
        place += _HEAD.size + length


def _locked_handle(path: Path) -> int | None:
    """The file, opened and locked; None where its server is there, or another one was faster."""
    try:
        handle = os.open(path, os.O_RDWR | _BINARY)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        if _is_locked_now(handle) and os.path.samestat(os.stat(path), os.fstat(handle)):
            return handle
    os.close(handle)
    return None


def _is_locked_now(handle: int) -> bool:
    """Lock a file, and tell whether nobody else had it locked."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Have the name of a new file on the disk, too."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
