"""A trajectory as the features see it: words, numbers and roles of every step, each computed once."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._features._likeness import WINDOW, Likeness, exact_likeness, windowed_likeness
from tracer_hooks.diagnosis._reading._roles import Role, is_checker, is_planner
from tracer_hooks.diagnosis._reading._run import EXACT_STEPS, RunReading
from tracer_hooks.diagnosis._reading._text import number_set
from tracer_hooks.diagnosis._rules import signals_of
from tracer_hooks.diagnosis._rules._signal import Signal
from tracer_hooks.schema import StepKind, Trajectory

logger = logging.getLogger("tracer_hooks")
Column = NDArray[np.float64]
"""One number for each step of a trajectory."""
_WORD = re.compile(r"[a-z][a-z0-9_]{2,}|\d+(?:\.\d+)?")
_NAME = re.compile(r"\b[A-Z][a-z]{2,}(?:\s[A-Z][a-z]+)*")
_CODE = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_BOXED = re.compile(r"\\boxed\{([^{}]{1,80})\}")
_STATED = re.compile(
    r"(?:final answer|answer|result|solution|total)\b\W{0,6}(?:is|=|:|equals|should be)\W{0,8}([^\n.;]{1,60})",
    re.IGNORECASE,
)
_STATES = ("answer", "result", "solution", "total")
_CHARS = 6_000
"""Characters of a step that words are counted in: its head and its tail."""
_STOP = frozenset(
    [
        "the",
        "and",
        "for",
        "that",
        "this",
        "with",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "not",
        "but",
        "you",
        "your",
        "our",
        "will",
        "can",
        "from",
        "which",
        "its",
        "his",
        "her",
        "their",
        "they",
        "them",
        "then",
        "than",
        "there",
        "here",
        "also",
        "all",
        "any",
        "one",
        "two",
        "let",
        "now",
        "use",
        "using",
        "used",
        "into",
        "out",
        "how",
        "what",
        "when",
        "where",
        "who",
        "would",
        "could",
        "should",
        "may",
        "might",
        "need",
        "make",
        "been",
        "being",
        "each",
        "more",
        "most",
        "other",
        "some",
        "such",
        "only",
        "over",
        "after",
        "before",
        "about",
    ]
)


@dataclass(frozen=True, slots=True)
class StepText:
    """What the agent of one step wrote, and what it was shown back by its tools."""

    said: str
    """Its own words, code included; JSON keys are blanked."""
    prose: str
    """Its own words without fenced code."""
    code: str
    """The fenced code in its own words."""
    lower: str
    """``prose`` in lower case; see :func:`folded`."""
    shown: str
    """Results and errors of its tool calls."""
    words: Counter[str]
    """Words of ``said``, stop words left out."""
    numbers: frozenset[str]
    """Numbers of ``said``, in canonical form."""
    names: frozenset[str]
    """Capitalised names of ``said``."""
    answer: str | None
    """The answer that the step states, when it states one."""


class View:
    """Everything that more than one feature needs."""

    def __init__(self, trajectory: Trajectory, reference: str | None = None) -> None:
        self.trace = RunReading(trajectory, reference)
        self.trajectory = trajectory
        self.steps = trajectory.steps
        self.count = len(trajectory.steps)
        self.agents = [step.agent for step in trajectory.steps]
        self.roles = self.trace.roles
        self.texts = [self._text(index) for index in range(self.count)]
        self._read: dict[Callable[[View], dict[str, Column]], dict[str, Column]] = {}

    def columns(self, group: Callable[[View], dict[str, Column]]) -> dict[str, Column]:
        """A group of features of this trajectory, computed once."""
        if group not in self._read:
            self._read[group] = group(self)
        return self._read[group]

    def column(self) -> Column:
        """Zeros, one for each step."""
        return np.zeros(self.count)

    def flags(self, values: list[bool]) -> Column:
        """Ones where true."""
        return np.array(values, dtype=np.float64)

    @cached_property
    def signals(self) -> list[Signal]:
        """What every rule says."""
        return signals_of(self.trace)

    @cached_property
    def is_report(self) -> list[bool]:
        """Tell whether each step only reports what a machine printed."""
        return [role is Role.REPORTER for role in self.roles]

    @cached_property
    def is_act(self) -> list[bool]:
        """Tell whether each step is an act of a member of the team."""
        return [role is Role.AGENT for role in self.roles]

    @cached_property
    def acts(self) -> list[int]:
        """The acts of the team; all steps when there is none."""
        return [index for index in range(self.count) if self.is_act[index]] or list(range(self.count))

    @cached_property
    def is_routing(self) -> list[bool]:
        """Tell whether each step only says who acts next, or does nothing at all."""
        return [self._routes(index) for index in range(self.count)]

    @cached_property
    def planners(self) -> set[str]:
        """Agents that lead: by name, or since they hand most of the work on."""
        handed = Counter(step.agent for step in self.steps if step.kind is StepKind.HANDOFF)
        spoke = Counter(self.agents)
        return {name for name in spoke if is_planner(name) or handed[name] * 3 >= spoke[name] > 2}

    @cached_property
    def checkers(self) -> set[str]:
        """Agents that are there to check, by name."""
        return {name for name in set(self.agents) if is_checker(name)}

    @cached_property
    def task_words(self) -> set[str]:
        """Words of the task."""
        return set(_words(self.trajectory.task[:_CHARS]))

    @cached_property
    def final_words(self) -> set[str]:
        """Words of the run's answer."""
        return set(_words(self.trace.final_text[-_CHARS:]))

    @cached_property
    def final_numbers(self) -> set[str]:
        """Numbers of the run's answer that the task does not name."""
        return number_set(self.trace.final_text[-_CHARS:]) - self.trace.task_numbers

    @cached_property
    def likeness(self) -> Likeness:
        """How alike the steps are in their words."""
        words = [text.words for text in self.texts]
        if self.count <= EXACT_STEPS:
            return exact_likeness(words, self.agents)
        logger.info(
            "run %r has %d steps: those up to %d apart are compared, others only by whether they say the same; "
            "of each text %d characters are read",
            self.trajectory.run_id,
            self.count,
            WINDOW,
            self.trace.limit,
        )
        return windowed_likeness(words, self.agents)

    def _text(self, index: int) -> StepText:
        passages = list(self.trace.passages(index))
        said = "\n".join(_clip(one.text) for one in passages if one.part in ("content", "arguments"))
        shown = "\n".join(_clip(one.text) for one in passages if one.part in ("result", "tool error", "error"))
        code = "\n".join(_CODE.findall(said))
        prose = _CODE.sub(" ", said) if code else said
        return StepText(
            said=said,
            prose=prose,
            lower=prose.lower(),
            code=code,
            shown=shown,
            words=Counter(_words(said)),
            numbers=frozenset(number_set(said)),
            names=frozenset(_NAME.findall(said)),
            answer=_answer(said),
        )

    def _routes(self, index: int) -> bool:
        text = self.texts[index]
        if self.steps[index].tool_calls or self.steps[index].error:
            return False
        return len(text.words) <= 8 and text.words.keys() <= self._routing_words

    @cached_property
    def _routing_words(self) -> set[str]:
        """Words of a step that only says who acts next."""
        names = {word for name in set(self.agents) for word in _words(name)}
        return names | {"next", "speaker", "terminate", "agent"}


