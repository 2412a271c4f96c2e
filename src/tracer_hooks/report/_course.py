"""Course of a run: which steps stand side by side, which repeat, and where each stands on the map of agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from math import ceil
from typing import Final, NamedTuple

from tracer_hooks._text import counted
from tracer_hooks.report._wording import KINDS, View, one_line
from tracer_hooks.schema import Step, StepKind

_TAKES_OVER_WITHIN: Final = 3  # steps; a supervisor may announce the recipient first
_LOOKS_AHEAD: Final = 30  # steps among which one is looked for that a step overlaps
_AT_LEAST: Final = 0.1
"""Share of the shorter step from which two count as side by side: clocks of different threads differ a little."""


Stretch = list[list[Step]]
"""Branches that went on at the same time, each of steps that follow each other; often it is one branch."""
ROLES: Final = {
    "decisive": "decisive error step",
    "likely": "probably here",
    "start": "place to start",
    "found": "finding",
    "way": "passed it on",
}
"""What a step is to the diagnosis, with the words for it; none is surer than the diagnosis."""


def stretches(steps: Sequence[Step]) -> list[Stretch]:
    """The steps as they followed each other, in stretches; those whose times overlap become branches of one."""
    found: list[Stretch] = []
    for together in _clusters(steps):
        branches = _branches(together)
        if len(branches) == 1 and found and len(found[-1]) == 1:
            found[-1][0].extend(branches[0])
        else:
            found.append(branches)
    return found


def _clusters(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Groups of neighbours: all up to the last one that overlaps another one of the group in time."""
    start = 0
    while start < len(steps):
        at, end = start, start
        while at <= end:
            ahead = range(end + 1, min(len(steps), at + _LOOKS_AHEAD))
            end = max((place for place in ahead if _are_side_by_side(steps[at], steps[place])), default=end)
            at += 1
        yield list(steps[start : end + 1])
        start = end + 1


def _are_side_by_side(one: Step, other: Step) -> bool:
    if one.started_at is None or one.ended_at is None or other.started_at is None or other.ended_at is None:
        return False
    overlap = min(one.ended_at, other.ended_at) - max(one.started_at, other.started_at)
    shorter = min(one.ended_at - one.started_at, other.ended_at - other.started_at)
    if overlap <= _AT_LEAST * shorter or not overlap:
        return False
    return not _contains(one, other) and not _contains(other, one)


def _contains(outer: Step, inner: Step) -> bool:
    """Tell whether a step is at work inside another one: as an agent that its tool call asks, or as its own call."""
    if None in (outer.started_at, outer.ended_at, inner.started_at, inner.ended_at):
        return False
    is_within = outer.started_at <= inner.started_at and inner.ended_at <= outer.ended_at  # type: ignore[operator]
    if outer.agent == inner.agent:
        return is_within and inner.kind is StepKind.TOOL_CALL
    if not outer.tool_calls:
        return False
    is_asked = not inner.inputs or any(each.source == outer.agent for each in inner.inputs)
    return is_within and is_asked


def _branches(together: Sequence[Step]) -> Stretch:
    branches: Stretch = []
    for step in together:
        free = [each for each in branches if not any(_are_side_by_side(other, step) for other in each)]
        home = next((each for each in free if each[-1].agent == step.agent), None)
        if home is None and len(free) == len(branches) > 0:
            home = free[0]  # it overlaps nothing so far
        if home is None:
            branches.append([step])
        else:
            home.append(step)
    return branches


# --- folds: what repeats, and what is on demand ---------------------------------------------------------------------

_LONGEST_ROUND = 4
_LEAST_REPEATS = 4
_SHORT = 24
"""Rows that are all shown; of a longer course, those that tell something and their neighbours."""
_LEAST_QUIET = 6
_FIRST, _LAST = 4, 2
_MOST_IN_FOLD = 50


class Fold(NamedTuple):
    """Steps that stand folded under a title."""

    title: str
    steps: tuple[Step, ...]


def rows_of(steps: Sequence[Step], telling: Iterable[int]) -> list[Step | Fold]:
    """``steps`` in rows: repetitions are folded, of a long course also what tells nothing."""
    told = frozenset(telling)
    rows = _without_repeats(steps, told)
    return rows if len(rows) <= _SHORT else list(_without_quiet(rows, told))


def _without_repeats(steps: Sequence[Step], told: frozenset[int]) -> list[Step | Fold]:
    rows: list[Step | Fold] = []
    signs = [_sign(step, told) for step in steps]
    at = 0
    while at < len(steps):
        size, repeats = _repeated(signs, at)
        rows += steps[at : at + size]
        if repeats > 1:
            rest = tuple(steps[at + size : at + size * repeats])
            rows.append(Fold(_said_again(steps[at : at + size], rest), rest))
        at += size * repeats
    return rows


def _sign(step: Step, told: frozenset[int]) -> tuple[object, ...]:
    """Equal for steps that are the same act: the same tools called, or the same words said."""
    if step.index in told:
        return (step.index,)
    calls = tuple(call.name for call in step.tool_calls)
    words = "" if calls else " ".join((step.content or step.error or "").split())
    return (step.agent, step.kind, calls, words)


