"""Sentences of a diagnosis and the templates that they are made from.

A template is written as the sentence with places to fill: ``{x!}`` is a quoted text, ``{x*}`` a list of quoted texts,
``{x#}`` a whole number, and ``{x~}`` anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from _audit_text import Run, flat, folded, own, prose, within

from tracer_hooks.schema import Attribution, Step

_LITERAL = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_PLACES = {
    "!": _LITERAL,
    "*": rf"{_LITERAL}(?:, {_LITERAL})*(?: and \d+ more)?",
    "#": r"\d+",
    "~": r".+?",
}
_PLACE = re.compile(r"\{(\w+)([!*#~])\}")


@dataclass(frozen=True)
class Claim:
    """One sentence of a diagnosis, with what its template's places hold."""

    run: Run
    diagnosis: Attribution
    index: int
    """The step that the sentence is about."""
    quote: str
    words: dict[str, str]

    @property
    def step(self) -> Step:
        """The step that the sentence is about."""
        return self.run.steps[self.index]

    def text(self, name: str) -> str:
        """A quoted text, as it stood in the run."""
        return str(ast.literal_eval(self.words[name]))

    def texts(self, name: str) -> list[str]:
        """The quoted texts of a list."""
        return [str(ast.literal_eval(one)) for one in re.findall(_LITERAL, self.words[name])]

    def number(self, name: str) -> int:
        """A whole number, such as a step."""
        return int(self.words[name])

    def other(self, name: str = "n") -> Step | None:
        """Another step that the sentence names; None when the run has none of that number."""
        index = self.number(name)
        return self.run.steps[index] if index < len(self.run.steps) else None


Check = Callable[[Claim], str]
"""Says what is not true of a claim; an empty text when it is true."""


@dataclass(frozen=True)
class Template:
    """A form of sentence and how it is checked."""

    sentence: str
    check: Check
    pattern: re.Pattern[str]


def template(sentence: str, check: Check) -> Template:
    """A template from its sentence."""
    parts, at = [], 0
    for match in _PLACE.finditer(sentence):
        parts += [re.escape(sentence[at : match.start()]), f"(?P<{match[1]}>{_PLACES[match[2]]})"]
        at = match.end()
    parts.append(re.escape(sentence[at:]))
    return Template(sentence, check, re.compile("".join(parts) + r"(?=\s|$)", re.DOTALL))


@dataclass(frozen=True)
class Sentence:
    """A sentence of a diagnosis, with its template when one fits."""

    text: str
    template: Template | None
    words: dict[str, str]


def sentences(text: str, templates: Sequence[Template]) -> Iterator[Sentence]:
    """The sentences of ``text``, one after the other; what no template fits is one sentence to its end."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        fits = ((one, found) for one in templates if (found := one.pattern.match(text, at)) is not None)
        best = next(fits, None)
        if best is None:
            yield Sentence(text[at:], None, {})
            return
        yield Sentence(best[1].group(), best[0], best[1].groupdict())
        at = best[1].end()


def first_fault(*faults: str) -> str:
    """The first that is not empty."""
    return next((one for one in faults if one), "")


def unless(holds: bool, fault: str) -> str:
    """``fault`` when something does not hold."""
    return "" if holds else fault


def all_of(checks: Iterable[Check]) -> Check:
    """A check that needs all of several."""
    held = tuple(checks)
    return lambda claim: first_fault(*(check(claim) for check in held))


FENCE = "```"


LEADS = re.compile(
    r"orchestrat|manag|supervis|coordinat|router|selector|plan|triage|dispatch|moderator|lead", re.IGNORECASE
)


CHECKS = re.compile(r"verif|review|valid|critic|check|test|qa|judge|audit|evaluat|proof|inspect", re.IGNORECASE)


def speaker(claim: Claim) -> str:
    """The agent that is named acted in the step."""
    return unless(claim.step.agent == claim.text("agent"), f"step {claim.index} is by {claim.step.agent!r}")


def words(meaning: str, read: Callable[..., str] = prose) -> Check:
    """The words stand in the step, mean what is said of them, and are not those of the task."""
    means = re.compile(meaning, re.IGNORECASE)

    def check(claim: Claim) -> str:
        words = claim.text("words")
        return first_fault(
            unless(within(words, read(claim.step)), f"{words!r} does not stand in the step"),
            unless(means.search(words) is not None, f"{words!r} does not mean that"),
            unless(not is_the_task(claim), "the passage is the task's"),
        )

    return check


def is_the_task(claim: Claim) -> bool:
    return len(claim.quote) > 20 and flat(claim.quote) in flat(claim.run.task)


def bare(claim: Claim) -> str:
    before = claim.index - 1
    return first_fault(
        unless(FENCE not in claim.step.content, "it has code"),
        unless(not claim.step.tool_calls, "it calls a tool"),
        unless(before < 0 or not claim.run.is_machine(before), f"step {before} is a report"),
    )


def has_code(claim: Claim) -> str:
    return unless(FENCE in own(claim.step), "no code in it")


def says_again(claim: Claim) -> str:
    other = claim.other()
    return unless(other is not None and folded(other.content) == folded(claim.step.content), "the texts differ")


def last_speaks(claim: Claim) -> str:
    return first_fault(
        speaker(claim), unless(claim.run.last_speaker() == claim.index, f"step {claim.run.last_speaker()} is the last")
    )


def hand_off(claim: Claim) -> str:
    return unless(claim.step.recipient == claim.text("who"), f"it goes to {claim.step.recipient!r}")
