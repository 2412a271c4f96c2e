"""Instructions sentence by sentence."""

from __future__ import annotations

import re
from typing import NamedTuple

_SENTENCE = re.compile(r"\S.*?(?:[.!?…][\"')\]\u201d\u2019»]*(?=\s|$)|$)", re.MULTILINE)


class Sentence(NamedTuple):
    """A sentence, and where in the text it stands."""

    text: str
    start: int
    end: int


def sentences_of(text: str) -> list[Sentence]:
    """The sentences of ``text``, in order; a line break ends one, too."""
    return [Sentence(match.group(), match.start(), match.end()) for match in _SENTENCE.finditer(text)]


def plain(sentence: str) -> str:
    """A sentence as two writings of it are compared: without capitals, spaces and marks around it."""
    return " ".join(sentence.casefold().split()).strip(" .,;:!?-*•\"'")
