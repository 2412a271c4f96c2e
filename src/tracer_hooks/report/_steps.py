"""Steps of a run on a page: one by one, and on a timeline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final

from tracer_hooks.report._wording import KINDS, Excerpt, View, clean, excerpt, in_seconds, lasted, one_line
from tracer_hooks.schema import Attribution, Candidate, Step, StepInput, ToolCall, Trajectory

ON_PAGE: Final = 8
"""How many a page lists, and marks in its timeline."""
_LEAST: Final = 0.005  # below it a belief reads 0%


def visible_candidates(attribution: Attribution) -> list[Candidate]:
    """The candidates, best first, without those whose belief would read 0%."""
    return [each for each in attribution.candidates if each.score >= _LEAST]


LANE_HEIGHT = 44
TOP = 40  # room for the decisive step's flag
BOTTOM = 30
_PIXELS_PER_STEP = 15
_TAKES_OVER_WITHIN = 3  # steps; a supervisor may announce the recipient first
COLOURS = 8
"""How many colours the style sheet has for agents; they come round again after that."""


@dataclass(frozen=True, kw_only=True)
class TimelineMark:
    """One step in the timeline; ``x`` is in percent of the width, ``y`` in pixels."""

    index: int
    x: float
    y: int
    shape: str
    colour: int
    label: str
    role: str
    """``decisive``, ``start``, ``spread``, ``candidate``, or empty."""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Everything that the template draws."""

    top: int
    height: int
    min_width: int
    lanes: tuple[View, ...]
    marks: tuple[TimelineMark, ...]
    moves: tuple[View, ...]
    ticks: tuple[tuple[float, int], ...]
    focus: TimelineMark | None
    """The step that the diagnosis names: the decisive one, or a place to start."""
    idle: tuple[str, ...]
    """Members of the team that never acted."""
    shapes: tuple[tuple[str, str], ...]
    """The shapes that occur, with what they mean."""
    roles: tuple[tuple[str, str], ...]
    """The rings that occur, with what they mean."""

    @property
    def flag_anchor(self) -> str:
        """Text anchor of the named step's flag, so that it stays inside at both edges."""
        if self.focus is None or 8 <= self.focus.x <= 92:
            return "middle"
        return "start" if self.focus.x < 8 else "end"

    @property
    def flag(self) -> str:
        """Return what the flag of the named step says."""
        if self.focus is None:
            return ""
        what = "decisive error" if self.focus.role == "decisive" else "place to start"
        return f"{what}, step {self.focus.index}"


def colours_of(trajectory: Trajectory) -> dict[str, int]:
    """A colour number for each agent, the same in every attempt of a team with the same members."""
    return {agent: position % COLOURS for position, agent in enumerate(trajectory.agent_names)}


