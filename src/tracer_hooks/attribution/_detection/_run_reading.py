"""A run as the detector reads it: who still said something, who had the last word, and what the rules see."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from tracer_hooks._lazy import cached_property
from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._features._agreement import agreement, repetition
from tracer_hooks.attribution._features._failure import failure
from tracer_hooks.attribution._features._language import claims, language
from tracer_hooks.attribution._features._view import Column, View
from tracer_hooks.attribution._features._work import work
from tracer_hooks.attribution._reading._roles import Role
from tracer_hooks.attribution._reading._trace import says_something
from tracer_hooks.attribution._rules._language import ENDS
from tracer_hooks.attribution._rules._signal import Family, Signal
from tracer_hooks.schema import RunOutcome, StepKind, Trajectory

_CLOSES = re.compile(r"#{2,}\s*[A-Z]|\bfinal[ _]answer\b", re.IGNORECASE)
_INSTRUCTS = re.compile(r"\W*(?:type\W+text\W+text\W+)?You are (?:an?|the|now|in)\b", re.IGNORECASE)
_LATE = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """How much of one signal there is in a run, from 0 to 1, and where it shows."""

    value: float
    step: int | None = None
    quote: str | None = None


NOTHING = Finding(0.0)


class RunReading:
    """What the signals read. The outcome of the run is not looked at, even when it is known.

    Args:
        trajectory: What happened.
        table: Its features, when they are at hand.
        view: The trajectory as the features see it, when it is at hand; used where it knows of no outcome either.
    """

    def __init__(self, trajectory: Trajectory, table: FeatureTable | None = None, view: View | None = None) -> None:
        if view is None or view.trajectory.outcome is not RunOutcome.UNKNOWN or view.trace.reference is not None:
            view = View(trajectory.model_copy(update={"outcome": RunOutcome.UNKNOWN, "reference": None}))
        self.view = view
        self.trace = self.view.trace
        self.steps = self.view.steps
        self._table = table

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Features by name, one number for each step."""
        if self._table is not None:
            return {name: self._table.values[:, place] for place, name in enumerate(self._table.names)}
        columns: dict[str, Column] = {}
        for group in (failure, language, claims, repetition, agreement, work):
            columns.update(self.view.columns(group))
        return columns

    @cached_property
    def signals(self) -> list[Signal]:
        """What the rules say."""
        return self.view.signals

    def strongest(self, *families: Family) -> Signal | None:
        """The strongest word of these families of rules."""
        return max((one for one in self.signals if one.family in families), key=lambda one: one.weight, default=None)

    @cached_property
    def telling(self) -> list[int]:
        """The acts that say something: no routing, no instructions, no handing on of the task, no bare sign-off."""
        view = self.view
        return [
            index
            for index in self.trace.acts
            if view.is_act[index]
            and not view.is_routing[index]
            and not self.trace.is_brief(index)
            and _INSTRUCTS.match(self.steps[index].content) is None
            and (says_something(self.steps[index].content) or self.steps[index].tool_calls or self.steps[index].error)
        ]

    @cached_property
    def first_of_two(self) -> list[int]:
        """The first of the telling acts, and the first by another agent: of any agent, one of them is another's."""
        agents = self.view.agents
        other = (index for index in self.telling if agents[index] != agents[self.telling[0]])
        return [*self.telling[:1], *islice(other, 1)]

    @cached_property
    def late(self) -> list[int]:
        """The last few of them."""
        return self.telling[-_LATE:]

    @cached_property
    def last_step(self) -> int:
        """The last step that holds anything."""
        for step in reversed(self.steps):
            if step.content.strip() or step.tool_calls or step.error or step.recipient:
                return step.index
        return len(self.steps) - 1

    @cached_property
    def person_had_last_word(self) -> bool:
        """Whether a person, not the team, spoke last: the run then ended since that person was done."""
        return self.view.roles[self.last_step] is Role.PERSON

    @cached_property
    def has_person(self) -> bool:
        """Whether a person takes part beyond setting the task."""
        return any(role is Role.PERSON for role in self.view.roles[1:])

    @cached_property
    def is_closed(self) -> bool:
        """Whether somebody declared the end or stated a final answer in the last words of the run."""
        if self.person_had_last_word:
            return True
        texts = [
            self.view.texts[index].said[-2_000:] for index in range(max(0, self.last_step - 1), self.last_step + 1)
        ]
        return any(ENDS.search(text) or _CLOSES.search(text) for text in texts)

    @cached_property
    def machine_words(self) -> list[tuple[int, bool]]:
        """Every report and answered tool call, in order: its step, and whether it tells of a failure."""
        own, found = self.columns["failure: error printed here"], []
        for index, step in enumerate(self.steps):
            if self.view.is_report[index] and step.content.strip():
                found.append((index, own[index] > 0))
            elif step.kind is StepKind.ERROR or step.error is not None:
                found.append((index, True))
            elif any(call.result is not None or call.error is not None for call in step.tool_calls):
                found.append((index, own[index] > 0 or bool(step.failed_tools)))
        return found

    def quote(self, index: int, pattern: re.Pattern[str] | None = None) -> str | None:
        """Words of a step around the pattern's first match; None when no passage shows what is said of it."""
        for passage in self.trace.passages(index) if pattern is not None else ():
            found = passage.search(pattern) if pattern is not None else None
            if found:
                return found
        return None

    def count(self, column: str, steps: list[int], *, most: float) -> Finding:
        """How often a feature is seen at ``steps``, as a share of ``most``, with the last step that has it."""
        seen = [index for index in steps if self.columns[column][index] > 0]
        if not seen:
            return NOTHING
        return Finding(min(1.0, len(seen) / most), seen[-1], self.quote(seen[-1]))
