"""The course of a run: branches side by side, repetitions folded, agents as lanes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tracer_hooks.report import ReportAttempt, ReportRun, render_html
from tracer_hooks.report._course import Fold, lane_map, rows_of, stretches
from tracer_hooks.schema import Step, StepInput, StepKind, ToolCall, Trajectory

from ._pages import NOON, diagnosis, page_of


def step(index: int, agent: str, start: float | None = None, end: float = 0, **fields: Any) -> Step:
    times = {"started_at": start, "ended_at": end} if start is not None else {}
    moments = {name: NOON + timedelta(seconds=seconds) for name, seconds in times.items()}
    return Step(index=index, agent=agent, **{"content": f"words {index}", **moments, **fields})


FAN_OUT = [
    step(0, "planner", 0, 2),
    step(1, "lisbon", 2, 6, tool_calls=(ToolCall(name="price"),), inputs=(StepInput(source="planner"),)),
    step(2, "porto", 2.1, 5, inputs=(StepInput(source="planner"),)),
    step(3, "lisbon", 6, 8),
    step(4, "faro", 2.2, 9),
    step(5, "writer", 9, 10),
]

AGENTS = ("planner", "lisbon", "porto", "faro", "writer")


def shape(steps: list[Step]) -> list[list[list[int]]]:
    return [[[one.index for one in branch] for branch in stretch] for stretch in stretches(steps)]


def test_steps_whose_times_overlap_are_branches_and_each_agent_keeps_to_its_own() -> None:
    assert shape(FAN_OUT) == [[[0]], [[1, 3], [2], [4]], [[5]]]


@pytest.mark.parametrize(
    "steps",
    [
        [step(0, "a"), step(1, "b")],  # no times
        [step(0, "a", 0, 2), step(1, "b", 1.95, 4)],  # clocks that differ a little
        [step(0, "a", 1, 1), step(1, "b", 1, 1)],  # times without a length
        # an agent at work inside the tool call that asked it
        [step(0, "boss", 0, 9, tool_calls=(ToolCall(name="ask"),)), step(1, "b", 1, 8)],
        # a tool that an agent calls within its turn
        [step(0, "a", 1, 2, kind=StepKind.TOOL_CALL), step(1, "a", 0, 3)],
    ],
)
def test_steps_that_follow_each_other_are_one_stretch(steps: list[Step]) -> None:
    assert shape(steps) == [[[0, 1]]]


def test_the_page_shows_branches_side_by_side_and_the_map_puts_them_above_each_other() -> None:
    page = page_of(ReportAttempt(number=1, trajectory=Trajectory(run_id="r", steps=tuple(FAN_OUT))))
    together = page.one("div", "parallel")
    assert "3 branches whose times overlap" in together.text
    assert [branch.one("p", "label").text for branch in together.all("div", "branch")] == ["lisbon", "porto", "faro"]
    places = {pin["step"].index: pin["x"] for pin in lane_map(FAN_OUT, AGENTS, {}, (), {})["pins"]}
    assert places[1] == places[2] == places[4] < places[3] < places[5]


def calls(index: int, agent: str = "scout", **fields: Any) -> Step:
    return step(index, agent, tool_calls=(ToolCall(name="search", arguments={"q": index}, **fields),))


def titles(steps: list[Step], telling: tuple[int, ...] = ()) -> list[str | int]:
    return [row.title if isinstance(row, Fold) else row.index for row in rows_of(steps, telling)]


def test_repeated_calls_rounds_and_words_are_folded_with_what_they_have_in_common() -> None:
    searches = [calls(n, error="Timeout" if n == 3 else None) for n in range(6)]
    assert titles(searches) == [0, "5 more like this: scout calls search (steps 1 to 5, 1 failed)"]
    rounds = [calls(n, "scout") if n % 2 else step(n, "boss", content="Go on.") for n in range(10)]
    assert titles(rounds) == [0, 1, "4 more rounds like this: boss, scout, calls of search (steps 2 to 9)"]
    said = [step(n, "a", content="Not yet.") for n in range(5)]
    assert titles(said) == [0, "4 more like this: a says the same words (steps 1 to 4)"]


def test_a_step_that_tells_something_is_never_folded_and_other_words_are_no_repetition() -> None:
    assert titles([calls(n) for n in range(12)], telling=(6,))[:3] == [
        0, "5 more like this: scout calls search (steps 1 to 5)", 6,
    ]  # fmt: skip
    assert titles([step(n, "a") for n in range(12)]) == list(range(12))


def test_a_long_course_shows_its_ends_and_what_matters_and_the_rest_on_demand() -> None:
    rows = titles([step(n, f"a{n % 6}") for n in range(130)], telling=(100,))
    assert rows[:5] == [0, 1, 2, 3, "48 more steps: a4, a5, a0, a1 and 2 others (steps 4 to 51)"]
    assert rows[6:9] == [99, 100, 101]
    assert rows[-2:] == [128, 129]


def test_a_page_of_500_steps_takes_150_kilobytes_beside_the_words_of_the_run() -> None:
    steps = tuple(step(n, "abcde"[n % 5], n, n + 1, content="", recipient="a" if n % 7 else None) for n in range(500))
    run = Trajectory(run_id="r", steps=steps)
    blamed = diagnosis(agent="a", step=300, findings=())
    page = render_html(ReportRun(attempts=[ReportAttempt(number=1, trajectory=run, attribution=blamed)]))
    assert len(page.encode()) <= 150_000
