"""A trajectory made ready to be compared: who did what in each step, and what was said and what was only received."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from tracer_hooks._lazy import cached_property
from tracer_hooks.attribution._contrast._claims import Claim, ClaimKind, argument_claims, parts_of, read_text
from tracer_hooks.attribution._contrast._customs import Sightings
from tracer_hooks.attribution._contrast._occurrences import (
    MOST_TEXT,
    Occurrence,
    StepValues,
    occurrences_in,
    step_values,
)
from tracer_hooks.attribution._reading._roles import Role, fold, roles_of
from tracer_hooks.schema import Step, StepKind, Trajectory

_RUN_BUDGET = 90_000
"""Characters of one run that are looked at, so that long runs cost no more than a fraction of a second."""
_LEAST, _MOST = 500, 6_000
"""Characters of one step that are looked at, at least and at most: half from its head, half from its tail."""
_LEAST_OF_TEXT = 200
"""Characters of each text of a step that are looked at, at least."""
_TASK_LIMIT = 8_000
_RUN_VALUES, _LEAST_VALUES, _MOST_VALUES = 8_000, 5, 600
"""Places of values of one run, and of one step at least and at most, that are looked at."""
_VALUES_BUDGET = 600_000
"""Characters of one run in which values are looked for; a long reply of a tool holds what later steps take from it."""


class Act(NamedTuple):
    """What kind of act a step is, without its content."""

    agent: str
    kind: StepKind
    target: str = ""
    """The tools called, or the agent handed to."""


@dataclass(frozen=True, slots=True)
class StepView:
    """One step as the comparison sees it."""

    index: int
    act: Act
    role: Role
    terms: Mapping[str, int]
    """How often each word, number and code stands in the step."""
    made: Mapping[Claim, str]
    """The claims that the step itself brings forward, with the words it uses."""
    received: Mapping[Claim, str]
    """The claims that came from outside: tool results, errors, and everything that persons and reporters say."""

    @property
    def is_empty(self) -> bool:
        """Whether the step holds nothing to compare."""
        return not self.terms and not self.act.target


@dataclass(frozen=True)
class RunView:
    """One run as the comparison sees it."""

    trajectory: Trajectory
    steps: tuple[StepView, ...]
    task_words: Mapping[str, int]
    given: frozenset[Claim]
    """The claims in the task."""

    @cached_property
    def agents(self) -> frozenset[str]:
        """Those who acted, persons aside; everybody when only persons did."""
        acting = {step.act.agent for step in self.steps if step.role is not Role.PERSON}
        return frozenset(acting or {step.act.agent for step in self.steps})

    @cached_property
    def acts(self) -> tuple[int, ...]:
        """The steps of members of the team; all steps when there is no other."""
        own = tuple(step.index for step in self.steps if step.role is Role.AGENT)
        return own or tuple(step.index for step in self.steps)

    @cached_property
    def values(self) -> tuple[StepValues, ...]:
        """For each step, the values in it and from outside, each with what is around it."""
        count = max(1, len(self.steps))
        most = max(_LEAST_VALUES, min(_MOST_VALUES, _RUN_VALUES // count))
        limit = max(_LEAST, min(MOST_TEXT, _VALUES_BUDGET // count))
        pairs = zip(self.trajectory.steps, self.steps, strict=True)
        return tuple(step_values(step, view.role, most=most, limit=limit) for step, view in pairs)

    @cached_property
    def given_values(self) -> tuple[Occurrence, ...]:
        """The values in the task."""
        return tuple(islice(occurrences_in(self.trajectory.task), _MOST_VALUES))

    @cached_property
    def sightings(self) -> Sightings:
        """Which values the run has with what around them."""
        found = Sightings()
        found.add(self.given_values)
        for values in self.values:
            found.add((*values.own, *values.outside))
        return found

    @cached_property
    def own_places(self) -> Mapping[tuple[str, str], Sequence[tuple[int, Occurrence]]]:
        """For each kind and form of a value, where the team has it: the step, and what is around it."""
        found: dict[tuple[str, str], list[tuple[int, Occurrence]]] = {}
        for index in self.acts:
            for one in self.values[index].own:
                found.setdefault((one.kind, one.form), []).append((index, one))
        return found

    @cached_property
    def act_counts(self) -> Counter[Act]:
        """How often the team did each kind of act."""
        return Counter(self.steps[index].act for index in self.acts)

    @cached_property
    def claim_counts(self) -> Counter[Claim]:
        """In how many of its steps the team makes each claim."""
        return Counter(claim for index in self.acts for claim in self.steps[index].made)

    @cached_property
    def known(self) -> frozenset[Claim]:
        """Every claim of the run, said or received, with the parts of codes."""
        everything = set(self.given)
        for step in self.steps:
            everything.update(step.made, step.received)
        return frozenset(parts_of(everything))

    @cached_property
    def known_before(self) -> tuple[frozenset[Claim], ...]:
        """For each step, every claim that the run had seen before it."""
        seen, before = set(parts_of(self.given)), []
        for step in self.steps:
            before.append(frozenset(seen))
            seen |= parts_of([*step.made, *step.received])
        return tuple(before)


def view_of(trajectory: Trajectory) -> RunView:
    """Read a trajectory for comparison; its labels, outcome and reference are not looked at."""
    limit = max(_LEAST, min(_MOST, _RUN_BUDGET // max(1, len(trajectory.steps))))
    roles = roles_of(trajectory)
    task = read_text(_clip(trajectory.task, _TASK_LIMIT))
    return RunView(
        trajectory=trajectory,
        steps=tuple(_step_view(step, role, limit) for step, role in zip(trajectory.steps, roles, strict=True)),
        task_words=task.words,
        given=frozenset(task.claims),
    )


def _step_view(step: Step, role: Role, limit: int) -> StepView:
    own, outside = list(_own_texts(step)), list(_outside_texts(step))
    share = max(_LEAST_OF_TEXT, limit // max(1, len(own) + len(outside)))
    is_own = role is Role.AGENT
    said = read_text("\n".join(_clip(text, share) for text in own), sentences=is_own)
    made, received = (said.claims, {}) if is_own else ({}, said.claims)
    terms = said.words
    for call in step.tool_calls:
        made.update(argument_claims(call.name, call.arguments))
    if outside:
        heard = read_text("\n".join(_clip(text, share) for text in outside))
        received.update(heard.claims)
        terms = {word: terms.get(word, 0) + heard.words.get(word, 0) for word in (*terms, *heard.words)}
    return StepView(step.index, _act_of(step), role, terms, made, received)


def _act_of(step: Step) -> Act:
    if step.tool_calls:
        return Act(fold(step.agent), StepKind.TOOL_CALL, "+".join(sorted({call.name for call in step.tool_calls})))
    return Act(fold(step.agent), step.kind, fold(step.recipient or ""))


def _own_texts(step: Step) -> Iterator[str]:
    if step.content:
        yield step.content
    for call in step.tool_calls:
        values = [surface for _, surface in argument_claims(call.name, call.arguments)]
        if values:
            yield " \n".join(values)


def _outside_texts(step: Step) -> Iterator[str]:
    if step.error:
        yield step.error
    for call in step.tool_calls:
        if call.result:
            yield call.result
        if call.error:
            yield call.error


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]} {text[-(limit // 2) :]}"


def value_claims(step: StepView) -> Iterator[tuple[Claim, str]]:
    """What a step brings forward, sentences left aside: they differ from run to run without meaning anything."""
    return ((claim, words) for claim, words in step.made.items() if claim.kind is not ClaimKind.SENTENCE)
