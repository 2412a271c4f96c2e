"""Sentences that state a share, a change or a difference."""

from __future__ import annotations

from fractions import Fraction

from tracer_hooks.values._spoken_patterns import CUT, IS, NOUN, TAX, WHO, WORD, Form, N, Terms, form, share, sum_of


def shares() -> list[Form]:
    """Sentences with a percentage."""

    def part(terms: Terms) -> list[Fraction]:
        return [share(terms[0]) * terms[1].value]

    def part_or_more(terms: Terms) -> list[Fraction]:
        return [share(terms[0]) * terms[1].value, (1 + share(terms[0])) * terms[1].value]

    def part_or_rest(terms: Terms) -> list[Fraction]:
        return [(1 - share(terms[0])) * terms[1].value, share(terms[0]) * terms[1].value]

    def less(terms: Terms) -> list[Fraction]:
        return [terms[0].value * (1 - share(terms[1])), terms[0].value * share(terms[1])]

    def more(terms: Terms) -> list[Fraction]:
        return [terms[0].value * (1 + share(terms[1])), terms[0].value * share(terms[1])]

    def ratio(terms: Terms) -> list[Fraction]:
        return [100 * terms[0].value / terms[1].value]

    def change(terms: Terms) -> list[Fraction]:
        return [100 * abs(terms[1].value - terms[0].value) / terms[0].value]

    verb = rf"(?: {WORD}){{0,3}}"
    return [
        form(rf"{N} (?:of|on|von|de){WHO} {N}{NOUN}{IS}{N}", "of", part, is_closed=False),
        form(rf"{N} {TAX} (?:of|on){WHO}(?: an?)? {N}{NOUN}{IS}{N}", "of", part_or_more, is_closed=False),
        form(rf"{N} {CUT} (?:of |on )?(?:the |an? )?{N}{NOUN}{IS}{N}", "off", part_or_rest, is_closed=False),
        form(
            rf"{N}{NOUN},? (?:and )?(?:with|after|minus|less)(?: an?| the)? {N}(?: {CUT})?(?: it| this| that|"
            rf" the \w+)?,?{IS}{N}",
            "less",
            less,
            cues="with|after|minus|less",
        ),
        form(rf"{N}{NOUN} (?:with|plus|and)(?: an?)? {N} {TAX},?(?: it| this| that| the \w+)?{IS}{N}", "more", more),
        form(
            rf"\b(?:with|after|thanks to)(?: an?| the)? {N} {CUT},?(?: \w+){{1,4}} from {N}{NOUN} to {N}",
            "off",
            part_or_rest,
            cues="from",
        ),
        form(
            rf"\b(?:increas|rais)ing {N}{NOUN} by {N},?(?: we| you)?{IS}{N}",
            "more",
            more,
            cues="increasing|raising",
        ),
        form(
            rf"\b(?:reduc|decreas|lower)ing {N}{NOUN} by {N},?(?: we| you)?{IS}{N}",
            "less",
            less,
            cues="reducing|decreasing|lowering",
        ),
        form(
            rf"{N}{NOUN} (?:increased|raised|up) by {N}{IS}{N}",
            "more",
            more,
            cues="increased|raised|up by",
        ),
        form(
            rf"{N}{NOUN} (?:reduced|decreased|lowered|down) by {N}{IS}{N}",
            "less",
            less,
            cues="reduced|decreased|lowered|down by",
        ),
        form(rf"{N} (?:out )?of{WHO} {N}{NOUN},?{IS}{N}", "ratio", ratio),
        form(
            rf"{N} (?:out )?of{WHO} {N}{NOUN}{verb},? ?(?:\(|i\.e\.,? ?|that is,? |which is |or |\()(?:= ?"
            rf"|i\.e\. ?)?{N}",
            "ratio",
            ratio,
        ),
        form(
            rf"{N}{NOUN},? (?:that is |which is |or |i\.e\. |= ?)?{N} of{WHO} {N}",
            "ratio of",
            lambda terms: ratio((terms[0], terms[1])),
            result=1,
        ),
        form(rf"{N} (?:is|are|makes?|equals) {N} of{WHO} {N}", "of", part, result=0),
        form(
            rf"\bfrom {N}{NOUN} to {N}{NOUN},?(?: (?:is|means|makes|gives|i\.e\.|that is|which is|or))? ?"
            rf"(?:an? )?(?:increase|rise|growth|gain|jump|drop|fall|decrease|decline|loss|reduction|change|by"
            rf"|plus|minus|up|down)"
            rf"(?: of| by)? (?:about |almost )?{N}",
            "change",
            change,
            cues="from",
        ),
    ]


