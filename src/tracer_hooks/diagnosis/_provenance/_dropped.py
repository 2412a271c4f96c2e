"""Items that a step leaves out of what it was handed: of a list, of a sum or of a total."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from tracer_hooks.diagnosis._provenance._departures import Departure, DepartureKind
from tracer_hooks.diagnosis._provenance._ledger import Entry, Ledger, Place
from tracer_hooks.diagnosis._provenance._values import Kind, Sighting, is_same
from tracer_hooks.diagnosis._provenance._words import Items, lists_in, lists_of, numbers_of, shape_of, stems
from tracer_hooks.diagnosis._reading._text import StepPassage
from tracer_hooks.values import Calculation

_LISTED, _TOTALLED, _LIKELY, _ASIDE = 0.85, 0.8, 0.6, 0.5
_SHORT = 500
_LONGEST_ITEM, _MOST_WORDS = 60, 5
_TASK_CHARS, _CHARS = 4_000, 6_000
_PAGE = 1_500
"""Characters from which a text is read like a page, where a list is left out of by chance."""
_MOST_BACK = 30
"""Lists before one that are looked at."""
_SELECTION = re.compile(
    r"\b(?:which|who|whom|whose|cheapest|best|highest|lowest|except|without|suitable|qualif\w*|eligible|meets?|fits?"
    r"|recommend|choose|pick|select|filter)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(?:as|at|by|that|than|to|which|while|with)\b", re.IGNORECASE)
_ALL = re.compile(
    r"\b(?:how (?:many|much|long|far|heavy)|total|sum|add|altogether|in all|overall|average|mean|all|list|every"
    r"|each|whole|count)\b",
    re.IGNORECASE,
)


def dropped_items(ledger: Ledger) -> Iterator[Departure]:
    """The first step that repeats a list of things without one of them, which the run then goes on without."""
    if ledger.is_conversation or ledger.is_cut:
        return
    run = ledger.run
    lists: list[Items] = list(lists_in(run.trajectory.task[:_TASK_CHARS], -1))
    for step in run.acts:
        own = [items for result in run.passages(step, "result") for items in lists_in(result.raw, step)]
        passage = run.content(step)
        said = list(lists_in(passage.raw, step)) if passage is not None else []
        passed = [items for call in run.steps[step].tool_calls for items in lists_of(call.arguments, step)]
        found = [_dropped(ledger, None, items, lists[-_MOST_BACK:]) for items in passed]
        found += (_dropped(ledger, passage, items, [*lists[-_MOST_BACK:], *own]) for items in said)
        first = next((each for each in found if each is not None), None)
        if first is not None:
            yield first
            return
        lists += [*own, *said]


def _dropped(ledger: Ledger, passage: StepPassage | None, part: Items, before: Sequence[Items]) -> Departure | None:
    for whole in reversed(before):
        gone = missing(whole, part)
        strength = _strength(ledger, whole, part, gone) if gone is not None else 0.0
        if gone is None or not strength or not _are_items(whole, part, gone, passage):
            continue
        agent, item = ledger.run.steps[part.step].agent, whole.texts[gone][:80]
        where = "the task" if whole.step < 0 else f"step {whole.step}" if whole.step < part.step else "its tool"
        return Departure(
            kind=DepartureKind.DROPPED,
            step=part.step,
            why=f"{agent!r} leaves out {item!r}, which {where} lists with the others",
            quote=_quote_of(passage, part.texts) if passage is not None else None,
            value=None,
            missing=item,
            sources=() if whole.step < 0 else (whole.step,),
            strength=strength,
            leads_to_answer=True,
        )
    return None


def _are_items(whole: Items, part: Items, gone: int, passage: StepPassage | None) -> bool:
    """Tell whether the two lists are of things, two of which both name alike, rather than clauses between commas."""
    if len(whole.texts[gone]) > _LONGEST_ITEM:
        return False
    if whole.is_loose and (len(whole.texts[gone].split()) > _MOST_WORDS or _CLAUSE.match(whole.texts[gone])):
        return False
    if passage is None or any(whole.numbers):
        return True
    said = stems(passage.raw[:_CHARS])
    named = [text for place, text in enumerate(whole.texts) if place != gone and stems(text) and stems(text) <= said]
    return len(named) >= min(2, len(part.texts)) or not whole.is_loose


def missing(whole: Items, part: Items) -> int | None:
    """The place of the one item that the second list lacks; None unless all its others are the first's."""
    if len(part.texts) + 1 != len(whole.texts):
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


