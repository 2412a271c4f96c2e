"""Where the marks, lanes and arrows of the timeline stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tracer_hooks.report._candidates import ON_PAGE, visible
from tracer_hooks.report._wording import one_line
from tracer_hooks.schema import Attribution, Step, Trajectory

LANE_HEIGHT = 44
TOP = 40  # room for the decisive step's flag
BOTTOM = 30
_PIXELS_PER_STEP = 15
_TAKES_OVER_WITHIN = 3  # steps; a supervisor may announce the recipient first
COLOURS = 8
"""How many colours the style sheet has for agents; they come round again after that."""


@dataclass(frozen=True, kw_only=True)
class Mark:
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
class Move:
    """A line between steps of two agents."""

    x1: float
    y1: int
    x2: float
    y2: int
    handoff: bool
    """Whether the first step names the second one's agent as its recipient."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One agent's row."""

    agent: str
    y: int
    colour: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Everything that the template draws."""

    top: int
    height: int
    min_width: int
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    moves: tuple[Move, ...]
    ticks: tuple[tuple[float, int], ...]
    focus: Mark | None
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
        """What the flag of the named step says."""
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
    places = {step.index: _place(position, len(steps)) for position, step in enumerate(steps)}
    marks = tuple(
        Mark(
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
            Lane(
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


def _place(position: int, count: int) -> float:
    """Percent of the width; half a step stays free at both ends."""
    return round((position + 0.5) * 100 / count, 3)


def _roles(attribution: Attribution | None) -> dict[int, str]:
    if attribution is None:
        return {}
    roles = {candidate.step: "candidate" for candidate in visible(attribution)[:ON_PAGE]}
    roles.update({evidence.step: "spread" for evidence in attribution.spread})
    if attribution.step is not None and attribution.certainty is not None:
        roles[attribution.step] = "start" if attribution.certainty == "weak" else "decisive"
    return roles


_FOCUS = {"decisive", "start"}
_RINGS = {
    "decisive": "decisive error step",
    "start": "place to start",
    "spread": "took it over",
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


def _moves(steps: Sequence[Step], places: dict[int, float], rows: dict[str, int]) -> Iterator[Move]:
    """A line wherever another agent goes on; from an explicit hand-off to where the recipient takes over."""

    def move(before: Step, after: Step, *, handoff: bool) -> Move:
        x1, x2 = places[before.index], places[after.index]
        return Move(x1=x1, y1=rows[before.agent], x2=x2, y2=rows[after.agent], handoff=handoff)

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
