"""Improving prompts on every framework: a factory that takes prompts, and a team object that knows nothing of them."""

import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.improvement import AcceptanceRule
from tracer_hooks.store import PromptStore
from tracer_hooks.testing import ScriptedLLM, ScriptedRequest, When
from tracer_hooks_testing import PROMPTS, ContractTeams

pytest.importorskip("gepa")
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # clients that live as long as their team
    pytest.mark.usefixtures("clients_are_collected"),
    pytest.mark.slow,
]

FRAMEWORKS = {"autogen": "autogen_agentchat", "crewai": "crewai", "langgraph": "langgraph", "plain": "tracer_hooks"}
TASKS = [f"What is {10 * i + 17} plus {10 * i + 26}?" for i in range(1, 17)]
"""In each of them something is carried."""
NEW = PROMPTS["writer"].replace(". Put", ". Do not forget the carry. Put")


def parts(request: ScriptedRequest) -> tuple[int, int]:
    found = re.search(r"What is (\d+) plus (\d+)", request.text)
    return int(found[1]), int(found[2])


def writes(request: ScriptedRequest) -> str:
    a, b = parts(request)
    return f"It makes {a + b if 'carry' in request.text else a + b - 10}."


def reviews(request: ScriptedRequest) -> str:
    return f"Approved: it makes {re.findall(r'It makes ([0-9]+)', request.text)[-1]}."


def is_right(result: tracer_hooks.RunResult, task: str) -> tracer_hooks.Verdict:
    a, b = map(int, re.findall(r"\d+", task))
    said = re.findall(r"makes (\d+)", result.text)
    return tracer_hooks.Verdict(passed=said[-1:] == [str(a + b)], reason="the sum is wrong")


def chat(messages: Any) -> str:
    return "ADD: Do not forget the carry."


@pytest.fixture
def llm() -> Iterator[ScriptedLLM]:
    rules = [
        When(agent="researcher").then(lambda request: "The parts are {} and {}.".format(*parts(request))),
        When(agent="writer").then(writes),
        When(agent="reviewer").then(reviews),
    ]
    with ScriptedLLM(rules=rules) as scripted:
        yield scripted
        assert scripted.unmatched == []


def teams_of(name: str) -> ContractTeams:
    if importlib.util.find_spec(FRAMEWORKS[name]) is None:
        pytest.skip(f"{name} is not installed")
    module = importlib.import_module(f".teams.{name}_teams", __package__)
    teams: ContractTeams = module.Teams()
    return teams


def improve(target: Any, home: Path) -> tracer_hooks.Improvement:
    return tracer_hooks.improve(
        target,
        TASKS,
        chat=chat,
        check=is_right,
        folder=home / "job",
        store=home / "runs.sqlite",
        options=tracer_hooks.ImproveOptions(
            metric_calls=36, minibatch=3, workers=2, agents=("writer",), rule=AcceptanceRule(most_pairs=16)
        ),
    )


@pytest.mark.parametrize("name", list(FRAMEWORKS))
@pytest.mark.parametrize("is_factory", [True, False], ids=["factory", "team"])
def test_prompts_are_improved(name: str, is_factory: bool, llm: ScriptedLLM, tmp_path: Path) -> None:
    teams = teams_of(name)

    def build_team(prompts: Any = None) -> Any:
        return teams.pipeline(llm, tools=(), prompts=prompts)

    team = None if is_factory else build_team()
    result = improve(build_team if is_factory else team, tmp_path)
    assert result.outcome == "accepted", result.reason
    assert result.texts == {"writer": NEW}
    assert {agent: result.old[agent] for agent in ("researcher", "writer", "reviewer")} == {
        agent: PROMPTS[agent] for agent in ("researcher", "writer", "reviewer")
    }
    assert (result.unused.before.rate, result.unused.after.rate) == (0.0, 1.0)
    asked = {request.system for request in llm.requests if request.is_from("researcher")}
    assert not any("carry" in one for one in asked), "nobody else is told it"
    with PromptStore(tmp_path / "runs.sqlite") as store:
        version = store.current(result.team)
    assert version.own == {"writer": PROMPTS["writer"]}

    # The version is what a hooked team uses from its first call on, as in a new process.
    settings: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "prompts": "accepted", "check": is_right}
    hooked = tracer_hooks.hook(build_team(), **settings)
    try:
        teams.run(hooked, TASKS[0])
        assert ["carry" in one.text for one in llm.requests[-3:] if one.is_from("writer")] == [True]
    finally:
        tracer_hooks.unhook(hooked)