def _strength(ledger: Ledger, whole: Items, part: Items, gone: int) -> float:
    """Weigh how surely the item is lost, rather than left out for a reason; 0 when it was."""
    run = ledger.run
    if whole.is_loose and not _is_alike(whole, gone):
        return 0.0
    if not whole.numbers[gone] and 2 * sum(map(bool, whole.numbers)) > len(whole.numbers) and part.is_loose:
        return 0.0  # "salt" beside "cream: 750 ml"
    words, numbers = whole.handles[gone]
    handle = (words, frozenset() if words else numbers)
    answer, own = run.final_text, _said(ledger, part.step)
    if any(_has(_said(ledger, later), handle) for later in run.acts if later >= part.step) or _has(answer, handle):
        return 0.0
    texts = [run.trajectory.task[:_TASK_CHARS], *(_said(ledger, at) for at in range(max(0, whole.step), part.step + 1))]
    if _OUT.search(whole.texts[gone]) or any(_speaks_against(text, [*words, *handle[1]]) for text in texts):
        return 0.0
    if whole.is_loose and part.is_loose and not any(whole.numbers) and len(own) > _SHORT:
        return 0.0  # in long texts commas part clauses as well
    if len(own) > _PAGE or (whole.step >= 0 and len(_said(ledger, whole.step)) > _PAGE):
        return _ASIDE if not whole.is_loose and not part.is_loose else 0.0
    named = [words for words in part.words if words]
    if named and all(_has(answer, (words, frozenset())) for words in named):
        return _LISTED
    question = run.trajectory.task[-600:]
    if _SELECTION.search(question):
        return _ASIDE if _ALL.search(question) else 0.0
    return _TOTALLED if _ALL.search(question) or whole.step < 0 else _ASIDE if whole.is_loose else _LIKELY


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
    passage = ledger.run.content(step)
    return passage.raw[:_CHARS] if passage is not None else ""


def _quote_of(passage: StepPassage, items: tuple[str, ...]) -> str | None:
    """The stretch from the first item to the last."""
    low = passage.raw.casefold()
    places = [low.find(item.casefold()) for item in items]
    found = [place for place in places if place >= 0]
    return passage.quote_raw(min(found), max(found) + 1) if found else passage.quote_raw(0, min(len(passage.raw), 80))


_OUT = re.compile(
    r"\b(?:not(?! (?:exceed|less|more|later))|no(?! (?:more|less|fewer|later))|none|without|except|exclud\w*|cancel\w*"
    r"|unavailable|ineligible|skip\w*|remov\w*|omit\w*|left out|instead|already|unless)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?](?=\s|$)|[;\n|]")
_NEAR = 40


def _speaks_against(text: str, words: Sequence[str]) -> bool:
    """Tell whether a text says of something that it does not count, near to one of the words in the same sentence."""
    for sentence, out in _denials_in(text):
        places = [at for word in words if (at := sentence.find(word)) >= 0]
        if places and any(abs(at - denied) <= _NEAR for denied in out for at in places):
            return True
    return False


@lru_cache(maxsize=256)  # the same few texts are asked about every item
def _denials_in(text: str) -> list[tuple[str, list[int]]]:
    """The sentences of a text, folded, that say of something that it does not count, and where they do."""
    sentences = _SENTENCE.split(text.casefold()) if _OUT.search(text) is not None else ()
    found = ((sentence, [match.start() for match in _OUT.finditer(sentence)]) for sentence in sentences)
    return [(sentence, places) for sentence, places in found if places]


_MOST_TERMS = 12
_MOST_TEXTS = 8
_NAME = re.compile(r"[^\W\d_]{3,}")
_TOTAL = re.compile(
    r"\b(?:totals?|sum(?:med|s)?|add(?:s|ed)? up|altogether|in all|overall|combined|gesamt|how (?:many|much|long))\b",
    re.IGNORECASE,
)


def left_out_of_sum(
    ledger: Ledger, step: int, calculation: Calculation, operands: Sequence[Sighting]
) -> Departure | None:
    """The departure at a sum or mean over all but one of the values that one source lists."""
    if not set(calculation.operators) <= set("+/="):
        return None
    terms = operands[:-1] if "/" in calculation.operators else operands  # (a + b + c) / 3
    if len(terms) < 2:
        return None
    said = ledger.of_step(step, Place.SAID)
    for listed in _lists_before(ledger, step):
        rest = list(listed)
        for term in terms:
            found = next((each for each in rest if is_same(each.value, term)), None)
            if found is None:
                break
            rest.remove(found)
        else:
            counts = Counter(each.value.number for each in listed)
            rest = [each for each in rest if not _is_ruled_out(ledger, each, step)]
            is_gone = len(rest) == 1 and (counts[rest[0].value.number] > 1 or not _is_among(rest[0].value, said))
            if is_gone and _is_like(rest[0], listed):
                return _first_left_out(ledger, step, rest[0], listed, terms, (calculation.start, calculation.end))
    return None


