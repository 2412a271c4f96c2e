"""The raw text of a trajectory as the audit reads it, the templates of sentences, and checks that many of them need.

A template is written as the sentence with places to fill: ``{x!}`` is a quoted text, ``{x*}`` a list of quoted texts,
``{x#}`` a whole number, and ``{x~}`` anything.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tracer_hooks.schema import Attribution, Step, Trajectory

ERROR = re.compile(
    r"exit ?code:?\s*-?[1-9]|traceback|execution failed|\b\w*(?:error|exception)\b|\bfail(?:ed|ure)\b", re.IGNORECASE
)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.,])-?\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)|(?<![\w.,])-?\d+(?:\.\d+)?(?!\w|[.,]\d)")
_PEOPLE = ("user", "human", "userproxy", "userproxyagent", "customer", "client")
_PEOPLE += ("system", "systemprompt", "systemmessage")
_MACHINE = re.compile(r"terminal|executor|environment|interpreter|sandbox|\btools?\b", re.IGNORECASE)


def flat(text: str) -> str:
    """``text`` with one space for each stretch of white space."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """Without case and without marks of Markdown, for comparison."""
    return flat(re.sub(r"[*_`\\]", "", text)).casefold()


def arguments(step: Step) -> str:
    """The tool arguments of a step, as JSON and as plain strings."""
    out = []
    for call in step.tool_calls:
        out += [json.dumps(call.arguments, ensure_ascii=False), *_leaves(call.arguments)]
    return "\n".join(out)


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


def results(step: Step) -> str:
    """What the tools of a step gave back."""
    return "\n".join(text for call in step.tool_calls for text in (call.result, call.error) if text)


def own(step: Step) -> str:
    """What the agent itself said or passed to a tool."""
    return f"{step.content}\n{arguments(step)}"


def whole(step: Step) -> str:
    """Everything that stands in a step."""
    return f"{own(step)}\n{results(step)}\n{step.error or ''}\n{step.recipient or ''}"


def prose(step: Step) -> str:
    """What the agent wrote outside of fenced code."""
    return _FENCED.sub(" ", step.content)


def code(step: Step) -> str:
    """The fenced code of a step and its tool arguments."""
    return "\n".join([*_FENCED.findall(own(step)), arguments(step)])


def stands(value: str, text: str) -> bool:
    """Whether ``value`` stands in ``text``: by itself, in any case, white space and Markdown aside."""
    wanted = folded(value.rstrip("…"))
    if not wanted:
        return False
    before = r"(?<!\w)" if wanted[0].isalnum() else ""
    after = r"(?!\w)" if wanted[-1].isalnum() and not value.endswith("…") else ""
    return re.search(f"{before}{re.escape(wanted)}{after}", folded(text)) is not None


def within(value: str, text: str) -> bool:
    """Whether ``value`` is a piece of ``text``, even of a word of it."""
    return folded(value.rstrip("…")) in folded(text)


def number(text: str) -> Fraction | None:
    """The one number in ``text``; None when there is none or several."""
    found = _NUMBER.findall(text)
    return Fraction(found[0].replace(",", "")) if len(found) == 1 else None


def numbers(text: str) -> set[Fraction]:
    """The numbers that ``text`` writes in digits."""
    return {Fraction(one.replace(",", "")) for one in _NUMBER.findall(text)}


def same_value(value: str, text: str) -> bool:
    """Whether ``text`` has ``value``, as it is written or as an equal number."""
    as_number = number(value)
    plain = re.fullmatch(r"[$€£]?\s?-?[\d.,]+\s?%?", value.strip())
    return stands(value, text) or (plain is not None and as_number is not None and as_number in numbers(text))


class Run:
    """A trajectory, with the few things about it that the audit works out for itself."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.steps = trajectory.steps
        self.task = trajectory.task

    def is_machine(self, index: int) -> bool:
        """Whether the step is what a terminal or an environment gave back."""
        step = self.steps[index]
        printed = re.match(r"\s*(?:exit ?code|traceback|code output|execution)", step.content, re.IGNORECASE)
        return _MACHINE.search(step.agent.replace("_", " ")) is not None or printed is not None

    def earlier(self, index: int) -> Iterator[str]:
        """The task, and the texts of all steps before one."""
        yield self.task
        for step in self.steps[:index]:
            yield whole(step)

    def said_before(self, value: str, index: int) -> bool:
        """Whether a value stands in the task or in an earlier step."""
        return any(same_value(value, text) for text in self.earlier(index))


_TOKEN = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2}(?![\d,])|\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<percent>\s?%)?|(?P<sign>[-+*/()×÷−·^])|(?P<word>[^\W\d]+)"
)
_TIMES, _OVER = ("*", "×", "·", "x"), ("/", "÷")
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}


def evaluate(text: str) -> Fraction | None:
    """What a written calculation comes to, units left aside; None when it is no calculation that can be read."""
    tokens = _tokens(text)
    if not tokens:
        return None
    try:
        value, rest = _sum(tokens)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return None if rest else value


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    for match in _TOKEN.finditer(text.replace("\\times", "×").replace("\\cdot", "×").replace("\\div", "÷")):
        if match["number"]:
            found.append(_plain(match["number"]))
            if match["percent"]:
                found += ["/", "100"]
        elif match["sign"]:
            found.append({"−": "-"}.get(match["sign"], match["sign"]))
        elif match["word"].casefold() in ("x", "times") or (match["word"].casefold() == "of" and found[-1:] == ["100"]):
            found.append("×")
        elif match["word"].casefold() in _SCALES and found and found[-1][0].isdigit():
            found += ["×", str(_SCALES[match["word"].casefold()])]
    return found


def _plain(number: str) -> str:
    """A number without marks between thousands and with a decimal point, whichever way round it is written."""
    if re.fullmatch(r"[\d.]+,\d+", number) and ("." in number or re.fullmatch(r"\d+,\d{1,2}", number)):
        return number.replace(".", "").replace(",", ".")
    return number.replace(",", "")


def _sum(tokens: list[str]) -> tuple[Fraction, list[str]]:
    value, rest = _product(tokens)
    while rest and rest[0] in "+-":
        sign = rest[0]
        term, rest = _product(rest[1:])
        value = value + term if sign == "+" else value - term
    return value, rest


def _product(tokens: list[str]) -> tuple[Fraction, list[str]]:
    value, rest = _factor(tokens)
    while rest and (rest[0] in _TIMES or rest[0] in _OVER or rest[0] == "("):
        sign = rest[0]
        factor, rest = _factor(rest if sign == "(" else rest[1:])
        value = value / factor if sign in _OVER else value * factor
    return value, rest


def _factor(tokens: list[str]) -> tuple[Fraction, list[str]]:
    head = tokens[0]
    if head == "-":
        value, rest = _factor(tokens[1:])
        return -value, rest
    if head == "(":
        value, rest = _sum(tokens[1:])
        if rest[0] != ")":
            raise ValueError("unclosed bracket")
        rest = rest[1:]
    else:
        value, rest = Fraction(head), tokens[1:]
    if rest and rest[0] == "^":
        power, rest = _factor(rest[1:])
        if power.denominator != 1 or abs(power) > 64:
            raise ValueError("no small whole power")
        value = value**power.numerator
    return value, rest


_LITERAL = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_PLACES = {"!": _LITERAL, "*": rf"{_LITERAL}(?:, {_LITERAL})*(?: and \d+ more)?", "#": r"\d+", "~": r".+?"}
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


FENCE = "```"


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
