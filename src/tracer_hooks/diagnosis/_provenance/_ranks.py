"""Who comes first: a superlative beside a name that an earlier ranking does not put there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._ledger import Ledger

_NAME = r"[A-Za-z][\w'\u2019-]*(?: [A-Z][\w'\u2019-]*)?"
_WITH_VALUE = rf"{_NAME}(?: ?\(?[$€£]?\d[\d.,]*[ ]?[^\W\d_]{{0,4}}\)?)?"
_CHAIN = re.compile(
    rf"{_WITH_VALUE}(?: ?(?P<sign>[>»]) ?{_WITH_VALUE})(?: ?[>»] ?{_WITH_VALUE})*|"
    rf"{_WITH_VALUE}(?: ?(?P<less><) ?{_WITH_VALUE})(?: ?< ?{_WITH_VALUE})*"
)
_SIGN = re.compile(r"[<>»]")
_TOP = re.compile(
    r"\b(?:highest|top|most|largest|biggest|best|longest|maximum|max|first place|number one|winner|tallest"
    r"|strongest|leads?"
    r"|leading|heaviest|fastest|oldest)\b",
    re.IGNORECASE,
)
_BOTTOM = re.compile(
    r"\b(?:lowest|least|smallest|shortest|minimum|min|cheapest|worst|last place|lightest|weakest|slowest|youngest)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_MOST_STEPS, _CHARS, _SHORT = 40, 3_000, 800
_MARKUP = re.compile(r"</?[a-z]+[^<>]*>|://|[-=]>")
"""Where ">" does not say "more than": mark-up, the paths of web pages."""


def misranked(ledger: Ledger) -> Iterator[Departure]:
    """The first step that gives the top or the bottom of a ranking to another of its members."""
    trace = ledger.trace
    if ledger.is_conversation or len(trace.steps) > _MOST_STEPS:
        return
    rankings: list[tuple[int, list[str]]] = []
    for step in trace.acts:
        passage = trace.content(step)
        text = passage.raw[:_CHARS] if passage is not None else ""
        for where, order in reversed(rankings):
            found = _wrong_end(text, order)
            if found is not None and passage is not None:
                name, end, right, place = found
                yield Departure(
                    kind=DepartureKind.MISCOPIED,
                    step=step,
                    why=f"{trace.steps[step].agent!r} calls {name!r} the {end}, but step {where} puts {right!r} there",
                    quote=passage.quote_raw(place, place + len(name)),
                    value=name,
                    sources=(where,),
                    strength=0.85,
                    leads_to_answer=name.casefold() in trace.final_text.casefold(),
                )
                return
        if len(text) <= _SHORT and _SIGN.search(text) and not _MARKUP.search(text):
            rankings += [(step, order) for order in rankings_in(text)]


def rankings_in(text: str) -> Iterator[list[str]]:
    """The names of each ranking, the top first: "B7 > D7 > A3"."""
    for match in _CHAIN.finditer(text):
        names = [re.match(_NAME, part.strip()) for part in re.split(r"[<>»]", match.group())]
        found = [name.group() for name in names if name is not None]
        if len(found) == len(names) >= 2 and len(set(found)) == len(found):
            yield found if match["sign"] else found[::-1]


def _wrong_end(text: str, order: list[str]) -> tuple[str, str, str, int] | None:
    """The name that a sentence puts at an end, the end, the right name, and the place."""
    start = 0
    for sentence in _SENTENCE.split(text):
        at = text.find(sentence, start)
        start = max(start, at)
        top, bottom = _TOP.search(sentence), _BOTTOM.search(sentence)
        named = [(name, match.start()) for name in order if (match := re.search(rf"\b{re.escape(name)}\b", sentence))]
        if (top is None) == (bottom is None) or len(named) != 1:
            continue
        if re.search(r"\b(?:not|second|next|third|but|than|after)\b|n['\u2019]t\b", sentence, re.IGNORECASE):
            continue
        name, place = named[0]
        right = order[0] if top is not None else order[-1]
        if name != right:
            return name, "top" if top is not None else "bottom", right, at + place
    return None