def left_out_of_total(ledger: Ledger, entry: Entry) -> Departure | None:
    """The departure at a total, stated without its terms, that all but one of the values of one list come to."""
    total = entry.value.number
    if total is None or entry.value.kind is not Kind.NUMBER or not entry.value.is_telling or ledger.is_conversation:
        return None
    text = entry.passage.text if entry.passage is not None else ""
    said = ledger.of_step(entry.step, Place.SAID)
    least = 3 if _TOTAL.search(text) or _TOTAL.search(ledger.run.trajectory.task[-600:]) else 4
    for listed in _lists_before(ledger, entry.step):
        if len(listed) >= least:
            listed = [each for each in listed if not _is_ruled_out(ledger, each, entry.step)]
        if len(listed) < least or _is_among(entry.value, listed):
            continue
        whole = sum((each.value.number for each in listed if each.value.number is not None), Fraction(0))
        if whole == total or any(each.value.number == whole for each in said):
            continue  # a subtotal on the way
        gone = [each for each in listed if each.value.number and whole - each.value.number == total]
        gone = [each for each in gone if not _is_among(each.value, said)]
        if len({each.value.number for each in gone}) == 1 and _is_like(gone[0], listed):
            terms = [each.value for each in listed if each is not gone[0]]
            return _first_left_out(ledger, entry.step, gone[0], listed, terms, (entry.value.start, entry.value.end))
    return None


def _is_among(value: Sighting, entries: Sequence[Entry]) -> bool:
    return any(is_same(value, each.value) for each in entries)


def _is_ruled_out(ledger: Ledger, entry: Entry, step: int) -> bool:
    """Tell whether the run says before a step that a value does not count, in the sentence that names it."""
    task = ledger.run.trajectory.task
    texts = [task] if entry.step < 0 else []
    start = max(0, entry.step)
    texts += [passage.text for at in range(start, step + 1) if (passage := ledger.run.content(at)) is not None]
    own = entry.passage.text if entry.passage is not None else task
    names = [word for word in _NAME.findall(own[max(0, entry.value.start - 24) : entry.value.start]) if stems(word)]
    wanted = [entry.text.casefold(), *(name.casefold() for name in names[-1:])]
    return any(_speaks_against(text[:_TASK_CHARS], wanted) for text in texts[:_MOST_TEXTS])


def _is_like(gone: Entry, listed: Sequence[Entry]) -> bool:
    """Tell whether a value is of the same make as the others: not the 3 of "Mobiles (3) £51.00"."""
    others = [entry.value for entry in listed if entry is not gone]
    is_of_digits = gone.value.decimals in {value.decimals for value in others} and gone.value.unit is not None
    is_telling = gone.value.is_telling or not any(value.is_telling for value in others) or is_of_digits
    return is_telling and not _is_result(gone, listed)


def _is_result(gone: Entry, listed: Sequence[Entry]) -> bool:
    """Tell whether a value alone of the others is what their text works out, and no item beside them."""
    text = gone.passage.text if gone.passage is not None else ""
    numbers = {each.text.split()[0] for each in listed}
    worked = {each for each in numbers if re.search(rf"=[\s$€£*]*{re.escape(each)}(?![\w.]*\w)", text) is not None}
    return worked == {gone.text.split()[0]}


def _lists_before(ledger: Ledger, step: int) -> Iterator[list[Entry]]:
    """Values of one unit in one text, the latest texts first; the task last."""
    texts: dict[tuple[int, str | None], list[Entry]] = {}
    for entry in ledger.at_hand(step, most=120):
        if entry.value.number is not None and not entry.value.in_words:
            texts.setdefault((id(entry.passage), entry.value.unit), []).append(entry)
    found = [entries for entries in texts.values() if 3 <= len(entries) <= _MOST_TERMS]
    yield from sorted(found, key=lambda entries: entries[0].order, reverse=True)


def _first_left_out(
    ledger: Ledger, step: int, gone: Entry, listed: Sequence[Entry], terms: Sequence[Sighting], span: tuple[int, int]
) -> Departure:
    """At the first step that hands the other values on without it; the sum's own step when none does."""
    for earlier in ledger.run.acts:
        said = ledger.of_step(earlier, Place.SAID) if listed[0].step < earlier < step else ()
        if said and all(_is_among(term, said) for term in terms) and not _is_among(gone.value, said):
            start = next(each.value.start for each in said if any(is_same(each.value, term) for term in terms))
            step, span = earlier, (start, start + 1)
            break
    passage = ledger.run.content(step)
    where = "the task" if gone.step < 0 else f"step {gone.step}"
    return Departure(
        kind=DepartureKind.DROPPED,
        step=step,
        why=f"{ledger.run.steps[step].agent!r} leaves out {gone.text!r}, which {where} lists with the others",
        quote=passage.quote_at(*span) if passage is not None else None,
        value=None,
        missing=gone.text,
        sources=() if gone.step < 0 else (gone.step,),
        strength=0.95,
    )