@cache
def folded(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The same pattern for text in lower case: searched two to three times as fast as one that ignores case.

    Only for patterns whose letters are all small.
    """
    return re.compile(pattern.pattern, pattern.flags & ~re.IGNORECASE)


def mentions(text: str, parts: tuple[str, ...]) -> bool:
    """Whether ``text`` has one of several parts; asked first where a pattern needs one, since it is far cheaper."""
    for part in parts:  # noqa: SIM110, twice as fast as any() over a generator
        if part in text:
            return True
    return False


def _clip(text: str) -> str:
    return text if len(text) <= _CHARS else text[: _CHARS * 2 // 3] + "\n" + text[-_CHARS // 3 :]


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


def _answer(text: str) -> str | None:
    boxed = _BOXED.findall(text) if "boxed" in text else []
    stated = boxed or (_STATED.findall(text) if mentions(text.lower(), _STATES) else [])
    if not stated:
        return None
    return " ".join(stated[-1].strip(" *_$\\().'\"`").casefold().split()) or None


def first_of(flags: NDArray[Any]) -> Column:
    """1 at the first step where ``flags`` is not 0, 0 elsewhere."""
    return _one(len(flags), np.flatnonzero(flags)[:1])


def last_of(flags: NDArray[Any]) -> Column:
    """1 at the last step where ``flags`` is not 0, 0 elsewhere."""
    return _one(len(flags), np.flatnonzero(flags)[-1:])


def highest(values: NDArray[Any]) -> Column:
    """1 at the earliest step with the highest value, 0 elsewhere and where no value is above 0."""
    return _one(len(values), np.array([values.argmax()]) if len(values) and values.max() > 0 else np.array([], int))


def lowest(values: NDArray[Any]) -> Column:
    """1 at the earliest step with the lowest value, 0 elsewhere."""
    return _one(len(values), np.array([values.argmin()]) if len(values) else np.array([], int))


def _one(count: int, at: NDArray[Any]) -> Column:
    out = np.zeros(count)
    out[at] = 1.0
    return out
