"""Items of a list that a later step hands on without one of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._items import Items, lists_in, lists_of, numbers_of, shape_of
from tracer_hooks.diagnosis._provenance._labels import stems
from tracer_hooks.diagnosis._provenance._ledger import Ledger
from tracer_hooks.diagnosis._provenance._reasons import OUT, speaks_against
from tracer_hooks.diagnosis._reading._text import StepPassage

_LISTED, _TOTALLED, _CHECKLIST, _ASIDE = 0.85, 0.8, 0.6, 0.5
_SHORT = 500
_LONGEST_ITEM, _MOST_WORDS = 60, 5
_PAGE = 1_500
"""Characters from which a text is read like a page, where a list is left out of by chance."""
_MOST_BACK = 30
"""Lists before one that are looked at."""
_SELECTION = re.compile(
    r"\b(?:which|who|whom|whose|cheapest|best|highest|lowest|except|without|suitable|qualif\w*|eligible|meets?|fits?"
    r"|recommend|choose|pick|select|filter)\b",
    re.IGNORECASE,
)
_APPLIES = re.compile(
    r"\b(?:criteri|condition|requirement|check(?:ed|s|list)?\b|fulfil|meets?\b|passe[sd]\b|satisf)", re.IGNORECASE
)
_MEETS_ALL = re.compile(
    r"\b(?:all|both|each|every|none) (?:of (?:them|the) ?)?(?:two|three|four|five|six|criteri\w*|conditions?"
    r"|requirements?)",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\b(?:how (?:many|much|long|far|heavy)|total|sum|add|altogether|in all|overall|average|mean|all|list|every"
    r"|each|whole|count)\b",
    re.IGNORECASE,
)


def dropped_items(ledger: Ledger) -> Iterator[Departure]:
    """The first step that repeats a list of things without one of them, which the run then goes on without."""
    if ledger.is_conversation or ledger.is_cut:
        return
    trace = ledger.trace
    lists: list[Items] = list(lists_in(trace.trajectory.task[:4_000], -1))
    for step in trace.acts:
        own = [one for each in trace.passages(step, "result") for one in lists_in(each.raw, step, is_result=True)]
        passage = trace.content(step)
        said = list(lists_in(passage.raw, step)) if passage is not None else []
        passed = [one for call in trace.steps[step].tool_calls for one in lists_of(call.arguments, step)]
        criteria = _condition_left_out(ledger, passage, step, [one for one in lists if one.is_marked])
        found = [*(_dropped(ledger, None, one, lists[-_MOST_BACK:]) for one in passed), criteria]
        found += (_dropped(ledger, passage, one, [*lists[-_MOST_BACK:], *own]) for one in said)
        first = next((one for one in found if one is not None), None)
        if first is not None:
            yield first
            return
        lists += [*own, *said]


def _dropped(ledger: Ledger, passage: StepPassage | None, part: Items, before: Sequence[Items]) -> Departure | None:
    for whole in reversed(before):
        gone = missing(whole, part)
        if gone is None:
            if _repeats(whole, part):
                return None
            continue
        strength = _strength(ledger, whole, part, gone)
        if not strength or not _are_items(ledger, whole, part, gone, passage):
            continue
        agent = ledger.trace.steps[part.step].agent
        where = (
            "the task lists"
            if whole.step < 0
            else f"step {whole.step} lists"
            if whole.step < part.step
            else "its tool lists"
        )
        return Departure(
            kind=DepartureKind.DROPPED,
            step=part.step,
            why=f"{agent!r} leaves out {whole.texts[gone][:80]!r}, which {where} with the others",
            quote=_quote_of(passage, part.texts) if passage is not None else None,
            value=None,
            missing=whole.texts[gone][:80],
            sources=() if whole.step < 0 else (whole.step,),
            strength=strength,
            leads_to_answer=True,
        )
    return None


def _are_items(ledger: Ledger, whole: Items, part: Items, gone: int, passage: StepPassage | None) -> bool:
    """Tell whether the two lists are of things, two of which both name alike, rather than clauses between commas."""
    if len(whole.texts[gone]) > _LONGEST_ITEM:
        return False
    if whole.is_loose and len(whole.texts[gone].split()) > _MOST_WORDS:
        return False
    if passage is None or any(whole.numbers):
        return True
    said = stems(passage.raw[:6_000])
    named = [one for place, one in enumerate(whole.texts) if place != gone and stems(one) and stems(one) <= said]
    return len(named) >= min(2, len(part.texts)) or not whole.is_loose


def _condition_left_out(
    ledger: Ledger, passage: StepPassage | None, step: int, before: Sequence[Items]
) -> Departure | None:
    """The first step that goes through numbered conditions, and speaks of all but one."""
    if passage is None or not before:
        return None
    text = passage.raw[:6_000]
    words, numbers = stems(text), numbers_of(text)
    for whole in reversed(before[-4:]):
        handles = whole.handles
        met = [not words.isdisjoint(one[0]) or not numbers.isdisjoint(one[1]) for one in handles]
        if len(met) < 3 or met.count(False) != 1 or not _APPLIES.search(text) or _MEETS_ALL.search(text):
            continue
        gone = met.index(False)
        if any(_has(_said(ledger, later), handles[gone]) for later in ledger.trace.acts if later > step):
            continue
        where = "the task" if whole.step < 0 else f"step {whole.step}"
        return Departure(
            kind=DepartureKind.DROPPED,
            step=step,
            why=f"{ledger.trace.steps[step].agent!r} does not speak of {whole.texts[gone][:80]!r}, "
            f"a condition of {where}",
            quote=passage.quote_raw(0, min(len(passage.raw), 80)),
            value=None,
            sources=() if whole.step < 0 else (whole.step,),
            strength=_CHECKLIST,
            leads_to_answer=True,
        )
    return None


def missing(whole: Items, part: Items) -> int | None:
    """The place of the one item that the second list lacks; None unless all its others are the first's."""
    if len(part.texts) + 1 != len(whole.texts) or len(part.texts) < 2:
        return None
    free = set(range(len(whole.texts)))
    handles = whole.handles
    for words, numbers in zip(part.words, part.numbers, strict=True):
        fits = [place for place in free if _fits(handles[place], words, numbers)]
        if len(fits) != 1:
            return None
        free.remove(fits[0])
    return free.pop()


