"""A trajectory as the features see it: words, numbers and roles of every step, each computed once."""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._lazy import cached_property
from tracer_hooks.diagnosis._reading._roles import Role, is_checker, is_planner
from tracer_hooks.diagnosis._reading._run import EXACT_STEPS, RunReading
from tracer_hooks.diagnosis._reading._text import number_set
from tracer_hooks.diagnosis.ranking._signals import Signal, signals_of
from tracer_hooks.schema import StepKind, Trajectory

logger = logging.getLogger("tracer_hooks")
Column = NDArray[np.float64]
"""One number for each step of a trajectory."""
_WORD = re.compile(r"[a-z][a-z0-9_]{2,}|\d+(?:\.\d+)?")
_NAME = re.compile(r"[A-Z](?<!\w[A-Z])[a-z]{2,}(?:\s[A-Z][a-z]+)*")
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
    (
        *("the", "and", "for", "that", "this", "with", "are", "was", "were", "has", "have", "had", "not", "but"),
        *("you", "your", "our", "will", "can", "from", "which", "its", "his", "her", "their", "they", "them"),
        *("then", "than", "there", "here", "also", "all", "any", "one", "two", "let", "now", "use", "using"),
        *("used", "into", "out", "how", "what", "when", "where", "who", "would", "could", "should", "may"),
        *("might", "need", "make", "been", "being", "each", "more", "most", "other", "some", "such", "only"),
        *("over", "after", "before", "about"),
    )
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
        self.run = RunReading(trajectory, reference)
        self.trajectory = trajectory
        self.steps = trajectory.steps
        self.count = len(trajectory.steps)
        self.agents = [step.agent for step in trajectory.steps]
        self.roles = self.run.roles
        self._read: dict[Callable[[View], dict[str, Column]], dict[str, Column]] = {}

    @cached_property
    def texts(self) -> list[StepText]:
        """What was written and shown in each step."""
        return [self._text(index) for index in range(self.count)]

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
        return signals_of(self.run)

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
        return set(_words(self.run.final_text[-_CHARS:]))

    @cached_property
    def final_numbers(self) -> set[str]:
        """Numbers of the run's answer that the task does not name."""
        return number_set(self.run.final_text[-_CHARS:]) - self.run.task_numbers

    @cached_property
    def likeness(self) -> Likeness:
        """How alike the steps are in their words."""
        words = [text.words for text in self.texts]
        if self.count <= EXACT_STEPS:
            return likeness_of(words, self.agents, window=self.count)
        logger.info(
            "run %r has %d steps: those up to %d apart are compared, others only by whether they say the same; "
            "of each text %d characters are read",
            self.trajectory.run_id,
            self.count,
            WINDOW,
            self.run.limit,
        )
        return likeness_of(words, self.agents, window=WINDOW)

    def _text(self, index: int) -> StepText:
        passages = list(self.run.passages(index))
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


@dataclass(frozen=True, slots=True)
class Quick:
    """A pattern whose letters are all small, for text in lower case."""

    pattern: re.Pattern[str]
    parts: tuple[str, ...]
    """Every match has one of them, in lower case; asked first, since that is far cheaper."""

    def is_in(self, text: str) -> bool:
        """Tell whether there is a match."""
        return self._may_be_in(text) and folded(self.pattern).search(text) is not None

    def times_in(self, texts: Sequence[str]) -> Column:
        """How many matches there are in each text."""
        find = folded(self.pattern).findall
        return np.array([float(len(find(text))) if self._may_be_in(text) else 0.0 for text in texts])

    def _may_be_in(self, text: str) -> bool:
        for part in self.parts:  # noqa: SIM110, twice as fast as any() over a generator
            if part in text:
                return True
        return False


def quick(pattern: str, parts: str, flags: re.RegexFlag = re.IGNORECASE) -> Quick:
    """A pattern, and the parts of which each of its matches has one, parted by "|"."""
    return Quick(re.compile(pattern, flags), tuple(parts.split("|")))


