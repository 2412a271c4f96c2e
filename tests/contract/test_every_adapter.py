"""The contract kit over every installed adapter. One alone: ``pytest tests/contract -k Langgraph``."""

import contextlib
import importlib
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.frameworks import Adapter, find_adapters
from tracer_hooks.frameworks._discovery import GROUP
from tracer_hooks.testing import Drop, ErrorReply, Rule, ScriptedLLM, ToolCallReply, When
from tracer_hooks_testing import AdapterContract, ContractTeams
from tracer_hooks_testing._teams import calls_then_says

OURS = {"autogen", "crewai", "langgraph", "plain"}
NAMES = sorted({point.name for point in entry_points(group=GROUP)})
TEAMS = Path(__file__).parent / "teams"


class _TeamsFile:
    """The ``Teams()`` of one framework; its file, and with it the framework, is loaded when a test first asks."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._teams: ContractTeams | None = None

    def __get__(self, instance: object, owner: type) -> ContractTeams:
        if self._teams is None:
            self._teams = _load(self._name)
        return self._teams


def _load(name: str) -> ContractTeams:
    teams: ContractTeams = importlib.import_module(f".teams.{name}_teams", __package__).Teams()
    return teams


def _contract_of(name: str) -> type[AdapterContract]:
    attributes: dict[str, Any] = {"teams": _TeamsFile(name), "__module__": __name__}
    return type(f"Test{name.capitalize()}", (AdapterContract,), attributes)


for _name in NAMES:
    _contract = _contract_of(_name)
    globals()[_contract.__name__] = _contract


@pytest.mark.parametrize("name", sorted(OURS))
def test_each_can_be_loaded(name: str) -> None:
    assert name in NAMES, (
        "install the adapters: pip install -e adapters/autogen -e adapters/crewai -e adapters/langgraph"
    )
    (found,) = [found for found in find_adapters() if found.name == name]
    assert found.problem is None
    assert isinstance(found.adapter, Adapter)
    assert (TEAMS / f"{name}_teams.py").is_file()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # clients that live as long as their team
@pytest.mark.parametrize("broken", ["a closed port", "a dropped connection", "a busy server", "a tool"])
@pytest.mark.parametrize("name", sorted(OURS))
def test_an_outage_is_the_environments_under_a_model_and_the_callers_under_a_tool(name: str, broken: str) -> None:
    teams = _load(name)

    def lookup(query: str) -> str:
        """Look a number up."""
        raise ConnectionRefusedError(111, "Connect call failed")

    rules: dict[str, Sequence[Rule]] = {
        "a dropped connection": [When().then(Drop())],
        "a busy server": [When().then(ErrorReply(503))],
        "a tool": calls_then_says("solo", [ToolCallReply("lookup", {"query": "x"})], "It is not known."),
    }
    with ScriptedLLM(rules=rules.get(broken, ())) as llm:
        team = tracer_hooks.hook(teams.single(llm, tools=[lookup]), check=lambda result, task: False, store="off")
        if broken == "a closed port":
            llm.close()
        with contextlib.suppress(Exception):
            teams.run(team, "What is x?")
    run = tracer_hooks.last_run(team)
    assert run is not None
    run.wait(timeout=30)
    found = run.attribution
    assert found is not None
    assert (found.agent, found.abstained_reason) == (
        ("solo", None) if broken == "a tool" else (None, "environment fault")
    )
