"""How a calculation that a text states in words is named in a correction."""

from __future__ import annotations

from collections.abc import Sequence

from tracer_hooks.values._quantities import Quantity

SIGNS = {
    "and": "+",
    "added": "+",
    "of": "×",
    "off": "×-",
    "less": "-",
    "more": "×+",
    "from": "-",
    "difference": "-",
    "more than": "+",
    "less than": "-",
    "mean": "+/",
    "into": "/",
    "speed": "/",
    "ratio": "/",
    "ratio of": "/",
    "change": "-/",
    "half of": "/",
    "third of": "/",
    "quarter of": "/",
    "fifth of": "/",
    "tenth of": "/",
    "twice": "×2",
    "three times": "×3",
    "√": "√",
    "!": "!",
    "squared": "^2",
    "cubed": "^3",
}
"""The signs of each kind of sentence; a sum, a product and a quotient have one between every two terms."""
_BETWEEN = {"of": "of", "off": "off", "less": "less", "more": "+", "more than": "more than", "less than": "less than"}
_BEFORE = {"half of": "half of", "twice": "twice", "three times": "three times", "√": "the square root of"}
_BEFORE |= {f"{part} of": f"a {part} of" for part in ("third", "quarter", "fifth", "tenth")}
_SWAPPED = {"added": "+", "from": "-", "into": "/"}
_SUMS = {"and": "+", "/": "/", "-": "-", "+": "+", "×": "×", "speed": "/"}


def words_of(name: str, terms: Sequence[Quantity]) -> str:
    """What is calculated, for people: "20 % of 300", "the mean of 3, 4 and 8"."""
    texts = [term.text.strip() for term in terms]
    if name in _SUMS:
        return f" {_SUMS[name]} ".join(texts)
    if name in _BETWEEN:
        return f"{texts[0]} {_BETWEEN[name]} {texts[1]}"
    if name in _BEFORE:
        return f"{_BEFORE[name]} {texts[0]}"
    if name in _SWAPPED:
        return f"{texts[1]} {_SWAPPED[name]} {texts[0]}"
    if name == "mean":
        return f"the mean of {', '.join(texts[:-1])} and {texts[-1]}"
    if name == "difference":
        return " - ".join(texts if terms[0].value >= terms[1].value else reversed(texts))
    if name in ("ratio", "ratio of"):
        return f"the share of {texts[0]} in {texts[1]}"
    if name == "change":
        return f"the change from {texts[0]} to {texts[1]}"
    return {"!": f"{texts[0]}!", "squared": f"{texts[0]}²", "cubed": f"{texts[0]}³"}[name]
