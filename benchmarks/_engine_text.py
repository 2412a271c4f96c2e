"""Turn tokens into text as they come, and stop at a string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class TextStream:
    """The text of one answer.

    Attributes:
        text: All text so far; ends before a stop string once one is found.
        stopped: Whether a stop string was found.
    """

    def __init__(self, tokenizer: Any, stops: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._stops = tuple(stops)
        self._tokens: list[int] = []
        self._begin = 0
        self._read = 0
        self._sent = 0
        self.text = ""
        self.stopped = False

    def push(self, token: int) -> None:
        """Add a token."""
        self._tokens.append(token)
        # Decoding a few tokens of context makes spaces and characters of several tokens come out whole.
        before = self._decode(self._tokens[self._begin : self._read])
        after = self._decode(self._tokens[self._begin :])
        if len(after) > len(before) and not after.endswith("\N{REPLACEMENT CHARACTER}"):
            self._begin, self._read = self._read, len(self._tokens)
            self._add(after[len(before) :])

    def finish(self) -> None:
        """Add what is left of an unfinished character."""
        if not self.stopped:
            before = self._decode(self._tokens[self._begin : self._read])
            self._add(self._decode(self._tokens[self._begin :])[len(before) :])
            self._begin = self._read = len(self._tokens)

    def ready(self, *, whole: bool = False) -> str:
        """The text not yet asked for; what may be the beginning of a stop string is held back unless ``whole``."""
        end = len(self.text)
        if not whole and not self.stopped:
            end -= max((_overlap(self.text, stop) for stop in self._stops), default=0)
        piece = self.text[self._sent : end]
        self._sent = max(self._sent, end)
        return piece

    def _add(self, piece: str) -> None:
        longest = max((len(stop) for stop in self._stops), default=1)
        begin = max(0, len(self.text) - longest + 1)
        self.text += piece
        found = [at for stop in self._stops if (at := self.text.find(stop, begin)) >= 0]
        if found:
            self.text, self.stopped = self.text[: min(found)], True

    def _decode(self, tokens: Sequence[int]) -> str:
        if not tokens:
            return ""
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of ``text`` that begins ``stop``."""
    return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)
