"""The sentences in which texts state a calculation, with what each comes to."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import isqrt

from tracer_hooks.values._spoken_patterns import (
    ALL,
    ALL_WORDS,
    ANY,
    EACH,
    IS,
    LABELLED,
    LIST,
    NOUN,
    SO,
    WHO,
    WORD,
    Form,
    N,
    Terms,
    form,
    product_of,
    share,
    sum_of,
)
from tracer_hooks.values._spoken_shares import differences, shares


def _root(value: Fraction) -> Fraction:
    scale = 10**12
    if not 0 <= value < 10**24:
        raise ZeroDivisionError
    return Fraction(isqrt(int(value * scale * scale)), scale)


def _factorial(value: Fraction) -> Fraction:
    if value.denominator != 1 or not 0 <= value <= 30:
        raise ZeroDivisionError
    return reduce(lambda total, factor: total * factor, range(1, int(value) + 1), Fraction(1))


def _sums() -> list[Form]:
    def total(terms: Terms) -> list[Fraction]:
        return [sum_of(terms)]

    def added(terms: Terms) -> list[Fraction]:
        part, whole = terms
        if part.unit == "%" and whole.unit != "%":
            return [whole.value * (1 + share(part)), whole.value * share(part)]
        return [sum_of(terms)]

    return [
        form(
            rf"\b(?:sum of|total of|adding(?: up)?|add(?: up)?) {LIST}{NOUN},?(?: we| you| I)?{IS}{N}",
            "+",
            total,
            is_closed=False,
            cues="sum of|total of|add",
        ),
        form(
            rf"\b(?:adding|add) {N}{NOUN} to{WHO} {N}{NOUN},?(?: we| you| I)?{IS}{N}",
            "added",
            added,
            is_closed=False,
            cues="add",
        ),
        form(
            rf"{LIST}{NOUN},? (?:(?:that|which|this) is |they are )?{ALL}"
            rf"(?:{IS}|,? ?(?:they |it |this )?(?:cost|weigh|take|need|have)s? |[ :]{{1,2}}){N}",
            "+",
            total,
            one_unit=True,
            cues=ALL_WORDS,
        ),
        form(
            rf"{LABELLED}{NOUN}[.:;,]?(?: [—–-])? ?(?:so |that is |which is )?(?:{ALL}|total)(?:{IS}"
            rf"|[ :]{{1,2}}){N}",
            "+",
            total,
            one_unit=True,
            cues=f"total|{ALL_WORDS}",
        ),
        form(
            rf"{LABELLED}{NOUN}(?:,|:|;| —| –| -| \(|, so| so|{IS}) ?(?:that is |which (?:is|makes) |it is "
            rf"|so )?{N}{NOUN},? {ALL}",
            "+",
            total,
            one_unit=True,
            cues=ALL_WORDS,
        ),
        form(
            rf"{LIST}{NOUN} (?:add up to|sum (?:up )?to|total|come to) {N}",
            "+",
            total,
            one_unit=True,
            cues="add up to|sum|total|come to",
        ),
        form(
            rf"\({LIST}{NOUN}\),? (?:add(?:s|ing)? up to|sum(?:s|ming)? (?:up )?to|total(?:s|ling)?|comes? to"
            rf"|makes?|gives?) {N}",
            "+",
            total,
        ),
        form(
            rf"{N}{NOUN} and {N}{NOUN} (?:make|give|makes|gives) {N}",
            "and",
            total,
            cues="make|give",
        ),
        form(
            rf"\b(?:together|combined|in all|in total),? {LIST}{NOUN}{IS}{N}",
            "+",
            total,
            cues="together|combined|in all|in total",
        ),
        form(
            rf"{N}{NOUN}(?:,| and|, and|, then)(?: [^\W\d]\w{{0,14}}){{1,3}} {N} (?:more|extra|further"
            rf"|additional){NOUN},?"
            rf"{ANY}(?: she| he| it| they)? (?:is|are|has|have|had|makes|gives|get|total) {N}",
            "+",
            total,
            cues="more|extra|further|additional",
        ),
        form(
            rf"\bfrom {N}{NOUN} to {N},?{ANY},? (?:of|by|is|means) {N} percentage points",
            "difference",
            lambda terms: [abs(terms[1].value - terms[0].value)],
            cues="percentage points",
        ),
    ]


def _products() -> list[Form]:
    def product(terms: Terms) -> list[Fraction]:
        return [product_of(terms)]

    def per_each(terms: Terms) -> list[Fraction]:
        # Of games between two each is counted twice.
        return [product_of(terms), product_of(terms) / 2, product_of(terms) - terms[0].value]

    return [
        form(
            rf"\b(?:product of|multiplying|multiply) {N}{NOUN} (?:and|by|with) {N}{NOUN}{IS}{N}",
            "×",
            product,
            is_closed=False,
            cues="product of|multiply",
        ),
        form(
            rf"{N}{NOUN}(?: of (?:them|these))? (?:at|with|of|for|à|zu|je) {N}{NOUN} each,?{SO}{N}",
            "×",
            product,
            cues="each",
        ),
        form(rf"{N}{NOUN} (?:at|for) {N}(?:{EACH}|{NOUN}),?(?:{IS}| another ){N}", "×", product),
        form(rf"{N}(?: [^\W\d]\w{{0,14}})?{EACH}[,;]?(?: so)? (?:for|times|over) {N}{NOUN},?{SO}{N}", "×", product),
        form(
            rf"\bat {N}{EACH}(?: for|,) {N}{NOUN},?(?: (?:the|this|that|our|we|they|you|it)(?: \w+){{0,2}})?"
            rf" (?:costs?|is|are|comes? to|makes?|pays?|earns?|needs?|totals?) {N}",
            "×",
            product,
        ),
        form(
            rf"\beach of{WHO} {N}{NOUN} {WORD}s? {N}{NOUN},?{SO}{N}",
            "×",
            per_each,
            cues="each of",
        ),
        form(
            rf"\beach of{WHO} {N}{NOUN} (?:has|have|costs?|gets?|holds?|needs?|takes?|gives?) {N}{NOUN},?{SO}{N}",
            "×",
            per_each,
            cues="each of",
        ),
        form(rf"{N} {WORD} (?:of|with) {N}{NOUN}(?: each)?,?{SO}{N}", "×", product),
        form(
            rf"{N} {WORD} (?:of|with) {N}{NOUN}(?: each)?,? {N}{NOUN},? {ALL}",
            "×",
            product,
            cues=ALL_WORDS,
        ),
        form(
            rf"{N}{NOUN} (?:pay|costs?|weigh|hold|need|take|use|contain|earn|get|has|have|run|drink|eat"
            rf"|read)s? {N}{NOUN}"
            rf" (?:each|apiece)(?: \w+)?,?{SO}{N}",
            "×",
            product,
            cues="each|apiece",
        ),
        form(rf"{N} (?:is|are|=|makes) {N} times {N}", "×", product, result=0),
    ]


def _quotients() -> list[Form]:
    def parts(terms: Terms) -> list[Fraction]:
        return [terms[1].value / terms[0].value]

    def quotient(terms: Terms) -> list[Fraction]:
        return [terms[0].value / terms[1].value]

    def mean(terms: Terms) -> list[Fraction]:
        return [sum_of(terms) / len(terms)]

    split = r"(?:split|shared?|divided|distributed|spread|sharing|splitting)(?: up| equally| evenly)?"
    over = r"(?:among|amongst|between|by|across|over|into)"
    return [
        form(
            rf"\b{split} {over}{WHO} {N}{NOUN},?(?: the)? {N}{NOUN}{IS}{N}",
            "into",
            parts,
            cues="split|share|divided|distributed|spread|sharing",
        ),
        form(
            rf"{N}{NOUN}(?: is| are)? {split} {over}{WHO} {N}{NOUN},?{SO}{N}",
            "/",
            quotient,
            cues="split|share|divided|distributed|spread|sharing",
        ),
        form(
            rf"\bdivid(?:e|ing) {N}{NOUN} by {N}{NOUN},?(?: (?:we|you|I|one))?(?: get| obtain| have|{IS}) ?{N}",
            "/",
            quotient,
            is_closed=False,
            cues="divid",
        ),
        form(rf"{N} in {N}{IS}{N}", "speed", quotient),
        form(
            rf"\b(?:average|mean) (?:(?:mark |score )?of )?(?:the )?(?:\w+ ){{0,3}}{LIST}{NOUN}{IS}{N}",
            "mean",
            mean,
            is_closed=False,
            cues="average|mean",
        ),
        form(
            rf"{LIST}{NOUN}(?: average| on average| have an average of| have a mean of)(?: to)? {N}",
            "mean",
            mean,
            cues="average|mean",
        ),
        form(
            rf"{LIST}{NOUN}[.;,]? (?:so |and )?(?:the|their|with an?|an?|its|whose) (?:average|mean)(?:\w"
            rf"|\s){{0,12}}?(?: is| of|:) {N}",
            "mean",
            mean,
            cues="average|mean",
        ),
    ]


def _multiples() -> list[Form]:
    def times(factor: Fraction) -> Callable[[Terms], list[Fraction]]:
        return lambda terms: [terms[0].value * factor]

    fractions = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
    forms = [
        form(
            rf"\b(?:an? |one )?{name} (?:of )?(?:the )?{N}{NOUN}{IS}{N}",
            f"{name} of",
            times(Fraction(1, by)),
            is_closed=False,
            cues=name,
        )
        for name, by in fractions.items()
    ]
    forms += [
        form(rf"\b(?:{words}) (?:of |the )*{N}{NOUN}{IS}{N}", name, times(Fraction(by)), is_closed=False, cues=words)
        for words, name, by in (
            ("twice|double|two times", "twice", 2),
            ("triple|three times|thrice", "three times", 3),
        )
    ]
    forms += [
        form(
            rf"(?:√ ?\(?|\bsquare root of (?:the )?){N}\)?{IS}{N}",
            "√",
            lambda terms: [_root(terms[0].value)],
            is_closed=False,
            cues="√|square root of",
        ),
        form(rf"{N}! ?= ?{N}", "!", lambda terms: [_factorial(terms[0].value)], is_closed=False),
        form(
            rf"(?:\bthe square of {N}|{N} squared){IS}{N}",
            "squared",
            lambda terms: [terms[0].value ** 2],
            is_closed=False,
            cues="the square of|squared",
        ),
        form(
            rf"(?:\bthe cube of {N}|{N} cubed){IS}{N}",
            "cubed",
            lambda terms: [terms[0].value ** 3],
            is_closed=False,
            cues="the cube of|cubed",
        ),
    ]
    return forms


FORMS: tuple[Form, ...] = (
    *_sums(),
    *_products(),
    *shares(),
    *differences(),
    *_quotients(),
    *_multiples(),
)
