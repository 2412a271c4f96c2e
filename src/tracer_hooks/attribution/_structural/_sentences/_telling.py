"""What a sentence about a step is made of, and how it is checked against the text of the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from tracer_hooks.attribution._features import View
from tracer_hooks.attribution._reading._passage import Passage, code_spans
from tracer_hooks.attribution._rules._signal import Family
from tracer_hooks.attribution._wording import one_line

_OWN = ("content", "arguments")
_MOST_BLOCKS = 20
_LONGEST_BLOCK = 20_000
_WORDS_SHOWN = 60


class Said(NamedTuple):
    """A true sentence about a step."""

    text: str
    quote: str = ""
    """The passage that bears it out; empty when no single one does."""
    about: int | None = None
    """The step that the sentence is about, where it is not the named one."""


Teller = Callable[[View, int], Said | None]
"""Puts a feature of a step into words; None when the text of the step does not bear the sentence out."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """How one feature is told."""

    tell: Teller
    covered_by: tuple[Family, ...] = ()
    """Rules whose own sentence on the same step says as much."""
    is_place: bool = False
    """Whether it tells only where the step stands, which is no finding."""


def plain(text: str) -> Teller:
    """A sentence that the feature alone makes true; ``{agent}`` becomes the speaker."""
    return lambda view, step: Said(text.format(agent=repr(view.agents[step])))


def words(text: str, pattern: re.Pattern[str], *, parts: tuple[str, ...] = _OWN) -> Teller:
    """A sentence with the matched words at ``{words}``, and the passage that they stand in; code is passed over."""

    def tell(view: View, step: int) -> Said | None:
        for passage in view.trace.passages(step, *parts):
            match = pattern.search(passage.prose)
            if match is not None and match.group().strip():
                return Said(text.format(words=shown(match.group())), passage.quote_at(match.start(), match.end()))
        return None

    return tell


def code_words(text: str, pattern: re.Pattern[str]) -> Teller:
    """The same for words in fenced code."""

    def tell(view: View, step: int) -> Said | None:
        for passage, start, end in code_blocks(view, step):
            match = pattern.search(passage.raw, start, end)
            if match is not None and match.group().strip():
                return Said(text.format(words=shown(match.group())), passage.quote_raw(match.start(), match.end()))
        return None

    return tell


def shown(found: str) -> str:
    """Words of the run inside a sentence."""
    return repr(one_line(found, _WORDS_SHOWN))


def code_blocks(view: View, step: int) -> Iterator[tuple[Passage, int, int]]:
    """Where fenced code stands in what a step says."""
    for passage in view.trace.passages(step, *_OWN):
        for start, end in islice(code_spans(passage.raw), _MOST_BLOCKS):
            yield passage, start, min(end, start + _LONGEST_BLOCK)


def has_code(view: View, step: int) -> bool:
    """Whether fenced code stands anywhere in what a step says."""
    return any("```" in passage.raw for passage in view.trace.passages(step, *_OWN))


def texts_of(view: View, step: int) -> str:
    """Everything that stands in a step, in lower case."""
    return "\n".join(passage.raw for passage in view.trace.passages(step)).casefold()


def stands_in(text: str, word: str) -> bool:
    """Whether ``word`` stands in ``text`` by itself; both in lower case."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