def _clip(text: str) -> str:
    return text if len(text) <= _CHARS else text[: _CHARS * 2 // 3] + "\n" + text[-_CHARS // 3 :]


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


def _answer(text: str) -> str | None:
    boxed = _BOXED.findall(text) if "boxed" in text else []
    lower = text.lower()
    stated = boxed or (_STATED.findall(text) if any(part in lower for part in _STATES) else [])
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


WINDOW = 150
"""Steps that two steps of a longer run may stand apart to be compared."""
SAME = 0.9
"""Likeness above which two steps count as copies."""
BESIDE = 3
"""Steps before, and after, that count as a step's neighbours."""


class Likeness:
    """The likeness of every step to the others of its run.

    Args:
        speakers: A number for the agent of each step.
        compare: The likeness of any two steps.
    """

    def __init__(self, speakers: NDArray[np.int64], compare: Callable[[int, int], float]) -> None:
        count = len(speakers)
        self._speakers = speakers
        self._compare = compare
        self.earlier = np.zeros(count)
        """To the earlier step that is most like it."""
        self.own_earlier = np.zeros(count)
        """The same among the steps of its own agent."""
        self.others_earlier = np.zeros(count)
        """The same among the steps of other agents."""
        self.later = np.zeros(count)
        """To the later step that is most like it."""
        self.own_later = np.zeros(count)
        """The same among the steps of its own agent."""
        self.copies = np.zeros(count)
        """How many other steps are copies of it."""
        self.overall = np.zeros(count)
        """To all other steps, on average."""
        self.beside = np.zeros((count, 2 * BESIDE + 1))
        """To the steps from :data:`BESIDE` before it to as many after it, itself in the middle; 0 past the ends."""

    def between(self, one: int, other: int) -> float:
        """The likeness of two steps, however far apart."""
        return self._compare(one, other)

    def add(self, block: NDArray[np.float64], start: int, first: int, reach: int) -> None:
        """Take in the likeness of the steps from ``start`` on to each step from ``first`` on, up to ``reach`` before.

        Args:
            block: One row for each step from ``start`` on, one column for each from ``first`` to the block's last row.
            start: The step of the first row.
            first: The step of the first column, not after ``start``.
            reach: How many steps apart two steps may stand to count.
        """
        end = start + len(block)
        rows, columns = np.arange(start, end), np.arange(first, end)
        apart = rows[:, None] - columns
        before = np.where((apart > 0) & (apart <= reach), block, 0.0)
        own = np.where(self._speakers[rows][:, None] == self._speakers[columns], before, 0.0)
        self.earlier[start:end] = before.max(axis=1, initial=0.0)
        self.own_earlier[start:end] = own.max(axis=1, initial=0.0)
        self.others_earlier[start:end] = (before - own).max(axis=1, initial=0.0)
        self.later[first:end] = np.maximum(self.later[first:end], before.max(axis=0, initial=0.0))
        self.own_later[first:end] = np.maximum(self.own_later[first:end], own.max(axis=0, initial=0.0))
        copies = before > SAME
        self.copies[start:end] += copies.sum(axis=1)
        self.copies[first:end] += copies.sum(axis=0)
        for shift in range(1, BESIDE + 1):
            here = rows[rows - shift >= first]
            self.beside[here, BESIDE - shift] = block[here - start, here - shift - first]
            self.beside[here - shift, BESIDE + shift] = self.beside[here, BESIDE - shift]


def numbered(names: Sequence[str]) -> NDArray[np.int64]:
    """The same number for the same name."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def rarity(steps: NDArray[np.int64], count: int) -> NDArray[np.float32]:
    """The weight of words that stand in so many of ``count`` steps."""
    return (np.log((1 + count) / (1 + steps)) + 0.3).astype(np.float32)


_BLOCK = 150
"""Steps that are compared with those before them at once."""
_WIDTH = 16_384
"""Different words that are looked at at once, to bound memory."""


def likeness_of(words: Sequence[Counter[str]], agents: Sequence[str], *, window: int) -> Likeness:
    """The likeness of steps up to ``window`` apart, and of those with the very same words.

    Args:
        words: How often each step has each word.
        agents: Who acted in each step.
        window: Time and memory grow with it.
    """
    rows = _Rows(words)
    found = Likeness(numbered(agents), rows.between)
    count = len(words)
    for start in range(0, count, _BLOCK):
        first = max(0, start - window)
        found.add(rows.block(start, first, min(count, start + _BLOCK)), start, first, window)
    found.overall = rows.overall()
    if window < count:
        for group in rows.same_words():
            _mark_copies(found, group, agents, window)
    return found


class _Rows:
    """The words of the steps as one list of entries, step after step: the number of a word, and its weight."""

    def __init__(self, words: Sequence[Counter[str]]) -> None:
        vocabulary: dict[str, int] = {}
        self._count = len(words)
        self._words = np.array(
            [vocabulary.setdefault(word, len(vocabulary)) for counts in words for word in counts], dtype=np.int64
        )
        self._times = np.array(list(chain.from_iterable(counts.values() for counts in words)), dtype=np.uint64)
        sizes = [len(counts) for counts in words]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._steps = np.repeat(np.arange(self._count), sizes)
        raw = (1.0 + np.log(self._times.astype(np.float32))) * rarity(np.bincount(self._words), self._count)[
            self._words
        ]
        norms = np.sqrt(np.bincount(self._steps, weights=raw * raw, minlength=self._count))
        self._weights = (raw / norms[self._steps]).astype(np.float32)

    def block(self, start: int, first: int, end: int) -> NDArray[np.float64]:
        """The likeness of the steps from ``start`` to each from ``first``, both to before ``end``."""
        inside = slice(self._starts[first], self._starts[end])
        steps, weights = self._steps[inside] - first, self._weights[inside]
        _, places, times = np.unique(self._words[inside], return_inverse=True, return_counts=True)
        shared = times > 1  # a word of one step alone makes it like no other
        columns = np.where(shared, np.cumsum(shared) - 1, -1)[places]
        alike = np.zeros((end - start, end - first), dtype=np.float32)
        for low in range(0, int(shared.sum()), _WIDTH):
            chosen = (columns >= low) & (columns < low + _WIDTH)
            matrix = np.zeros((end - first, min(_WIDTH, int(shared.sum()) - low)), dtype=np.float32)
            matrix[steps[chosen], columns[chosen] - low] = weights[chosen]
            alike += matrix[start - first :] @ matrix.T
        return alike.astype(np.float64)

    def overall(self) -> NDArray[np.float64]:
        """The mean likeness of each step to all others, which needs no pairs: the cosine is linear in the other."""
        total = np.bincount(self._words, weights=self._weights)
        weights = self._weights.astype(np.float64)
        summed = np.bincount(self._steps, weights=weights * (total[self._words] - weights), minlength=self._count)
        return np.round(summed / max(1, self._count - 1), 9)  # equal steps stay equal

    def same_words(self) -> Iterator[list[int]]:
        """The steps that have the very same words, as often each, where there are several."""
        marks = np.random.default_rng(0).integers(0, 2**64, size=len(self._words), dtype=np.uint64)
        # Sums of a random number for each word, whatever their order; unequal steps meet by chance once in 2 ** 64.
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(marks[self._words] * self._times)])
        keys = (sums[self._starts[1:]] - sums[self._starts[:-1]]).tolist()
        groups: dict[int, list[int]] = {}
        for step, key in enumerate(keys):
            if self._starts[step] < self._starts[step + 1]:
                groups.setdefault(key, []).append(step)
        return (group for group in groups.values() if len(group) > 1)

    def between(self, one: int, other: int) -> float:
        """The likeness of two steps."""
        mine, theirs = self._entries(one), self._entries(other)
        return sum(weight * theirs[word] for word, weight in mine.items() if word in theirs)

    def _entries(self, step: int) -> dict[int, float]:
        inside = slice(self._starts[step], self._starts[step + 1])
        return dict(zip(self._words[inside].tolist(), self._weights[inside].tolist(), strict=True))


def _mark_copies(found: Likeness, group: list[int], agents: Sequence[str], window: int) -> None:
    """Mark each step of ``group`` as a copy of the others, also where they stand too far apart to be compared."""
    found.earlier[group[1:]] = 1.0
    found.later[group[:-1]] = 1.0
    last: dict[str, int] = {}
    for step in group:
        if agents[step] in last:
            found.own_earlier[step] = found.own_later[last[agents[step]]] = 1.0
        if len(last) > (agents[step] in last):
            found.others_earlier[step] = 1.0
        last[agents[step]] = step
        near = bisect_right(group, step + window) - bisect_left(group, step - window)
        found.copies[step] += len(group) - near
