"""One input after another, made from a number, so that whatever fails can be made again."""

import os
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from ._formats import Files, Format
from ._reading import in_time

CORPUS = Path(__file__).parent / "corpus"
"""Inputs that once failed, a folder each below the name of their format; the tests try them again."""
_STRICT = "TRACER_HOOKS_STRICT"


@dataclass(frozen=True)
class Tried:
    """What came of one input."""

    failure: str = ""
    """What it raised and where; empty when all was as it should be."""
    caught: str = ""
    """Where a fault of ours was caught by the boundary, which gave a reason instead of it."""


def files_of(format: Format, seed: int, number: int) -> Files:
    """The input of that number."""
    return format.make(Random(f"{format.name}/{seed}/{number}"))


def try_files(format: Format, files: Files, folder: Path) -> Tried:
    """Read an input: first so that the boundary lets everything through, which tells where it is needed."""
    write_files(files, folder)
    caught = ""
    with _strict("1"):
        try:
            with in_time():
                format.check(folder)
            return Tried()
        except Exception as error:
            caught = place_of(error)
    with _strict(""):
        try:
            with in_time():
                format.check(folder)
        except Exception as error:
            return Tried(failure=place_of(error))
    return Tried(caught=caught)


def write_files(files: Files, folder: Path) -> None:
    """The files of an input, and nothing else, in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def place_of(error: BaseException) -> str:
    """The error's kind, where it was raised, and the beginning of its text."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}tracer_hooks{os.sep}" in frame.filename] or list(frames)
    last = ours[-1]
    file = last.filename.rpartition(f"tracer_hooks{os.sep}")[2]
    return f"{type(error).__name__} at {file}:{last.lineno}: {ascii(str(error))[:160]}"


@contextmanager
def _strict(value: str) -> Iterator[None]:
    before = os.environ.get(_STRICT)
    os.environ[_STRICT] = value
    try:
        yield
    finally:
        os.environ.pop(_STRICT)
        if before is not None:
            os.environ[_STRICT] = before
