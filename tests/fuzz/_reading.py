"""What must hold when a damaged input is read: an answer or a reason, and never anything else."""

import contextlib
import hashlib
import json
import signal
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from tracer_hooks._reading import MAX_MESSAGE
from tracer_hooks.datasets import LabeledSet, LoadedRecord, load
from tracer_hooks.diagnosis import Attributor, get_attributor
from tracer_hooks.errors import AttributionError, DatasetError, RecordedFailureError, TrajectoryError
from tracer_hooks.replay import Tape
from tracer_hooks.schema import Trajectory, from_json, to_json
from tracer_hooks.store._packing import unpack

MOST_SECONDS = 10.0
"""CPU seconds that reading and diagnosing one input may take."""
_WALL_SECONDS = 100.0
"""Wall seconds after which an input hangs, on whatever machine."""


class TookTooLongError(AssertionError):
    """An input was not done in time."""


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """The block ends within :data:`MOST_SECONDS` of CPU time, and does not wait for ever either."""

    def stop(number: int, frame: object) -> None:
        raise TookTooLongError(f"not done after {MOST_SECONDS} s of CPU time, or {_WALL_SECONDS} s on the clock")

    before = signal.signal(signal.SIGPROF, stop), signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, _WALL_SECONDS)
    began = time.process_time()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, before[0])
        signal.signal(signal.SIGALRM, before[1])
    assert time.process_time() - began < MOST_SECONDS


def check_load(folder: Path, *, format: str) -> None:
    """``load`` answers for every file, in the format that is seen and in the one that is named."""
    for chosen in dict.fromkeys(("auto", format)):
        records = list(load(folder, format=cast(Any, chosen)))
        assert records, "no file of the folder was answered"
        for record in records:
            _check_record(record, folder)


def check_labelled_folder(folder: Path) -> None:
    """A labelled set is read whole, or refused with the file and the line; ``load`` reads it, too."""
    message = ""
    try:
        LabeledSet.load(folder)
    except DatasetError as error:
        message = str(error)
    assert not message or str(folder) in message
    assert len(message) < len(repr(str(folder))) + MAX_MESSAGE + 200
    check_load(folder, format="auto")


def check_tape(folder: Path) -> None:
    """A tape is refused, or every call on it can be served."""
    text = (folder / "tape.json").read_text(encoding="utf-8")
    try:
        tape = Tape.model_validate(json.loads(text))
    except (ValidationError, ValueError):  # a number of thousands of digits is no JSON to Python
        return
    for call in tape.model_calls:
        tape.messages_of(call)
        with contextlib.suppress(RecordedFailureError):
            call.reply()
    for tool in tape.tool_calls:
        with contextlib.suppress(RecordedFailureError):
            tool.reply()


def check_packed(folder: Path) -> None:
    """What a store's row holds is unpacked and read, or refused."""
    with contextlib.suppress(ValueError, TrajectoryError):
        from_json(unpack((folder / "packed.bin").read_bytes()), Trajectory)


def _check_record(record: LoadedRecord, folder: Path) -> None:
    assert record.source.startswith(str(folder))
    if record.trajectory is None:
        assert isinstance(record.error, TrajectoryError)
        message = str(record.error)
        assert repr(record.source) in message, message
        assert len(message) <= len(repr(record.source)) + 2 + MAX_MESSAGE, len(message)
        return
    assert record.error is None
    text = to_json(record.trajectory)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if digest not in _done:
        assert to_json(from_json(text, Trajectory)) == text
        with contextlib.suppress(AttributionError):
            _structural().attribute(record.trajectory)
        _done.add(digest)


_done: set[bytes] = set()
"""Trajectories that were written and diagnosed without a fault: much damage changes none of them, and both are
functions of the trajectory alone."""


@cache
def _structural() -> Attributor:
    return get_attributor("structural")