def _repeated(signs: Sequence[tuple[object, ...]], at: int) -> tuple[int, int]:
    """Length of a round that begins here, and how often it comes; ``(1, 1)`` where nothing repeats."""
    for size in range(1, _LONGEST_ROUND + 1):
        round_ = signs[at : at + size]
        repeats = 1
        while signs[at + size * repeats : at + size * (repeats + 1)] == round_:
            repeats += 1
        if repeats >= _LEAST_REPEATS:
            return size, repeats
    return 1, 1


def _said_again(first: Sequence[Step], rest: Sequence[Step]) -> str:
    count = len(rest) // len(first)
    names = dict.fromkeys(call.name for step in first for call in step.tool_calls)
    failed = sum(map(has_failed, rest))
    where = _span(rest) + (f", {failed} failed" if failed else "")
    if len(first) == 1:
        calls = f" calls {_listed(names)}" if names else " says the same words"
        return f"{count} more like this: {one_line(first[0].agent, 40)}{calls} ({where})"
    agents = _listed(dict.fromkeys(step.agent for step in first))
    return f"{count} more rounds like this: {agents}{f', calls of {_listed(names)}' if names else ''} ({where})"


def _without_quiet(rows: Sequence[Step | Fold], told: frozenset[int]) -> Iterator[Step | Fold]:
    """Fold what stands away from the beginning, the end and the steps that tell something."""
    near = {place for index in told for place in (index - 1, index, index + 1)}

    def is_shown(place: int, row: Step | Fold) -> bool:
        is_edge = place < _FIRST or place >= len(rows) - _LAST
        return is_edge or isinstance(row, Fold) or row.index in near

    marked = [(is_shown(place, row), row) for place, row in enumerate(rows)]
    for shown, group in groupby(marked, key=lambda each: each[0]):
        some = [row for _, row in group]
        if shown or len(some) < _LEAST_QUIET:
            yield from some
            continue
        steps = [row for row in some if isinstance(row, Step)]
        size = ceil(len(steps) / ceil(len(steps) / _MOST_IN_FOLD))
        for start in range(0, len(steps), size):
            part = tuple(steps[start : start + size])
            agents = dict.fromkeys(step.agent for step in part)
            yield Fold(f"{len(part)} more steps: {_listed(agents)} ({_span(part)})", part)


def _listed(names: Iterable[str]) -> str:
    shown = [one_line(name, 40) for name in names]
    return ", ".join(shown[:4]) + (f" and {counted(len(shown) - 4, 'other')}" if len(shown) > 4 else "")


def _span(steps: Sequence[Step]) -> str:
    return f"steps {steps[0].index} to {steps[-1].index}" if len(steps) > 1 else f"step {steps[0].index}"


# --- the map: agents as lanes, time to the right -------------------------------------------------------------------

LANE: Final = 34
_TOP: Final = 6
_BOTTOM: Final = 22
_MOST_LANES: Final = 12
_NUMBERED: Final = 10
"""Columns up to which every step has its number on the map."""
_DOTTED: Final = 60
"""Columns up to which every step is a dot; of a longer run, a tick."""
_TOO_NEAR: Final = 3.4  # percent of the width: two numbers would stand on each other


