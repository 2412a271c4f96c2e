"""Conditions that a task states, each with the test whether a text breaks it: limits, times, formats, exclusions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from tracer_hooks.diagnosis._reading._text import parsed_json
from tracer_hooks.values import Quantity, TimeValue, common_measure, quantities_in, times_in

Breaks = Callable[[str], str | None]
_READ = 4_000
_MOST = 12
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*")
_AT_MOST = re.compile(
    r"\b(?:at most|(?:no|not) (?:more|longer) than|up to|a? ?maximum of|not exceed|budget of)\s+", re.I
)
_BELOW = re.compile(r"\b(?:under|below|(?:less|fewer|cheaper) than)\s+", re.I)
_ASKS = re.compile(
    r"\b(?:find|book|choose|pick|plan|suggest|recommend|buy|select|order|reserve|rent|must|should|keep|spend|agree|write"
    r"|give|answer|reply|summari[sz]e|describe)\b",
    re.I,
)
_DEPENDS = re.compile(r"\b(?:if|when|unless|otherwise|per|each|every|whose|how)\b|/", re.I)
_NOT_BEFORE = re.compile(r"\b(?:(?:not|never) (?:\w+ ){0,3}before|(?:not|no) (?:earlier|sooner) than)\s+", re.I)
_NOT_AFTER = re.compile(r"\b(?:(?:not|never) (?:\w+ ){0,3}after|(?:not|no) later than)\s+", re.I)
_JSON = re.compile(r"\b(?:in|as)(?: valid| an?| one| pure)* JSON\b(?! file)", re.I)
_EXCLUDES = re.compile(
    r"\b(?:without|(?:do not|don't|must not|never) (?:mention|use|include|contain|name))(?: any)? ([a-z]{3,20})"
    r"(?=\s*(?:[,;.!]|$|\b(?:and|or|but|for|please)\b))"
)
_DENIED = re.compile(
    r"\b(?:no|not|non|none|never|without|free|avoid\w*|exclud\w*|remov\w*|omit\w*|skip\w*|instead|replac\w*|allerg\w*"
    r"|exceed\w*|over|above|only|too|unfortunately)\b|n't\b",
    re.I,
)
_SUFFIXES = frozenset(
    ("able", "age", "ance", "ant", "ate", "ence", "ent", "ice", "ing", "ion", "ist", "less", "ment", "ness")
)
_COUNTED = {"word": r"\S*\w\S*", "character": r".", "sentence": r"[^.!?]*\w[^.!?]*"}
_QUOTED = re.compile(r"[\"'\u201c\u2018](.{2,400}?)[\"'\u201d\u2019](?!\w)")
_PRONOUNS = frozenset(
    ("any", "the", "its", "his", "her", "them", "their", "this", "that", "these", "those", "doubt", "fail")
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One condition of a task."""

    words: str
    """As the task states it."""
    keys: tuple[str, ...]
    """What any text that hands it on has one of, casefolded."""
    breaks: Breaks
    """The words of a text that go against it; None where it keeps it or nothing can be told."""
    is_of_form: bool = False
    """It is about the form of the whole answer, not about a value."""

    def is_in(self, text: str) -> bool:
        """Tell whether a text hands the condition on, in whatever words."""
        folded = text.casefold()
        return any(key in folded for key in self.keys)


def _right_before(pattern: re.Pattern[str], before: str) -> re.Match[str] | None:
    """The match that ends where the text does, which is where a value begins."""
    return next((match for match in pattern.finditer(before) if match.end() == len(before)), None)


def constraints_of(task: str) -> list[Constraint]:
    """The conditions of a task that a text can be shown to break."""
    found: list[Constraint] = []
    for match in _SENTENCE.finditer(task[:_READ]):
        sentence = match.group().strip()
        is_question = task[match.end() : match.end() + 1] == "?" or sentence.endswith("?")
        if len(found) >= _MOST:
            break
        if not is_question and _DEPENDS.search(sentence) is None:
            found += _limits(sentence)
            found += _moments(sentence)
        found += _exclusions(sentence)
        if (json := _JSON.search(sentence)) is not None and _ASKS.search(sentence) is not None:
            found.append(Constraint(json.group(), ("json",), _no_json, is_of_form=True))
    return found


