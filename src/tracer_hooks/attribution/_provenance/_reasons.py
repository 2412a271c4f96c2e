"""Words by which a run says that something does not count."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def speaks_against(text: str, words: Sequence[str]) -> bool:
    """Whether a sentence of ``text`` says near to one of the words that something does not count."""
    for sentence in SENTENCE.split(text):
        outs = [match.start() for match in OUT.finditer(sentence)]
        if not outs:
            continue
        low = sentence.casefold()
        for word in words:
            at = low.find(word)
            if at >= 0 and any(abs(at - out) <= _NEAR for out in outs):
                return True
    return False
