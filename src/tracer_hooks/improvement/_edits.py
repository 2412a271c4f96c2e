"""Edits of instructions: sentences that are changed, added or dropped, while all others stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracer_hooks.improvement._must_keep import protected_words, says_the_form
from tracer_hooks.improvement._sentences import Sentence, plain, sentences_of

_CHANGE = re.compile(r"^\W*(?:\d+[.)]\W*)?(?:CHANGE|REPLACE)\W*(\d+)[\]\s:*.)-]+(\S.*)$", re.IGNORECASE)
_ADD = re.compile(r"^\W*(?:\d+[.)]\W*)?ADD\b[\]\s:*.)-]*(\S.*)$", re.IGNORECASE)
_DROP = re.compile(r"^\W*(?:\d+[.)]\W*)?(?:DROP|DELETE|REMOVE)\W*(\d+)", re.IGNORECASE)
_SHORT = 320
_FEW = 3
_ROLE = re.compile(r"^\W*(?:you are|you're|your (?:role|name) is|act as)\b", re.IGNORECASE)
_ALIKE = 0.8
_MARK = re.compile(
    r"(?<=[.!?\"'\u201d»)*\d])[ \t]+(?=(?:\*\*)?(?:CHANGE|REPLACE|DROP|DELETE|REMOVE)\W{0,2}\d+\b|(?:\*\*)?ADD:)"
)
"""The beginning of an edit in the middle of a line."""
_LABEL = re.compile(r"^(?:\[\d+\]|\d+[.)])\s*")


@dataclass(frozen=True)
class Edit:
    """One change of a text.

    Attributes:
        number: Of the sentence that it is about, from 1; None for a new sentence.
        text: What stands there then; empty for a sentence that is dropped.
    """

    number: int | None
    text: str


def edits_in(answer: str) -> list[Edit]:
    """The edits that a model has written, one a line: ``CHANGE 2: ...``, ``ADD: ...``, ``DROP 3``."""
    found = []
    for line in _MARK.sub("\n", answer).splitlines():
        if match := _CHANGE.match(line):
            found.append(Edit(int(match[1]), _bare(match[2])))
        elif match := _DROP.match(line):
            found.append(Edit(int(match[1]), ""))
        elif match := _ADD.match(line):
            found.append(Edit(None, _bare(match[1])))
    found = [edit for edit in found if edit.number is not None or any(sign.isalpha() for sign in edit.text)]
    return found or _as_sentences(answer)


def _as_sentences(answer: str) -> list[Edit]:
    """A short answer without any mark: small models write the sentence and nothing else."""
    sentences = [_bare(sentence.text) for sentence in sentences_of(answer)]
    if len(answer.strip()) > _SHORT or len(sentences) > _FEW:
        return []
    return [Edit(None, sentence) for sentence in sentences if len(sentence.split()) >= _FEW]


def is_fixed(sentence: str) -> bool:
    """Whether a sentence may not be edited: it says who the agent is, or how the reply has to look."""
    return _ROLE.match(sentence) is not None or says_the_form(sentence)


def applied(text: str, edits: Sequence[Edit], tools: Iterable[str] = ()) -> str:
    """``text`` with the edits that may be made of it.

    A fixed sentence stays; one with a placeholder, marker or name of a tool stays unless the new one has it, too. What
    is said already is not added again. New sentences stand before the fixed ones at the end.

    Args:
        text: The instructions.
        edits: What a model has written.
        tools: Names of the agent's tools.
    """
    sentences, names = sentences_of(text), tuple(tools)
    new = {place: sentence.text for place, sentence in enumerate(sentences)}
    for edit in edits:
        place = (edit.number or 0) - 1
        if place in new and _may_become(sentences[place].text, edit.text, names):
            new[place] = edit.text
    added: list[str] = []
    for edit in edits:
        if edit.number is None and not any(says_the_same(edit.text, one) for one in [*new.values(), *added]):
            added.append(edit.text)
    return _joined(text, sentences, new, added)


def says_the_same(sentence: str, other: str) -> bool:
    """Whether nearly all words of a sentence are said by the other one already."""
    words, known = set(plain(sentence).split()), set(plain(other).split())
    return len(words & known) >= _ALIKE * len(words)


def _may_become(old: str, new: str, tools: tuple[str, ...]) -> bool:
    return not is_fixed(old) and all(word in new for word in protected_words(old, tools))


def _joined(text: str, sentences: Sequence[Sentence], new: dict[int, str], added: Sequence[str]) -> str:
    place = len(sentences)
    while place and says_the_form(sentences[place - 1].text):
        place -= 1
    parts, end = [], 0
    for index, sentence in enumerate(sentences):
        between = text[end : sentence.start]
        if index == place and added:
            parts += [between or " ", " ".join(added)]
            between = between if "\n" in between else " "
        parts += [between, new[index]] if new[index] or "\n" in between else []
        end = sentence.end
    if place == len(sentences) and added:
        parts += ["\n" if "\n" in text.strip() else " ", " ".join(added)]
    return "".join(parts).strip()


def _bare(text: str) -> str:
    """A sentence without the number and the quotation marks that a model put around it."""
    bare = text.replace("(stays as it is)", "").strip().strip('"\u201c\u201d«»`').strip()
    bare = _LABEL.sub("", bare).strip()
    bare = bare[1:-1].strip() if bare[:1] == bare[-1:] == "'" else bare
    return f"{bare}." if bare and bare[-1].isalnum() else bare
