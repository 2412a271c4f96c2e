"""Calculations in words: "the sum of 45 and 38 is 83", "20 % of 300 is 60", "12, 8 and 4, altogether 24"."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from tracer_hooks.values._calculation import Calculation, agrees, is_plausible
from tracer_hooks.values._expressions import EQUALS_WORDS
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._text import lazy
from tracer_hooks.values._units import common_measure, is_currency

_Terms = Sequence[Quantity]
_N = "\ue002"
"""Stands for a quantity."""
_STOP = (
    r"(?!(?:is|are|was|were|has|have|had|and|or|more|less|fewer|than|plus|minus|times|of|off|out|per|each|at"
    r"|for|to|from"
    r"|with|without|which|that|so|by|in|equals?|makes?|gives?|leaves?|comes?|totals?|costs?|altogether|together)\b)"
)
_WORD = rf"{_STOP}[^\W\d][\w'’-]{{0,19}}"
_NOUN = rf"(?: {_WORD}){{0,3}}"
_WHO = r"(?: (?:the|our|their|his|her|my|all|all the|your|those|these|its))?"
_IS = (
    rf"(?: ?[=≈→] ?|[,;:]? ?(?:so |and )?(?:that |this |it |which )?(?:{EQUALS_WORDS}|costs?|will cost)"
    r"(?: (?:about|roughly|exactly|only|just|to|now))* ?)"
)
_SO = (
    rf"(?:{_IS}|, another |[,;:]? ?(?:so|thus|therefore|hence|—|–|-|:)(?: (?:that(?:'s| is| makes)|it(?:'s|"
    rf" is)|together|in total|we (?:need|have|pay|get)|they (?:pay|cost|need)))?,? )"
)
_LIST = rf"{_N}(?>{_NOUN}(?:,| and|, and| plus| und| et) {_N}){{1,20}}"
_LABELLED = (
    rf"{_N}(?>{_NOUN}(?:[,;]|,? and| plus| und| et) (?:(?!more\b|less\b)[^\W\d][\w'’-]{{0,19}},? ){{0,4}}{_N}){{1,20}}"
)
_ALL_WORDS = "altogether|in total|together|in all|in sum|combined|all told|overall|insgesamt|zusammen|au total"
_ALL = f"(?:{_ALL_WORDS})"
_EACH = r"(?: ?each| apiece| per \w+| an? \w+| ?/ ?\w+)"
_TAX = r"(?:tip|tax|vat|fee|commission|surcharge|service|interest|gratuity|markup|duty|levy|increase|raise|bonus)"
_CUT = r"(?:discount|reduction|rebate|cut|decrease|off)"


class Form(NamedTuple):
    """One sentence that states a calculation."""

    kind: str
    """Decides what its quantities have to be, and how it is named in a correction."""
    pattern: re.Pattern[str]
    values: Callable[[_Terms], Sequence[Fraction]]
    """The results of the terms: first what is meant, then what may be meant as well."""
    one_unit: bool = False
    cues: frozenset[str] = frozenset()
    """A text without any of these, in lower case, does not hold the sentence: that is found out much sooner."""


def _total(terms: _Terms) -> list[Fraction]:
    return [sum((term.value for term in terms), Fraction(0))]


def _product(terms: _Terms) -> list[Fraction]:
    return [reduce(lambda product, term: product * term.value, terms, Fraction(1))]


def _added(terms: _Terms) -> list[Fraction]:
    part, whole = terms
    if part.unit == "%" and whole.unit != "%":
        return [whole.value * (1 + _share(part)), whole.value * _share(part)]
    return _total(terms)


def _share(quantity: Quantity) -> Fraction:
    """A percentage or fraction as a part of one."""
    return quantity.value / 100 if quantity.unit == "%" else quantity.value


def _part(terms: _Terms) -> list[Fraction]:
    return [_share(terms[0]) * terms[1].value]


def _part_or_more(terms: _Terms) -> list[Fraction]:
    return [*_part(terms), (1 + _share(terms[0])) * terms[1].value]


def _rest_or_part(terms: _Terms) -> list[Fraction]:
    return [(1 - _share(terms[0])) * terms[1].value, *_part(terms)]


def _less(terms: _Terms) -> list[Fraction]:
    whole, part = terms
    if part.unit == "%":
        return [whole.value * (1 - _share(part)), whole.value * _share(part)]
    return [whole.value - part.value]


def _form(
    kind: str, cues: str, pattern: str, values: Callable[[_Terms], Sequence[Fraction]], *, one_unit: bool = False
) -> Form:
    """One sentence, of its pattern; ``cues`` are parted by "|"."""
    needed = frozenset(cues.split("|")) if cues else frozenset[str]()
    return Form(kind, lazy(pattern, re.IGNORECASE), values, one_unit, needed)


_OPEN_FORMS = (
    _form(
        "+",
        "sum of|total of|add",
        rf"\b(?:sum of|total of|adding(?: up)?|add(?: up)?) {_LIST}{_NOUN},?(?: we| you| I)?{_IS}{_N}",
        _total,
    ),
    _form(
        "added",
        "add",
        rf"\b(?:adding|add) {_N}{_NOUN} to{_WHO} {_N}{_NOUN},?(?: we| you| I)?{_IS}{_N}",
        _added,
    ),
    _form(
        "×",
        "product of|multiply",
        rf"\b(?:product of|multiplying|multiply) {_N}{_NOUN} (?:and|by|with) {_N}{_NOUN}{_IS}{_N}",
        _product,
    ),
    _form("of", "", rf"{_N} (?:of|on|von|de){_WHO} {_N}{_NOUN}{_IS}{_N}", _part),
    _form("of", "", rf"{_N} {_TAX} (?:of|on){_WHO}(?: an?)? {_N}{_NOUN}{_IS}{_N}", _part_or_more),
    _form("off", "", rf"{_N} {_CUT} (?:of |on )?(?:the |an? )?{_N}{_NOUN}{_IS}{_N}", _rest_or_part),
    _form(
        "difference",
        "difference",
        rf"\bdifference (?:between|of) {_N}{_NOUN} and {_N}{_NOUN}{_IS}{_N}",
        lambda terms: [abs(terms[0].value - terms[1].value)],
    ),
    _form(
        "/",
        "divid",
        rf"\bdivid(?:e|ing) {_N}{_NOUN} by {_N}{_NOUN},?(?: (?:we|you|I|one))?(?: get| obtain| have|{_IS}) ?{_N}",
        lambda terms: [terms[0].value / terms[1].value],
    ),
    _form(
        "half",
        "half",
        rf"\b(?:an? |one )?half (?:of )?(?:the )?{_N}{_NOUN}{_IS}{_N}",
        lambda terms: [terms[0].value / 2],
    ),
)
_CLOSED_FORMS = (
    _form(
        "+",
        f"total|{_ALL_WORDS}",
        rf"{_LABELLED}{_NOUN}[.:;,]?(?: [—–-])? ?(?:so |that is |which is |this is |they are )?"
        rf"(?:{_ALL}|total)(?:{_IS}|,? ?(?:they |it |this )?(?:cost|weigh|take|need|have)s? |[ :]{{1,2}}){_N}",
        _total,
        one_unit=True,
    ),
    _form(
        "×",
        "each",
        rf"{_N}{_NOUN}(?: of (?:them|these))? (?:at|with|of|for|à|zu|je) {_N}{_NOUN} each,?{_SO}{_N}",
        _product,
    ),
    _form("×", "", rf"{_N}{_NOUN} (?:at|for) {_N}(?:{_EACH}|{_NOUN}),?(?:{_IS}| another ){_N}", _product),
    _form("×", "", rf"{_N} {_WORD} (?:of|with) {_N}{_NOUN}(?: each)?,?{_SO}{_N}", _product),
    _form(
        "less",
        "with|after|minus|less",
        rf"{_N}{_NOUN},? (?:and )?(?:with|after|minus|less)(?: an?| the)? {_N}(?: {_CUT})?(?: it| this| that|"
        rf" the \w+)?,?{_IS}{_N}",
        _less,
    ),
)
"""Sentences that must begin with it: a quantity before it may belong to it."""
FORMS = (*_OPEN_FORMS, *_CLOSED_FORMS)
_CUES = frozenset[str]().union(*(form.cues for form in FORMS))
_SIGNS = {"added": "+", "of": "×", "off": "×-", "less": "-", "difference": "-", "half": "/"}
"""The signs of each kind of sentence; a sum, a product and a quotient have one between every two terms."""


def _words_of(kind: str, terms: _Terms) -> str:
    """The calculation, for people: "20 % of 300", "half of 8"."""
    texts = [term.text.strip() for term in terms]
    if kind in ("+", "×", "/"):
        return f" {kind} ".join(texts)
    if kind in ("of", "off", "less"):
        return f"{texts[0]} {kind} {texts[1]}"
    if kind == "added":
        return f"{texts[1]} + {texts[0]}"
    if kind == "difference":
        return " - ".join(texts if terms[0].value >= terms[1].value else reversed(texts))
    return f"half of {texts[0]}"


_AFTER = re.compile(
    r" ?(?:[+\-−*×/÷^%(=](?! )|[+−*×/÷^=]|(?:more|less|fewer|times|percent|points?|remainder|or|to|of|out|with"
    r"|without|plus"
    r"|minus|including|incl\w*|before|after|for each|per|short|long|wide|high|old|apart|away|each of)\b"
    r"|(?:\w+ )?(?:higher|lower|longer|shorter|faster|slower|bigger|larger|smaller|greater|better|cheaper|older|younger"
    r"|later|earlier|further|apart|long|wide|high|deep|old|more than|less than)\b)",
    re.IGNORECASE,
)
_OPEN = re.compile(r"(?:[+*×·/÷^√]|[^\s\u2028] ?[-−–]) ?$")
"""An expression that goes on to the left: "3 + 20 % of 300 is 63"."""
_AFTER_STRICT = re.compile(
    r" ?(?:[!+\-−*×·⋅/÷^%(=]|(?:more|less|fewer|times|percent|points|per|remainder|or|to|of|out)\b)"
)
_SENTENCE = re.compile(r"[.!?;] |\u2028")
_REACH = 160
_FEW = 20
"""Small counts together may be of anything: "2 cups and 3 eggs make 12 pancakes"."""
_YEARS = range(1900, 2101)


def spoken_calculations(text: str, quantities: Sequence[Quantity], results: Collection[int]) -> Iterator[Calculation]:
    """Every calculation in words, in a text without mark-up.

    ``results`` are the places of the results of other calculations: a sentence may go on after one.
    """
    marked, places = _marked(text, quantities)
    known = set(results)
    clusters = list(_clusters(places))
    if not clusters:
        return
    # In lower case as patterns that ignore case read it: to them the Turkish letters are plain ones, too.
    low = marked.casefold().replace("i\u0307", "i").replace("\u0131", "i")
    heard = {cue for cue in _CUES if cue in low}
    for form in FORMS:
        if form.cues and form.cues.isdisjoint(heard):
            continue
        for match in (match for start, end in clusters for match in form.pattern.finditer(marked, start, end)):
            first, last = bisect_left(places, match.start()), bisect_left(places, match.end())
            reading = _Reading(form, quantities, first, last)
            found = reading.calculation()
            if found is None or (not found.holds and not reading.is_sure(marked, match, places, known)):
                continue
            known.add(found.stated.start)
            yield found


def _clusters(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The stretches of a text in which numbers stand near each other; no calculation goes beyond one."""
    first = 0
    for place in range(1, len(places) + 1):
        if place == len(places) or places[place] - places[place - 1] > _REACH:
            if place - first >= 2:
                yield max(0, places[first] - _REACH), places[place - 1] + _REACH
            first = place


