"""What a team may be told of a check's reason: why its answer was wrong, and never what the right one is."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from tracer_hooks.repairs._secrets import Secrets

NOT_RIGHT = "The answer was not right."
"""What is said where nothing of the reason may be said."""
HIDDEN = "[hidden]"
"""What stands in the place of the expected answer."""

FeedbackMode = Literal["reason", "masked", "none"]
"""What a team is told: the reason as the check gives it, without the expected answer, or nothing."""

_SHORT = 3
"""A shorter expected answer is found in too many texts: of the reason, only what was answered is told."""
_LONGEST = 800
"""Characters of a reason that are told: more of its end than of its beginning, since errors say there what they are."""
_SHOWN = 80
_ROUNDS = 4
"""Hiding one value can make the digits beside it read as another: after so many rounds nothing is said."""
_GOT = re.compile(
    r"\b(?:got|but was|received):?\s+(?P<what>.+?)"
    r"(?=[,.;:]?\s+(?:but|instead of|not|rather than|when|where|and)\b|[,;]?\s*\(?\bexpected\b|;\s|\n|$)",
    re.IGNORECASE,
)


class MaskedFeedback(NamedTuple):
    """Text that a team may be told, and what is known of it."""

    text: str | None
    """What may be told; None where nothing may be."""
    is_specific: bool
    """Whether it says how the answer was wrong; false where it says no more than that it was, or which one it was."""
    is_checked: bool
    """Whether it is sure that it does not hold the expected answer; false where none is known, or where the user wrote
    the text."""


def masked_feedback(reason: str | None, reference: str | None, *, answer: str = "") -> MaskedFeedback:
    """The reason of a check without the expected answer.

    The expected answer, and each item of a list, is replaced wherever it stands, in any writing that ``expected=``
    takes for it. Of a short one, and of a comparison with ``expected=``, only the wrong answer is told.

    Args:
        reason: Why the run failed.
        reference: The expected answer; None where none is known, and the reason is told as it is.
        answer: What the run answered.
    """
    said = (reason or "").removeprefix("check:").strip()
    secrets = Secrets(reference)
    if not secrets.are_known:
        return MaskedFeedback(shortened(said, _LONGEST) or NOT_RIGHT, is_specific=bool(said), is_checked=False)
    expected = (reference or "").strip()
    if len(expected.strip(" \"'.,;:!?")) < _SHORT:
        return _without_reason(said, answer, secrets, "Expected something else, got {}.")
    got = _compared(said, expected)
    if got is not None or not said:
        return _without_reason(got or "", answer, secrets, "The answer was not right. It was: {}")
    text = hidden(shortened(said, _LONGEST), secrets)
    if text is None or not any(letter.isalnum() for letter in text.replace(HIDDEN, "")):
        return _nothing(secrets)
    return MaskedFeedback(text, is_specific=True, is_checked=True)


def feedback_of(
    mode: FeedbackMode, told: str | None, reason: str | None, reference: str | None, answer: str = ""
) -> MaskedFeedback:
    """Return what a team is told of a failed run.

    Args:
        mode: What the user wants it to be told.
        told: What the check says the team may be told (``Verdict.feedback``); it is sent as it was written.
        reason: Why the run failed.
        reference: The expected answer; None where none is known.
        answer: What the run answered.
    """
    if mode == "none":
        return MaskedFeedback(None, is_specific=False, is_checked=True)
    if told is not None and told.strip():
        return MaskedFeedback(told.strip(), is_specific=True, is_checked=False)
    secrets = Secrets(reference)
    if mode == "reason" and reason and secrets.are_known and not secrets.are_in(reason):
        said = shortened(reason.removeprefix("check:").strip(), _LONGEST)
        if said and not secrets.are_in(said):
            return MaskedFeedback(said, is_specific=True, is_checked=True)
    return masked_feedback(reason, reference, answer=answer)


def shortened(text: str, most: int) -> str:
    """``text`` with its middle left out where it is longer: a third of its beginning is kept, the rest of its end."""
    if len(text) <= most:
        return text
    # Cut between words: half a number is another number.
    head, tail = text[: most // 3], text[-(most - most // 3 - 3) :]
    head = head[: max(head.rfind(" "), head.rfind("\n"))] if re.search(r"\s", head) else head
    cut = re.search(r"\s", tail)
    return f"{head.rstrip()} … {tail[cut.end() :] if cut else tail}"


def _compared(said: str, expected: str) -> str | None:
    """Return the answer, where the reason comes from comparing it with ``expected=``; else None."""
    for shown in (expected, repr(expected)):
        rest = said.removeprefix(f"expected {shown}, ")
        if rest != said:
            return rest if rest.startswith("got ") else ""
    return None


def _without_reason(said: str, answer: str, secrets: Secrets, frame: str) -> MaskedFeedback:
    """Say that the answer was wrong, with the wrong answer where it is known and does not hold the right one."""
    found = _GOT.search(said)
    for wrong in (found["what"] if found else "", answer):
        shown = _on_a_line(wrong)
        if not shown:
            continue
        text = frame.format(shown)
        if not secrets.are_in(text) and not secrets.are_in(wrong):
            return MaskedFeedback(text, is_specific=False, is_checked=True)
    return _nothing(secrets)


def _nothing(secrets: Secrets) -> MaskedFeedback:
    text = None if secrets.are_in(NOT_RIGHT) else NOT_RIGHT
    return MaskedFeedback(text, is_specific=False, is_checked=True)


def _on_a_line(text: str) -> str:
    return shortened(" ".join(text.split()), _SHOWN).rstrip(".")


def hidden(text: str, secrets: Secrets) -> str | None:
    """``text`` with every place of the expected answer hidden; None where that cannot be done."""
    for _ in range(_ROUNDS):
        places = secrets.places_in(text)
        if not places:
            return text
        for start, end in reversed(places):
            text = f"{text[:start]}{HIDDEN}{text[end:]}"
    return None
