"""How the blame of several failures is shared among the agents whose instructions can be rewritten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from tracer_hooks.improvement._prompt_search import BlameSelector, blame_mass
from tracer_hooks.improvement._prompt_writer import JudgedRun
from tracer_hooks.schema import Attribution, Candidate

from ._runs import AGENTS, judged, task


def failed(*candidates: tuple[str, float], agent: str | None = None, abstained: bool = False) -> JudgedRun:
    found = Attribution(
        run_id="r",
        agent=agent,
        abstained=abstained,
        abstained_reason="no sign of failure" if abstained else None,
        candidates=tuple(Candidate(agent=name, step=0, score=score) for name, score in candidates),
    )
    return judged(task(1)).model_copy(update={"attribution": found})


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([failed(("planner", 0.6), ("solver", 0.2))], {"planner": 0.75, "solver": 0.25}),
        ([failed(("planner", 0.5), ("critic", 0.5))], {"planner": 0.5, "solver": 0.0}),  # not to be rewritten
        ([failed(agent="solver")], {"planner": 0.0, "solver": 1.0}),  # without candidates, whom it names
        ([failed()], {"planner": 0.0, "solver": 0.0}),
        ([failed(agent="solver", abstained=True), failed(agent="planner")], {"planner": 1.0, "solver": 0.0}),
        ([judged(task(1), passed=True), failed(agent="planner")], {"planner": 1.0, "solver": 0.0}),
        ([failed(agent="planner"), failed(agent="solver")], {"planner": 0.5, "solver": 0.5}),
        ([], {"planner": 0.0, "solver": 0.0}),
    ],
)
def test_each_failure_counts_once(runs: list[JudgedRun], expected: Mapping[str, float]) -> None:
    assert blame_mass(runs, AGENTS) == pytest.approx(expected)


def test_agents_are_drawn_by_their_blame_and_evenly_where_there_is_none() -> None:
    def drawn(runs: list[JudgedRun]) -> Counter[str]:
        selector = BlameSelector(lambda _: runs, seed=1)
        return Counter(selector(None, [], [], 0, dict.fromkeys(AGENTS, ""))[0] for _ in range(400))

    assert 60 <= drawn([failed(("planner", 0.2), ("solver", 0.8))])["planner"] <= 100
    assert 170 <= drawn([])["planner"] <= 230