def timeline(trajectory: Trajectory, steps: Sequence[Step], attribution: Attribution | None) -> Timeline:
    """The timeline of ``steps``, which are those steps of the trajectory that the page shows."""
    colours = colours_of(trajectory)
    acted = {step.agent for step in steps}
    agents = [agent for agent in trajectory.agent_names if agent in acted]
    roles = _roles(attribution)
    top = TOP if _FOCUS & set(roles.values()) else TOP // 4
    rows = {agent: top + LANE_HEIGHT * row + LANE_HEIGHT // 2 for row, agent in enumerate(agents)}
    # in percent of the width; half a step stays free at both ends
    places = {step.index: round((position + 0.5) * 100 / len(steps), 3) for position, step in enumerate(steps)}
    marks = tuple(
        TimelineMark(
            index=step.index,
            x=places[step.index],
            y=rows[step.agent],
            shape=_shape(step),
            colour=colours[step.agent],
            label=_label(step, roles.get(step.index, "")),
            role=roles.get(step.index, ""),
        )
        for step in steps
    )
    return Timeline(
        top=top,
        height=top + LANE_HEIGHT * len(agents) + BOTTOM,
        min_width=_PIXELS_PER_STEP * len(steps),
        lanes=tuple(
            dict(
                agent=one_line(agent, 80),
                y=rows[agent],
                colour=colours[agent],
                steps=sum(1 for step in trajectory.steps if step.agent == agent),
            )
            for agent in agents
        ),
        marks=marks,
        moves=tuple(_moves(steps, places, rows)),
        ticks=_ticks(steps, places),
        focus=next((mark for mark in marks if mark.role in _FOCUS), None),
        idle=tuple(one_line(agent, 80) for agent in trajectory.agent_names if agent not in acted),
        shapes=tuple(each for each in _SHAPES.items() if any(mark.shape == each[0] for mark in marks)),
        roles=tuple(each for each in _RINGS.items() if any(mark.role == each[0] for mark in marks)),
    )


def _roles(attribution: Attribution | None) -> dict[int, str]:
    if attribution is None:
        return {}
    roles = {candidate.step: "candidate" for candidate in visible_candidates(attribution)[:ON_PAGE]}
    roles.update({each.step: "spread" for each in attribution.findings if each.step is not None})
    if attribution.step is not None and attribution.certainty is not None:
        roles[attribution.step] = "start" if attribution.certainty == "weak" else "decisive"
    return roles


_FOCUS = {"decisive", "start"}
_RINGS = {
    "decisive": "decisive error step",
    "start": "place to start",
    "spread": "something was found here",
    "candidate": "other candidate",
}
_SHAPES = {
    "message": "message",
    "tool_call": "tool call",
    "failed": "failed tool call",
    "handoff": "hand-off",
    "error": "error",
}


def _shape(step: Step) -> str:
    return "failed" if step.failed_tools else step.kind.value


def _label(step: Step, role: str) -> str:
    what = _SHAPES[_shape(step)] + (f", {_RINGS[role]}" if role else "")
    said = one_line(step.content or step.error or ", ".join(call.name for call in step.tool_calls), 90)
    return f"Step {step.index}, {one_line(step.agent, 60)}, {what}" + (f": {said}" if said else "")


def _moves(steps: Sequence[Step], places: dict[int, float], rows: dict[str, int]) -> Iterator[View]:
    """A line wherever another agent goes on; from an explicit hand-off to where the recipient takes over."""

    def move(before: Step, after: Step, *, handoff: bool) -> View:
        x1, x2 = places[before.index], places[after.index]
        return dict(x1=x1, y1=rows[before.agent], x2=x2, y2=rows[after.agent], handoff=handoff)

    for position, (step, following) in enumerate(pairwise(steps)):
        soon = steps[position + 1 : position + 1 + _TAKES_OVER_WITHIN]
        taker = next((each for each in soon if each.agent == step.recipient != step.agent), None)
        if taker is not None:
            yield move(step, taker, handoff=True)
        if following.agent != step.agent and following is not taker:
            yield move(step, following, handoff=False)


def _ticks(steps: Sequence[Step], places: dict[int, float]) -> tuple[tuple[float, int], ...]:
    every = next(size for size in (1, 5, 10, 20, 50, 100, 10**9) if len(steps) <= size * 24)
    return tuple((places[step.index], step.index) for step in steps if step.index % every == 0)


MOST_STEPS = 400
"""Steps of one attempt that a page shows; of a longer run, those that matter and those around them."""
_NEIGHBOURS = 12
_ONE_LINE = 88


def shown_steps(trajectory: Trajectory, attribution: Attribution | None) -> list[Step]:
    """The steps that the page shows, in order: all of them, or the most telling ones of a very long run."""
    steps = trajectory.steps
    if len(steps) <= MOST_STEPS:
        return list(steps)
    around = [range(centre - _NEIGHBOURS, centre + _NEIGHBOURS + 1) for centre in _telling(attribution)]
    wanted = dict.fromkeys(chain(*around, range(50), range(len(steps) - 50, len(steps)), range(len(steps))))
    inside = [index for index in wanted if 0 <= index < len(steps)]
    return [steps[index] for index in sorted(inside[:MOST_STEPS])]


def texts_of(steps: Iterable[Step]) -> Iterator[str]:
    """Every text of the steps that the page would show, for sharing out its size."""
    for step in steps:
        yield from (step.content, step.error or "")
        yield from (each.text or "" for each in step.inputs if each.step is None)
        for call in step.tool_calls:
            yield from (pretty(call.arguments), call.result or "", call.error or "")


def step_views(
    trajectory: Trajectory, steps: Sequence[Step], attribution: Attribution | None, *, limit: int
) -> list[View]:
    """``steps`` ready for the template; ``limit`` is what each text may take."""
    colours = colours_of(trajectory)
    before = [-1, *(step.index for step in steps)]
    return [
        _view(step, attribution, limit, colour=colours[step.agent], skipped=step.index - previous - 1)
        for previous, step in zip(before, steps, strict=False)
    ]


def pretty(value: object) -> str:
    """Tool arguments as JSON, on one line when they are short; a string stays as it is."""
    if value is None or value == {}:
        return ""
    if isinstance(value, str):
        return value
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= _ONE_LINE else json.dumps(value, indent=2, ensure_ascii=False)


def _view(step: Step, attribution: Attribution | None, limit: int, *, colour: int, skipped: int) -> View:
    quotes = _quotes(attribution, step.index)
    role = _role(attribution, step.index)

    def cut(text: str | None) -> Excerpt | None:
        return excerpt(text, limit=limit, quotes=quotes) if text else None

    return dict(
        index=step.index,
        agent=clean(step.agent),
        colour=colour,
        kind=KINDS[step.kind],
        css="failed" if step.failed_tools else step.kind.value,
        role=role,
        content=cut(step.content),
        error=cut(step.error),
        inputs=tuple(_input(each, limit) for each in step.inputs),
        tools=tuple(_tool(call, limit, quotes) for call in step.tool_calls),
        recipient=clean(step.recipient or ""),
        facts=tuple(_facts(step)),
        skipped=skipped,
        open_inputs=role in ("decisive", "start") and len(step.inputs) <= 4,
    )


def _input(given: StepInput, limit: int) -> View:
    # The output of a step stands in the page already; only what came from outside is written out.
    text = given.text if given.step is None else None
    return dict(
        source=clean(given.source), step=given.step, text=excerpt(text, limit=limit, fold_from=300) if text else None
    )


def _tool(call: ToolCall, limit: int, quotes: Sequence[str]) -> View:
    def cut(text: str | None) -> Excerpt | None:
        return excerpt(text, limit=limit, quotes=quotes, fold_from=500) if text else None

    return dict(
        name=clean(call.name),
        attempts=call.attempts,
        arguments=cut(pretty(call.arguments)),
        result=cut(call.result),
        error=cut(call.error),
    )


def _facts(step: Step) -> Iterator[str]:
    if step.model:
        yield clean(step.model)
    if step.usage is not None:
        yield f"{step.usage.input_tokens:,} in, {step.usage.output_tokens:,} out tokens"
    if spent := in_seconds(lasted(step.started_at, step.ended_at)):
        yield spent
    if step.started_at is not None:
        yield f"{step.started_at:%H:%M:%S} UTC"
    if step.attempts > 1:
        yield f"{step.attempts} model calls"


def _quotes(attribution: Attribution | None, index: int) -> list[str]:
    if attribution is None:
        return []
    quotes = [each.quote for each in attribution.findings if each.step == index]
    quotes += [each.quote for each in attribution.evidence if each.step == index]
    return [quote for quote in quotes if quote]


def _role(attribution: Attribution | None, index: int) -> str:
    if attribution is None:
        return ""
    if attribution.step == index and attribution.certainty is not None:
        return "start" if attribution.certainty == "weak" else "decisive"
    if any(each.step == index for each in attribution.findings):
        return "spread"
    return "evidence" if any(each.step == index for each in attribution.evidence) else ""


def _telling(attribution: Attribution | None) -> Iterator[int]:
    if attribution is not None:
        if attribution.step is not None:
            yield attribution.step
        for group in (attribution.findings, attribution.evidence, attribution.candidates[:10]):
            yield from (each.step for each in group if each.step is not None)
