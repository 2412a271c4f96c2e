"""The contract kit over every installed adapter. One alone: ``pytest tests/contract -k Langgraph``."""

import importlib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.frameworks import Adapter, find_adapters
from tracer_hooks.frameworks._discovery import GROUP
from tracer_hooks_testing import AdapterContract, ContractTeams

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