def differences() -> list[Form]:
    """Sentences that take one number from another."""

    def left_over(terms: Terms) -> list[Fraction]:
        return [terms[1].value - terms[0].value]

    def rest(terms: Terms) -> list[Fraction]:
        return [terms[0].value - terms[1].value]

    def above(terms: Terms) -> list[Fraction]:
        return [terms[1].value * (1 + share(terms[0])) if terms[0].unit == "%" else sum_of(terms)]

    def below(terms: Terms) -> list[Fraction]:
        return [terms[1].value * (1 - share(terms[0])) if terms[0].unit == "%" else terms[1].value - terms[0].value]

    spending = (
        r"(?:spending|paying|using|selling|giving(?: away| out)?|eating|losing|removing|deducting"
        r"|subtracting|taking|handing out)"
    )
    remain = r"(?:left|remain(?:s|ing)?|still|to go|available|free|over)"
    taken = r"(?:and|,|but)(?: (?:and|then|we|they|she|he|I))?(?: [^\W\d]\w{0,14}){1,3}"
    return [
        form(
            rf"\bdifference (?:between|of) {N}{NOUN} and {N}{NOUN}{IS}{N}",
            "difference",
            lambda terms: [abs(rest(terms)[0])],
            is_closed=False,
            cues="difference",
        ),
        form(
            rf"\bsubtract(?:ing)? {N}{NOUN} from{WHO} {N}{NOUN},?(?: we| you| I)?{IS}{N}",
            "from",
            left_over,
            is_closed=False,
            cues="subtract",
        ),
        form(
            rf"\b(?:taking|take|deducting|deduct) {N}{NOUN} (?:off|from|away from){WHO} {N}{NOUN},?(?: we|"
            rf" you)?{IS}{N}",
            "from",
            left_over,
            cues="taking|take|deduct",
        ),
        form(
            rf"\b{spending} {N}{NOUN} (?:out )?(?:of|from){WHO} {N}{NOUN},?(?: \w+){{0,3}}? (?:have|has|had"
            rf"|keep|is|are|remain|leaves|with) {N}{NOUN} {remain}",
            "from",
            left_over,
            cues="left|remain|still|to go|available|free|over",
        ),
        form(
            rf"\bof{WHO} {N}{NOUN},? {N} (?:is|are|were|was|have been|has been|went)(?: \w+){{1,2}},?(?: so|"
            rf" and| thus| then| leaving| which leaves)*"
            rf"(?: that leaves| there (?:are|remain))? {N}{NOUN}(?: are| is)? {remain}",
            "-",
            rest,
            cues="left|remain|still|to go|available|free|over",
        ),
        form(
            rf"{N}{NOUN} ?{taken} {N}{NOUN},?(?: which| that| and)? (?:leaving|leaves|left)(?: us| you| them|"
            rf" me)?(?: with)? {N}",
            "-",
            rest,
            cues="leaving|leaves|left",
        ),
        form(
            rf"{N}{NOUN} less {N}{IS}{N}",
            "less",
            lambda terms: [terms[0].value * (1 - share(terms[1])) if terms[1].unit == "%" else rest(terms)[0]],
            cues="less",
        ),
        form(
            rf"{N}{NOUN} (?:is|are|makes) {N}{NOUN} (?:more|higher|greater|larger|longer) than {N}",
            "more than",
            above,
            result=0,
            cues="than",
        ),
        form(
            rf"{N}{NOUN} (?:is|are|makes) {N}{NOUN} (?:less|fewer|lower|smaller|shorter) than {N}",
            "less than",
            below,
            result=0,
            cues="than",
        ),
    ]
