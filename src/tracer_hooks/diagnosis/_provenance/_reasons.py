"""Words by which a run says that something does not count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OUT = re.compile(
    r"\b(?:not(?! (?:exceed|less|more|later))|no(?! (?:more|less|fewer|later))|none|out|without|except"
    r"|exclud\w*|cancel\w*|suspend\w*|declin\w*|reject\w*|absent|unavailable|withdr[ae]w\w*|sick"
    r"|ill|missing|ineligible|skip\w*|drop\w*|remov\w*|omit\w*|leave[sd]? out|left out|fails?|failed|already"
    r"|instead|ignor\w*"
    r"|refund\w*|returned|free|voided|duplicate|expired|closed|unless|too (?:late|expensive|long|small|few"
    r"|young|heavy))\b|n['\u2019]t\b|[✗✘❌]",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"[.!?](?=\s|$)|[;\n|]")
_NEAR = 40


@dataclass(frozen=True, slots=True)
class Against:
    """A sentence that says of something that it does not count."""

    text: str
    """Folded."""
    places: tuple[int, ...]
    """Where it says so."""

    def names(self, word: str) -> bool:
        """Tell whether a word stands near to where it says so."""
        at = self.text.find(word)
        return at >= 0 and any(abs(at - place) <= _NEAR for place in self.places)


def against_in(text: str) -> tuple[Against, ...]:
    """The sentences of a text that say of something that it does not count."""
    if OUT.search(text) is None:
        return ()
    sentences = ((one, tuple(match.start() for match in OUT.finditer(one))) for one in SENTENCE.split(text))
    return tuple(Against(one.casefold(), places) for one, places in sentences if places)


def speaks_against(sentences: Iterable[Against], words: Sequence[str]) -> bool:
    """Tell whether one of the sentences says near to one of the words that something does not count."""
    return any(sentence.names(word) for sentence in sentences for word in words)
