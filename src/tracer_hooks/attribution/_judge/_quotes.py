"""Quotations of the judge, found again in the step or dropped."""

from __future__ import annotations

import re
import sys

from tracer_hooks.attribution._reading._passage import passages_of
from tracer_hooks.schema import Step

MAX_QUOTE = 400
_FRAME = " \t\r\n\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"
_LEFT_OUT = re.compile(r"\[?\.{3,}(?:\s*\d+ characters left out\s*\.{3,}\s*\])?|\[?…\]?")
_LEAST_PIECE = 12


def find_quote(step: Step, quote: str) -> str | None:
    """The passage of ``step`` that ``quote`` repeats word for word, as it stands there; None when there is none.

    White space may differ. Of a quotation with an ellipsis the longest piece that stands in the step is taken.
    """
    texts = [passage.raw for passage in passages_of(step, sys.maxsize)]
    whole = quote.strip(_FRAME)
    pieces = [piece.strip(_FRAME) for piece in _LEFT_OUT.split(whole)]
    long_enough = sorted((piece for piece in pieces if len(piece) >= _LEAST_PIECE), key=len, reverse=True)
    for wanted in [whole, *long_enough]:
        for text in texts:
            if found := _find(text, wanted):
                return _shortened(found)
    return None


def opening(step: Step) -> str | None:
    """The first words of a step, to hang a remark on; None when it has no text."""
    for passage in passages_of(step, sys.maxsize):
        if words := passage.raw.strip():
            return _shortened(words.splitlines()[0].strip())
    return None


def _find(text: str, wanted: str) -> str | None:
    words = wanted.split()
    if not any(char.isalnum() for char in wanted):
        return None
    match = re.search(r"\s+".join(map(re.escape, words)), text)
    return match.group() if match else None


def _shortened(text: str) -> str:
    """At most ``MAX_QUOTE`` characters, ending with a whole word where there is one."""
    if len(text) <= MAX_QUOTE:
        return text
    return text[:MAX_QUOTE].rsplit(None, 1)[0]
