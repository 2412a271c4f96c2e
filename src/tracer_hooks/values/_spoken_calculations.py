"""Calculations in words: "the sum of 45 and 38 is 83", "20 % of 300 is 60", "12, 8 and 4, altogether 24"."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from tracer_hooks.values._agreement import agrees
from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._spoken_forms import FORMS
from tracer_hooks.values._spoken_patterns import Form, N
from tracer_hooks.values._spoken_wording import SIGNS, words_of
from tracer_hooks.values._units import common_measure, is_currency

_AFTER = re.compile(
    r" ?(?:[+\-−*×/÷^%(=](?! )|[+−*×/÷^=]|(?:more|less|fewer|times|percent|points?|remainder|or|to|of|out|with"
    r"|without|plus"
    r"|minus|including|incl\w*|before|after|for each|per|short|long|wide|high|old|apart|away|each of)\b"
    r"|(?:\w+ )?(?:higher|lower|longer|shorter|faster|slower|bigger|larger|smaller|greater|better|cheaper|older|younger"
    r"|later|earlier|further|apart|long|wide|high|deep|old|more than|less than)\b)",
    re.IGNORECASE,
)
_OPEN = re.compile(r"(?:[+*×·/÷^√]|[^\s\u2028] ?[-−–]) ?$")
"""What goes on to the left: "3 + 20 % of 300 is 63"."""
_AFTER_STRICT = re.compile(
    r" ?(?:[!+\-−*×·⋅/÷^%(=]|(?:more|less|fewer|times|percent|points|per|remainder|or|to|of|out)\b)"
)
_PER = re.compile(r"^ ?(?:per|each|a|an) ?\w*", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;] |\u2028")
_REACH = 160
_NEAREST, _FARTHEST = Fraction(6, 10), Fraction(17, 10)
"""A result farther off is about something else."""
_FEW = 20
"""Small counts together may be of anything: "2 cups and 3 eggs make 12 pancakes"."""
_YEARS = range(1900, 2101)
_CUES = frozenset[str]().union(*(form.cues for form in FORMS))


def spoken_calculations(text: str, quantities: Sequence[Quantity], results: Collection[int]) -> Iterator[Calculation]:
    """Every calculation in words.

    Args:
        text: Without mark-up.
        quantities: Those of ``text``, in order.
        results: Where the results of other calculations begin: a sentence may go on after one.
    """
    marked, places = _marked(text, quantities)
    known = set(results)
    clusters = list(_clusters(places))
    if not clusters:
        return
    low = _lower(marked)
    heard = {cue for cue in _CUES if cue in low}
    for form in FORMS:
        if form.cues and form.cues.isdisjoint(heard):
            continue
        for match in (one for start, end in clusters for one in form.pattern.finditer(marked, start, end)):
            first, last = bisect_left(places, match.start()), bisect_left(places, match.end())
            reading = _Reading(form, quantities, first, last)
            found = reading.calculation()
            if found is None or (not found.holds and not reading.is_sure(marked, match, places, known)):
                continue
            known.add(found.stated.start)
            yield found


def _lower(text: str) -> str:
    """A text in lower case, as patterns that ignore case read it: to them the Turkish letters are plain ones, too."""
    return text.casefold().replace("i\u0307", "i").replace("\u0131", "i")


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
        parts += [between, N]
        places.append(length + len(between))
        length += len(between) + 1
        end = quantity.end
    parts.append(_spaced(text[end : end + 60]))
    return "".join(parts), places


def _spaced(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text.replace("\n", " \u2028 ").replace(N, " "))


class _Reading:
    """The quantities of one match, read as its form says."""

    def __init__(self, form: Form, quantities: Sequence[Quantity], first: int, last: int) -> None:
        self._form = form
        self._all = quantities
        self._first, self._last = first, last
        found = list(quantities[first:last])
        self._stated = found.pop(form.result) if found else None
        self._terms = found

    def calculation(self) -> Calculation | None:
        """The calculation; None where the quantities do not fit the form."""
        stated, terms = self._stated, self._terms
        if stated is None or not terms or any(one.is_label for one in (stated, *terms)):
            return None
        if not self._fits(stated) or (self._form.one_unit and len({one.unit for one in (stated, *terms)}) != 1):
            return None
        try:
            values = self._form.values(terms)
        except (ZeroDivisionError, ValueError):
            return None
        inexact = self._form.name not in ("+", "-", "×", "and", "from", "!")
        return Calculation(
            left=words_of(self._form.name, terms),
            value=values[0],
            stated=stated,
            operands=tuple(terms),
            operators=SIGNS.get(self._form.name) or self._form.name * (len(terms) - 1),
            start=min(terms[0].start, stated.start),
            end=max(terms[-1].end, stated.end),
            holds=any(self._agrees(value, stated, inexact=inexact) for value in values),
        )

    def _agrees(self, value: Fraction, stated: Quantity, *, inexact: bool) -> bool:
        if agrees(value, stated, self._terms, rough=stated.is_approximate, inexact=inexact):
            return True
        return stated.unit == "%" and agrees(value, stated, (), inexact=True, rough=stated.is_approximate)

    def _fits(self, stated: Quantity) -> bool:
        """Tell whether a percentage stands where the form needs one, and only there."""
        name, terms = self._form.name, self._terms
        if name in ("of", "off"):
            return _is_share(terms[0])
        if name == "more":
            return _is_share(terms[1])
        if name == "less":
            return terms[1].unit == "%" or terms[0].unit == terms[1].unit
        if name in ("ratio", "ratio of", "change"):
            return stated.unit == "%" and not any(term.unit == "%" for term in terms)
        if name == "speed":
            return (terms[0].unit, terms[1].unit, stated.unit) in _SPEEDS
        if name == "added":
            return terms[1].unit != "%" or terms[0].unit == "%"
        return stated.unit != "%" or all(one.unit == "%" for one in terms)

    def is_sure(self, marked: str, match: re.Match[str], places: Sequence[int], known: Collection[int]) -> bool:
        """Tell whether nothing around it, and nothing about its numbers, asks for another reading."""
        end = match.end()
        if _OPEN.search(marked[max(0, match.start() - 6) : match.start()]):
            return False
        if not self._form.is_closed:
            return _AFTER_STRICT.match(marked, end) is None and self._has_units()
        following = marked[end : end + 40]
        if self._form.name in ("/", "into"):
            following = _PER.sub("", following)
        is_done = _AFTER.match(following) is None
        return is_done and self._is_closed(marked, match, places, known) and self._is_plausible() and self._has_units()

    def _is_closed(self, marked: str, match: re.Match[str], places: Sequence[int], known: Collection[int]) -> bool:
        """Tell whether no quantity before it in its sentence may belong to it: but the number of its terms may."""
        ends = (one.end() for one in _SENTENCE.finditer(marked, max(0, match.start() - _REACH), match.start()))
        begin = max(max(ends, default=0), match.start() - _REACH)
        earlier = self._first - 1
        while earlier >= 0 and places[earlier] >= begin and self._all[earlier].start not in known:
            one = self._all[earlier]
            if one.unit is not None or one.value != len(self._terms):
                return False
            earlier -= 1
        return True

    def _is_plausible(self) -> bool:
        stated, terms = self._stated, self._terms
        assert stated is not None
        value = self._form.values(terms)[0]
        if value <= 0 or not _NEAREST <= stated.value / value <= _FARTHEST:
            return False
        if any(one.unit is None and one.value in _YEARS and not one.in_words for one in (stated, *terms)):
            return False
        if self._form.name in ("+", "and") and all(one.unit is None for one in terms) and value < _FEW:
            return False
        return not self._is_explained(value, stated)

    def _is_explained(self, value: Fraction, stated: Quantity) -> bool:
        """Tell whether a number nearby is just what is missing."""
        away = abs(stated.value - value)
        around = (*self._all[max(0, self._first - 4) : self._first], *self._all[self._last : self._last + 2])
        return any(one.value == away and one.unit in (stated.unit, None) for one in around)

    def _has_units(self) -> bool:
        """Tell whether the result is of the kind that its terms make."""
        stated = self._stated
        assert stated is not None
        units = {one.unit for one in self._terms} - {None, "%"}
        if stated.unit is None:
            return not any(is_currency(unit) for unit in units) or not self._form.is_closed
        if self._form.name in ("ratio", "ratio of", "change", "speed"):
            return True
        if not units or stated.unit in units:
            return (
                stated.unit in units
                or stated.unit == "%"
                or not self._form.is_closed
                or self._form.name in ("/", "into", "×")
            )
        return any(unit is not None and common_measure(unit, stated.unit) is not None for unit in units)


_SPEEDS = (("km", "h", "km/h"), ("mi", "h", "mph"), ("m", "s", "m/s"))


def _is_share(quantity: Quantity) -> bool:
    return quantity.unit == "%" or quantity.is_fraction
