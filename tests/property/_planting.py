"""Texts that nobody may find again, and everything that is written or sent while a team runs."""

import io
import itertools
import logging
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest

from tracer_hooks.cli.app import main
from tracer_hooks.config import ContentCapture
from tracer_hooks.endpoint import ChatCompletion, ChatRequest
from tracer_hooks.schema import Usage

OFF, REDACTED, FULL = ContentCapture.OFF, ContentCapture.REDACTED, ContentCapture.FULL

SECRETS = {
    "key": lambda number: f"sk-{number:04d}" + "aB3" * 10,
    "token": lambda number: f"ghp_{number:04d}" + "aB3d" * 8,
    "mail": lambda number: f"jane.roe{number:04d}@example.org",
    "jwt": lambda number: f"eyJ{number:04d}hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij",
}
"""What ``redacted`` promises to blank, whatever stands around it. How each kind is found is tested apart."""


@dataclass
class Planted:
    """Texts that nobody may find again, with the place where each was put."""

    kind: str
    are_secrets: bool
    places: dict[str, str] = field(default_factory=dict)

    def __call__(self, place: str) -> str:
        number = len(self.places)
        # In the mode off nothing of what people wrote may be seen, whether it looks like a secret or not.
        text = SECRETS[self.kind](number) if self.are_secrets else f"quokka{number:04d}z"
        self.places[text] = place
        return text

    def found_in(self, where: str, data: bytes) -> list[str]:
        return [f"{place}: in {where}" for text, place in self.places.items() if text.encode() in data]


class NosyJudge:
    """A judge's model that keeps what it is asked, and quotes it."""

    name = identity = "nosy"
    context_tokens = 100_000

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count_tokens(self, text: str) -> int:
        return len(text)

    def complete(self, request: ChatRequest, *, timeout_s: float | None = None) -> ChatCompletion:
        said = "\n".join(message.content for message in request.messages)
        self.asked.append(said)
        return ChatCompletion(text=f"I read: {said}", usage=Usage())


@contextmanager
def logged(*names: str) -> Iterator[io.StringIO]:
    """Everything that loggers of these names, or all, log meanwhile, at every level, with tracebacks."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    loggers = [logging.getLogger(name) for name in names or (None,)]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)


def command(*arguments: object) -> bytes:
    """What a command prints, on stdout and stderr."""
    said = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["tracer-hooks", *map(str, arguments)]),
        redirect_stdout(said),
        redirect_stderr(said),
        pytest.raises(SystemExit),
    ):
        main()
    return said.getvalue().encode()


def unpacked(file: Path) -> bytes:
    """Every value in every table, packed ones as the text that they hold."""
    values = []
    with sqlite3.connect(file) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for value in itertools.chain(*connection.execute(f'SELECT * FROM "{table}"')):
                if isinstance(value, bytes):
                    values.append(zlib.decompress(value[1:]) if value[:1] == b"z" else value)
                else:
                    values.append(str(value).encode())
    connection.close()
    return b"\n".join(values)
