"""Sentences, fenced code and the conclusion of a reply."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracer_hooks_lab.faults._numbers import FENCE
from tracer_hooks_lab.faults._syntax import is_code

_SENTENCE = re.compile(r"(?:\d{1,2}[.)][ \t]+)?[^\s].*?(?:[.!?](?=[\s\"')*]|$)[\"')*]*|(?=\n)|$)")
_CONCLUSIONS = (
    re.compile(
        r"(?im)(?:^|(?<=[.!?] ))[ \t>*#_-]*(?:the )?(?:final |overall )?(?:answer|result|verdict)[*_]*\s*[:=][*_ \t]*"
        r"(?P<c>\S[^\n]*?)[*_]*[ \t]*$"
    ),
    re.compile(r"\\boxed\{(?P<c>[^{}]*)\}"),
    re.compile(
        r"(?i)\b(?:answer|result|total|verdict|sum|output|solution)(?: \w+){0,4}? "
        r"(?:is|are|equals|would be|comes to|=)[: ]*(?P<c>[^\n]*?)(?=[.!?](?:\s|$)|\n|$)"
    ),
)
_END_WORDS = re.compile(r"[ \t]*\b(?:TERMINATE|TERMINATED|DONE|FINISHED|APPROVED?|STOP|END)\b[.!]?[ \t]*")


@dataclass(frozen=True)
class Span:
    """A stretch of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """What stands there."""
        return text[self.start : self.end]


def sentences(text: str) -> list[Span]:
    """The sentences and single lines of a text, fenced code left out."""
    fences = [Span(m.start(), m.end()) for m in FENCE.finditer(text)]
    found: list[Span] = []
    at = 0
    for fence in [*fences, Span(len(text), len(text))]:
        found += [Span(at + m.start(), at + m.end()) for m in _SENTENCE.finditer(text[at : fence.start]) if m.group()]
        at = fence.end
    return found


def has_code(text: str) -> bool:
    """Whether the text holds fenced code, or is code."""
    return FENCE.search(text) is not None or is_code(text)


def conclusion(text: str) -> Span | None:
    """What the text gives as its result: of its answer line, its box, or the last sentence that names a result."""
    fences = [m.span() for m in FENCE.finditer(text)]
    for pattern in _CONCLUSIONS:
        matches = [m for m in pattern.finditer(text) if m.group("c").strip()]
        matches = [m for m in matches if not any(start <= m.start() < end for start, end in fences)]
        if matches:
            return Span(matches[-1].start("c"), matches[-1].end("c"))
    return None


def conclusion_sentence(text: str) -> Span | None:
    """The whole line or sentence in which the conclusion stands."""
    found = conclusion(text)
    if found is None:
        return None
    return next((s for s in sentences(text) if s.start <= found.start and found.end <= s.end), None)


def without(text: str, span: Span) -> str:
    """``text`` without a stretch, and without the white space that this leaves doubled."""
    before, after = text[: span.start], text[span.end :]
    if before.endswith("\n") or not before:
        after = after.lstrip(" \t")
        after = after[1:] if after.startswith("\n") and (not before or before.endswith("\n")) else after
    elif before.endswith(" "):
        before = before[:-1] if not after or after[0] in " \n" else before
    return (before + after).strip()


def keep_end_word(old: str, new: str) -> str:
    """``new`` with the word that ends ``old``, such as ``TERMINATE``, when a team stops at one."""
    match = next(iter(reversed(list(_END_WORDS.finditer(old.rstrip())))), None)
    if match is None or match.end() != len(old.rstrip()) or match.group().strip() in new:
        return new
    return f"{new}\n{match.group().strip()}" if "\n" in old else f"{new} {match.group().strip()}"


def without_end_word(text: str) -> str:
    """``text`` without the capital word that tells a team to stop."""
    return _END_WORDS.sub("", text).strip()


def result_line(text: str, result: str) -> str:
    """The sentence or line that gives the conclusion of ``text``, with ``result`` in place of it."""
    sentence, found = conclusion_sentence(text), conclusion(text)
    if sentence is None or found is None:
        return f"The result is {result}."
    return text[sentence.start : found.start] + result + text[found.end : sentence.end]


def content_words(text: str) -> set[str]:
    """The longer words of a text in lower case, to tell what it is about."""
    return {word for word in re.findall(r"[a-z]{3,}", text.lower()) if word not in _COMMON}


_COMMON = frozenset(
    re.findall(
        r"\w+",
        "this that with from have will each they them then than there their what when which would should could must "
        "and the for you are was has had not but can all any one two its his her she how who why out per now get "
        "also into more most only over some such very your about after before other these those were been does",
    )
)
