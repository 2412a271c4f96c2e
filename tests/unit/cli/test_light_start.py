"""What a command loads: the ones that people type most load nothing that they do not need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracer_hooks.schema import AgentSpec, RunOutcome, Step, StepKind, Trajectory
from tracer_hooks.store import RunStore, StoredRun

FRAMEWORKS = ("autogen_agentchat", "autogen_core", "crewai", "langchain_core", "langgraph")
NEVER = (
    *FRAMEWORKS, "tracer_hooks_autogen", "tracer_hooks_crewai", "tracer_hooks_langgraph",
    "torch", "transformers", "sklearn", "scipy", "numpy", "pyarrow", "jinja2", "openai", "httpx", "gepa", "ray",
    "opentelemetry", "google.protobuf",
    "tracer_hooks.runtime", "tracer_hooks.rerun",
    "tracer_hooks.improvement", "tracer_hooks.diagnosis", "tracer_hooks.datasets", "tracer_hooks.evaluation",
    "tracer_hooks_lab.faults", "tracer_hooks.repair._failure", "tracer_hooks.frameworks", "tracer_hooks.replay",
    "tracer_hooks_lab.suites", "tracer_hooks.telemetry", "tracer_hooks_models.training", "tracer_hooks.values",
)  # fmt: skip
"""What neither help nor a look at stored runs needs."""
HELP = (*NEVER, "sqlalchemy", "tracer_hooks.schema", "tracer_hooks.store", "tracer_hooks.report")
"""What help does not need besides; typer loads pydantic."""
_CODE = """
import io, json, sys
from contextlib import redirect_stdout
sys.argv = ["tracer-hooks", *json.loads(sys.argv[1])]
from tracer_hooks.cli import main
with redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    try:
        main()
    except SystemExit as done:
        code = done.code
print(json.dumps([code, sorted(sys.modules)]))
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that are loaded when a command has done its work."""
    command = [sys.executable, "-c", _CODE, json.dumps(arguments)]
    shell = {**os.environ, "TRACER_HOOKS_STORE": str(folder / "runs.sqlite")}
    done = subprocess.run(command, cwd=folder, env=shell, capture_output=True, text=True, timeout=60, check=True)
    code, modules = json.loads(done.stdout)
    assert code == 0, done.stderr
    return set(modules)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a run store that holds a failed run."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    steps = (Step(index=0, agent="writer", kind=StepKind.MESSAGE, content="c", started_at=at, ended_at=at),)
    agents = (AgentSpec(name="writer"),)
    run = Trajectory(run_id="a" * 32, team="pair", agents=agents, steps=steps, outcome=RunOutcome.FAILED)
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(StoredRun(run_id=run.run_id, session_id="s", started_at=at, trajectory=run))
    return tmp_path


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("--version",), ("runs", "--help")])
def test_help_loads_the_command_line_alone(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert loaded(tmp_path, *arguments) & set(HELP) == set()


@pytest.mark.parametrize(
    "arguments", [("runs", "list"), ("runs", "list", "--json"), ("runs", "show", "aaaa"), ("prompts", "list")]
)
def test_a_look_at_the_store_loads_neither_models_nor_frameworks(folder: Path, arguments: tuple[str, ...]) -> None:
    modules = loaded(folder, *arguments)
    assert "sqlalchemy" in modules  # it did look
    assert modules & set(NEVER) == set()
    assert "list" not in arguments or modules & {"tracer_hooks.report", "tracer_hooks.repair"} == set()