def _limits(sentence: str) -> Iterator[Constraint]:
    """Upper limits of amounts with a unit, and of the words, characters or sentences of the answer."""
    if _ASKS.search(sentence) is None:
        return
    for bound in quantities_in(sentence):
        before = sentence[max(0, bound.start - 24) : bound.start]
        match = _right_before(_AT_MOST, before) or _right_before(_BELOW, before)
        if match is None:
            continue
        start, strict = bound.start - len(match.group()), _right_before(_AT_MOST, before) is None
        following = sentence[bound.end :].split()
        noun = following[0].strip(",;").rstrip("s").casefold() if following else ""
        if bound.unit is None and noun in _COUNTED:
            words = sentence[start : sentence.index(following[0], bound.end) + len(following[0])].strip(" ,;")
            limit = int(bound.value) - strict
            keys = (bound.text.strip().casefold(), str(int(bound.value)))
            yield Constraint(words, keys, _longer(limit, noun), is_of_form=True)
        elif bound.unit is not None:
            words, keys = sentence[start : bound.end].strip(), (bound.text.split()[0].casefold(), str(bound.value))
            yield Constraint(words, keys, _above(bound, strict=strict))


def _longer(limit: int, noun: str) -> Breaks:
    counted = re.compile(_COUNTED[noun], re.DOTALL)

    def breaks(text: str) -> str | None:
        # The shortest way to read it counts: the text between quotation marks, one line, what follows a colon.
        parts = [text, *_QUOTED.findall(text), *text.splitlines(), text.rpartition(":")[2]]
        least = min(len(counted.findall(part.strip())) for part in parts if part.strip()) if text.strip() else 0
        return f"{least} {noun}s" if least > limit else None

    return breaks


def _above(bound: Quantity, *, strict: bool) -> Breaks:
    def breaks(text: str) -> str | None:
        if _DENIED.search(text) is not None:
            return None
        amounts = [(each, _worth(each, bound)) for each in quantities_in(text)]
        comparable = [(each, worth) for each, worth in amounts if worth is not None]
        if not comparable or any(
            worth < bound.value or (worth == bound.value and not strict) for _, worth in comparable
        ):
            return None
        return comparable[0][0].text.strip()

    return breaks


def _worth(amount: Quantity, bound: Quantity) -> Fraction | None:
    """An amount in the unit of the limit; None where it measures something else."""
    shared = common_measure(amount.unit, bound.unit) if amount.unit and bound.unit else None
    return None if shared is None else amount.value * shared[0] / shared[1]


def _moments(sentence: str) -> Iterator[Constraint]:
    """Times of day before or after which something must not be."""
    for bound in times_in(sentence):
        before = sentence[max(0, bound.start - 40) : bound.start]
        for pattern, is_early in ((_NOT_BEFORE, True), (_NOT_AFTER, False)):
            match = _right_before(pattern, before)
            if match is not None:
                words = sentence[bound.start - len(match.group()) : bound.end].strip()
                yield Constraint(words, (bound.text.strip().casefold(),), _outside(bound, is_early=is_early))


def _outside(bound: TimeValue, *, is_early: bool) -> Breaks:
    def breaks(text: str) -> str | None:
        times = list({(each.hour, each.minute): each for each in times_in(text)}.values())
        telling = " ".join(sentence for sentence in _SENTENCE.findall(text) if times_in(sentence))
        if not 1 <= len(times) <= 2 or _DENIED.search(telling) is not None:
            return None
        if len(times) == 2 and len(text[times[0].end : times[1].start].strip()) > len("until"):
            return None  # no range
        told = times[0] if is_early else times[-1]
        at, limit = (told.hour, told.minute), (bound.hour, bound.minute)
        return told.text.strip() if (at < limit if is_early else at > limit) else None

    return breaks


def _exclusions(sentence: str) -> Iterator[Constraint]:
    for match in _EXCLUDES.finditer(sentence):
        word = match.group(1)
        if word in _PRONOUNS or word.endswith("ing"):
            continue
        stem = word.removesuffix("s")
        yield Constraint(match.group(), (stem,), _has_word(stem))


def _has_word(stem: str) -> Breaks:
    """Tell of a word, also as the last part of a compound ("hazelnut"), unless it is denied in its sentence."""

    def breaks(text: str) -> str | None:
        if "```" in text:
            return None
        for sentence in _SENTENCE.findall(text):
            if _DENIED.search(sentence) is not None:
                continue
            for word in map(str, re.findall(r"[^\W\d_]+", sentence)):
                bare = word.casefold().removesuffix("s")
                is_compound = bare.endswith(stem) and len(bare) - len(stem) >= len("hazel") and stem not in _SUFFIXES
                if bare == stem or is_compound:
                    return word
        return None

    return breaks


def _no_json(text: str) -> str | None:
    """The first words of a text that holds no JSON."""
    if not text.strip():
        return None
    for opening, closing in ("{}", "[]"):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end and parsed_json(text[start : end + 1]) is not None:
            return None
    return " ".join(text.split())[:40]
