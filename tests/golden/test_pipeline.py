"""One scenario, every framework, one trajectory: who did what is told in the same words wherever the team runs.

``TRACER_HOOKS_UPDATE_GOLDEN=1`` writes the snapshots anew, from plain Python; the other frameworks must then agree.
"""

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.frameworks import get_adapter
from tracer_hooks.schema import Step, Trajectory
from tracer_hooks.testing import RecordingHost, ScriptedLLM, observed, span_tree
from tracer_hooks_testing import TASK, ContractTeams, Scenario

HERE = Path(__file__).parent
TRAJECTORY = HERE / "pipeline.json"
TREE = HERE / "pipeline_spans.txt"
FRAMEWORKS = ("plain", "autogen", "crewai", "langgraph")


def load_teams(name: str) -> ContractTeams:
    teams: ContractTeams = importlib.import_module(f"..contract.teams.{name}_teams", __package__).Teams()
    return teams


def normalised(trajectory: Trajectory) -> dict[str, Any]:
    """What must be the same everywhere: no ids, no times, no framework's name, and no wording of the prompts."""
    return {
        "team": trajectory.team,
        "task": trajectory.task,
        "agents": [{"name": spec.name, "tools": list(spec.tools)} for spec in trajectory.agents],
        "steps": [normalised_step(step) for step in trajectory.steps],
        "outcome": trajectory.outcome.value,
        "final_output": trajectory.final_output,
    }


def normalised_step(step: Step) -> dict[str, Any]:
    return {
        "index": step.index,
        "agent": step.agent,
        "kind": step.kind.value,
        "content": step.content,
        "tool_calls": [
            {"name": call.name, "arguments": call.arguments, "result": call.result, "error": call.error}
            for call in step.tool_calls
        ],
        "recipient": step.recipient,
        # CrewAI puts what an agent receives into one text with its own words around it; which steps it comes from is
        # what all of them say.
        "received": sorted({item.step for item in step.inputs if item.step is not None}),
        "attempts": step.attempts,
        "error": step.error,
    }


@pytest.fixture(scope="module", params=FRAMEWORKS)
def observer(request: pytest.FixtureRequest) -> RecordingHost:
    teams = load_teams(request.param)
    with ScriptedLLM(rules=teams.script(Scenario.PIPELINE)) as llm:
        team = teams.pipeline(llm)
        with observed(team, adapter=get_adapter(teams.adapter)) as observer:
            teams.run(team, TASK)
        assert llm.unmatched == []
    return observer


def expected(path: Path, actual: str, observer: RecordingHost) -> str:
    if os.environ.get("TRACER_HOOKS_UPDATE_GOLDEN") == "1" and observer.trajectory.framework == "python":
        path.write_text(actual, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def test_the_trajectory_is_the_same_in_every_framework(observer: RecordingHost) -> None:
    actual = json.dumps(normalised(observer.trajectory), indent=2, ensure_ascii=False) + "\n"
    assert json.loads(actual) == json.loads(expected(TRAJECTORY, actual, observer))
    agents = {spec.name: str(spec.instructions) for spec in observer.trajectory.agents}
    for name, words in {"researcher": "lookup tool", "writer": "one sentence", "reviewer": "Approve"}.items():
        assert words in agents[name]


def test_the_span_tree_is_the_same_in_every_framework(observer: RecordingHost) -> None:
    actual = span_tree(observer.spans) + "\n"
    assert actual == expected(TREE, actual, observer)
