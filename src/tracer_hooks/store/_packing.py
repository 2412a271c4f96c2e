"""Values as columns hold them: JSON text as bytes, compressed when that pays, and moments as whole microseconds."""

from __future__ import annotations

import zlib
from datetime import UTC, date, datetime, timedelta

from tracer_hooks._reading import MAX_RECORD_BYTES

COMPRESS_FROM = 4096
"""Bytes of UTF-8 from which a text is compressed: below, zlib saves less than one page of the file."""

EPOCH_DAY = date(1970, 1, 1)
"""The day that moments are counted from."""
DAY_US = 86_400_000_000
"""Microseconds of a day."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_COMPRESSED = b"z"  # no JSON object begins with it, so the bytes say themselves how to read them


def pack(text: str) -> bytes:
    """``text``, a JSON object, as bytes for the database."""
    data = text.encode("utf-8")
    if len(data) < COMPRESS_FROM:
        return data
    return _COMPRESSED + zlib.compress(data, level=6)


def unpack(data: bytes) -> str:
    """The text that :func:`pack` was given."""
    if data[:1] != _COMPRESSED:
        return data.decode("utf-8")
    opened = zlib.decompressobj()
    try:
        text = opened.decompress(data[1:], MAX_RECORD_BYTES)
    except zlib.error as error:
        raise ValueError(f"compressed record is damaged: {error}") from error
    if not opened.eof:
        what = "is larger than a record can be" if opened.unconsumed_tail else "breaks off"
        raise ValueError(f"compressed record is damaged: it {what}")
    return text.decode("utf-8")


def to_microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970; exact, unlike a float of seconds."""
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(count: int) -> datetime:
    """The moment that :func:`to_microseconds` was given, in UTC."""
    return _EPOCH + count * _MICROSECOND