def lane_map(
    steps: Sequence[Step],
    members: Sequence[str],
    roles: Mapping[int, str],
    way: Sequence[int],
    places: Mapping[str, str],
) -> View:
    """The map of ``steps`` for the template: paths in columns and pixels, stretched to the width; ``x`` in percent.

    Args:
        steps: Those that the page shows.
        members: All agents, in the order of their lanes.
        roles: Steps that tell something, with what they are.
        way: Steps that a value took on its way to the answer.
        places: File and line by ``"agent NAME"``.
    """
    column = _columns(steps)
    count = max(column.values(), default=0) + 1
    lanes, lane_of = _lanes(steps, members, set(roles), places)
    x = {step.index: round((column[step.index] + 0.5) * 100 / count, 2) for step in steps}
    y = {step.index: _TOP + LANE * lane_of[step.agent] + LANE // 2 for step in steps}
    pinned = [step for step in steps if step.index in roles or count <= _NUMBERED]
    plain = [step for step in steps if step.index not in roles and count > _NUMBERED]
    at = {step.index: (column[step.index], y[step.index]) for step in steps}
    stops = [at[index] for index in way if index in at]
    is_dotted = count <= _DOTTED
    shown_roles = {roles[step.index] for step in steps if step.index in roles}
    return dict(
        columns=count,
        height=_TOP + LANE * len(lanes) + _BOTTOM,
        lanes=lanes,
        dots=[(x[each.index], y[each.index], has_failed(each)) for each in plain if is_dotted],
        ticks=_ticks(at[each.index] for each in plain if not is_dotted and not has_failed(each)),
        failed_ticks=_ticks(at[each.index] for each in plain if not is_dotted and has_failed(each)),
        moves="".join(
            f"M{_middle(at[before.index])}L{_middle(at[after.index])}"
            for before, after in _moves(steps)
            if count <= 2 * _DOTTED
        ),
        handoffs=[(x[a.index], y[a.index], x[b.index], y[b.index]) for a, b in _handoffs(steps) if is_dotted],
        way=f"M{'L'.join(map(_middle, stops))}L{count} {stops[-1][1]}" if stops else "",
        way_end=stops[-1][1] if stops else 0,
        legend=[
            *((role, words) for role, words in ROLES.items() if role in shown_roles),
            *([("failed", "failed")] if any(map(has_failed, steps)) else []),
        ],
        pins=list(_pins(pinned, x, y, roles)),
        numbers=_numbers(steps, column, x, count),
        idle=[one_line(name, 80) for name in members if name not in lane_of],
    )


def _columns(steps: Sequence[Step]) -> dict[int, int]:
    """Columns of the steps: those that went on side by side stand above each other."""
    column: dict[int, int] = {}
    start = 0
    for stretch in stretches(steps):
        ends: dict[str, int] = {}
        for branch in stretch:
            free = max((ends.get(step.agent, start) for step in branch), default=start)
            for offset, step in enumerate(branch):
                column[step.index] = free + offset
                ends[step.agent] = free + offset + 1
        start = max(ends.values(), default=start)
    return column


def _lanes(
    steps: Sequence[Step], members: Sequence[str], telling: set[int], places: Mapping[str, str]
) -> tuple[list[View], dict[str, int]]:
    counts = Counter(step.agent for step in steps)
    acted = [name for name in members if name in counts]
    first = {step.agent for step in steps if step.index in telling}
    ranked = sorted(acted, key=lambda name: (name not in first, -counts[name]))
    kept = ranked if len(acted) <= _MOST_LANES else ranked[: _MOST_LANES - 1]
    own = [name for name in acted if name in kept]
    lane_of = {name: own.index(name) if name in own else len(own) for name in acted}
    # A lane's head has room for file and line, and none for the folders; the steps have them.
    files = {name: places.get(f"agent {name}", "").replace("\\", "/").rpartition("/")[2] for name in own}
    rows = [(one_line(name, 80), counts[name], files[name]) for name in own]
    others = [counts[name] for name in acted if name not in own]
    rows += [(f"{len(others)} others", sum(others), "")] if others else []
    lanes: list[View] = [
        dict(agent=agent, steps=number, place=place, y=_TOP + LANE * at + LANE // 2)
        for at, (agent, number, place) in enumerate(rows)
    ]
    return lanes, lane_of


def has_failed(step: Step) -> bool:
    """Tell whether the step or a tool call of it failed."""
    return bool(step.failed_tools or step.error)


def _middle(place: tuple[int, int]) -> str:
    return f"{place[0] + 0.5:g} {place[1]}"


def _ticks(places: Iterable[tuple[int, int]]) -> str:
    return "".join(f"M{column} {row - 6}h1v12h-1z" for column, row in places)


def _moves(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """Where another agent goes on; a parallel stretch is entered by each branch, and left by each."""
    found = stretches(steps)
    within = (pair for stretch in found for branch in stretch for pair in pairwise(branch))
    between = ((ended[-1], begun[0]) for before, after in pairwise(found) for ended in before for begun in after)
    return (pair for pair in chain(within, between) if pair[0].agent != pair[1].agent)


def _handoffs(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """From an explicit hand-off to where the recipient takes over."""
    for position, step in enumerate(steps):
        soon = steps[position + 1 : position + 1 + _TAKES_OVER_WITHIN]
        taker = next((each for each in soon if each.agent == step.recipient != step.agent), None)
        if taker is not None:
            yield step, taker


def _pins(
    pinned: Sequence[Step], x: Mapping[int, float], y: Mapping[int, int], roles: Mapping[int, str]
) -> Iterator[View]:
    """Steps that lead to what they are; those with a number where there is room."""
    last: dict[int, float] = {}
    for step in pinned:
        role, row = roles.get(step.index, ""), y[step.index]
        is_numbered = x[step.index] - last.get(row, -100.0) >= _TOO_NEAR
        if is_numbered:
            last[row] = x[step.index]
        said = [f"Step {step.index}", one_line(step.agent, 60), KINDS[step.kind], ROLES.get(role, "")]
        label = ", ".join(filter(None, [*said, "failed" if has_failed(step) else ""]))
        yield dict(step=step, x=x[step.index], y=row, role=role, label=label, is_numbered=is_numbered)


def _numbers(
    steps: Sequence[Step], column: Mapping[int, int], x: Mapping[int, float], count: int
) -> list[tuple[float, int]]:
    """Step numbers under the map, few enough to be read on a phone."""
    if count <= _NUMBERED:
        return []
    every = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if count <= size * 6)
    first: dict[int, int] = {}
    for step in steps:
        first.setdefault(column[step.index], step.index)
    return [(x[index], index) for place, index in first.items() if place % every == 0]