def _marked(text: str, quantities: Sequence[Quantity]) -> tuple[str, list[int]]:
    """The text with one sign for each quantity and single blanks between words, and the places of the signs."""
    parts: list[str] = []
    places: list[int] = []
    length, end = 0, 0
    for quantity in quantities:
        between = _spaced(text[end : quantity.start])
        parts += [between, _N]
        places.append(length + len(between))
        length += len(between) + 1
        end = quantity.end
    parts.append(_spaced(text[end : end + 60]))
    return "".join(parts), places


def _spaced(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text.replace("\n", " \u2028 ").replace(_N, " "))


class _Reading:
    """The quantities of one match, read as its form says."""

    def __init__(self, form: Form, quantities: Sequence[Quantity], first: int, last: int) -> None:
        self._form = form
        self._is_closed = form in _CLOSED_FORMS
        self._all = quantities
        self._first, self._last = first, last
        self._terms = quantities[first : last - 1]
        self._stated = quantities[last - 1]

    def calculation(self) -> Calculation | None:
        """The calculation; None where the quantities do not fit the form."""
        stated, terms, kind = self._stated, self._terms, self._form.kind
        if not terms or any(quantity.is_label for quantity in (stated, *terms)) or not self._fits():
            return None
        if self._form.one_unit and len({quantity.unit for quantity in (stated, *terms)}) != 1:
            return None
        try:
            values = self._form.values(terms)
        except ZeroDivisionError:
            return None
        inexact = kind not in ("+", "×")
        return Calculation(
            left=_words_of(kind, terms),
            value=values[0],
            stated=stated,
            operands=tuple(terms),
            operators=_SIGNS.get(kind) or kind * (len(terms) - 1),
            start=terms[0].start,
            end=stated.end,
            holds=any(
                agrees(value, stated, terms, rough=stated.is_approximate, inexact=inexact or stated.unit == "%")
                for value in values
            ),
        )

    def _fits(self) -> bool:
        """Tell whether a percentage stands where the form needs one, and only there."""
        kind, terms = self._form.kind, self._terms
        if kind in ("of", "off"):
            return terms[0].unit == "%" or terms[0].is_fraction
        if kind == "less":
            return terms[1].unit == "%" or terms[0].unit == terms[1].unit
        if kind == "added":
            return terms[1].unit != "%" or terms[0].unit == "%"
        return self._stated.unit != "%" or all(term.unit == "%" for term in terms)

    def is_sure(self, marked: str, match: re.Match[str], places: Sequence[int], known: Collection[int]) -> bool:
        """Tell whether nothing around it, and nothing about its numbers, asks for another reading."""
        if _OPEN.search(marked[max(0, match.start() - 6) : match.start()]) or not self._has_units():
            return False
        if not self._is_closed:
            return _AFTER_STRICT.match(marked, match.end()) is None
        is_done = _AFTER.match(marked[match.end() : match.end() + 40]) is None
        return is_done and self._is_whole(marked, match, places, known) and self._is_mistake()

    def _is_whole(self, marked: str, match: re.Match[str], places: Sequence[int], known: Collection[int]) -> bool:
        """Tell whether no quantity before it in its sentence may belong to it: but the number of its terms may."""
        ends = (mark.end() for mark in _SENTENCE.finditer(marked, max(0, match.start() - _REACH), match.start()))
        begin = max(max(ends, default=0), match.start() - _REACH)
        earlier = self._first - 1
        while earlier >= 0 and places[earlier] >= begin and self._all[earlier].start not in known:
            quantity = self._all[earlier]
            if quantity.unit is not None or quantity.value != len(self._terms):
                return False
            earlier -= 1
        return True

    def _is_mistake(self) -> bool:
        """Tell whether the result is near enough to the right one, and its numbers are no years and no few pieces."""
        stated, terms = self._stated, self._terms
        value = self._form.values(terms)[0]
        if not is_plausible(value, stated):
            return False
        if any(
            quantity.unit is None and quantity.value in _YEARS and not quantity.in_words
            for quantity in (stated, *terms)
        ):
            return False
        if self._form.kind == "+" and all(term.unit is None for term in terms) and value < _FEW:
            return False
        # A number nearby may be just what is missing.
        away = abs(stated.value - value)
        around = (*self._all[max(0, self._first - 4) : self._first], *self._all[self._last : self._last + 2])
        return not any(quantity.value == away and quantity.unit in (stated.unit, None) for quantity in around)

    def _has_units(self) -> bool:
        """Tell whether the result is of the kind that its terms make."""
        unit = self._stated.unit
        units = {term.unit for term in self._terms if term.unit is not None and term.unit != "%"}
        if unit is None:
            return not any(is_currency(each) for each in units) or not self._is_closed
        if not units:
            return unit == "%" or not self._is_closed or self._form.kind in ("/", "×")
        return unit in units or any(common_measure(each, unit) is not None for each in units)