def _fits(handle: tuple[frozenset[str], frozenset[str]], words: frozenset[str], numbers: frozenset[str]) -> bool:
    if words and handle[0]:
        return 2 * len(words & handle[0]) >= min(len(words), len(handle[0]))
    return not numbers.isdisjoint(handle[1])


def _repeats(whole: Items, part: Items) -> bool:
    """Tell whether the second list is all of the first."""
    if len(whole.texts) != len(part.texts):
        return False
    handles = whole.handles
    return all(any(_fits(handle, *one) for one in zip(part.words, part.numbers, strict=True)) for handle in handles)


def _strength(ledger: Ledger, whole: Items, part: Items, gone: int) -> float:
    """How surely the item is lost, rather than left out for a reason; 0 when it was."""
    trace = ledger.trace
    if whole.is_loose and not _is_alike(whole, gone):
        return 0.0
    if not whole.numbers[gone] and 2 * sum(map(bool, whole.numbers)) > len(whole.numbers) and part.is_loose:
        return 0.0  # "salt" beside "cream: 750 ml"
    words, numbers = whole.handles[gone]
    handle = (words, frozenset() if words else numbers)
    texts = [trace.trajectory.task[:4_000], *(_said(ledger, step) for step in range(max(0, whole.step), part.step + 1))]
    if _has(_said(ledger, part.step), handle) or OUT.search(whole.texts[gone]):
        return 0.0
    if any(speaks_against(ledger.texts.against(text), [*words, *handle[1]]) for text in texts):
        return 0.0
    answer = trace.final_text
    if any(_has(_said(ledger, later), handle) for later in trace.acts if later > part.step) or _has(answer, handle):
        return 0.0
    if whole.is_loose and part.is_loose and not any(whole.numbers) and len(_said(ledger, part.step)) > _SHORT:
        return 0.0  # in long texts commas part clauses as well
    named = [words for words in part.words if words]
    if len(_said(ledger, part.step)) > _PAGE or (whole.step >= 0 and len(_said(ledger, whole.step)) > _PAGE):
        return _ASIDE if not whole.is_loose and not part.is_loose else 0.0
    if named and all(_has(answer, (words, frozenset())) for words in named):
        return _LISTED
    question = trace.trajectory.task[-600:]
    if _SELECTION.search(question):
        return _ASIDE if _ALL.search(question) else 0.0
    return _TOTALLED if _ALL.search(question) or whole.step < 0 else _ASIDE if whole.is_loose else _CHECKLIST


def _is_alike(whole: Items, gone: int) -> bool:
    """Tell whether the item is of the make of the others, all of which are of one or two makes."""
    shapes = [shape_of(text) for text in whole.texts]
    others = Counter(shape for place, shape in enumerate(shapes) if place != gone)
    return shapes[gone] in others and len(others) <= 2 and (len(others) == 1 or not {"date", "clock"} & set(others))


def _has(text: str, handle: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Tell whether a text speaks of an item: most of its own words, or its own numbers, are in it."""
    words, numbers = handle
    if words:
        return 2 * len(words & stems(text)) >= len(words)
    return bool(numbers) and numbers <= numbers_of(text)


def _said(ledger: Ledger, step: int) -> str:
    passage = ledger.trace.content(step)
    return passage.raw[:6_000] if passage is not None else ""


def _quote_of(passage: StepPassage, items: tuple[str, ...]) -> str | None:
    """The stretch from the first item to the last."""
    low = passage.raw.casefold()
    places = [low.find(item.casefold()) for item in items]
    found = [place for place in places if place >= 0]
    return passage.quote_raw(min(found), max(found) + 1) if found else passage.quote_raw(0, min(len(passage.raw), 80))
