"""The command, and runs to look at."""

from pathlib import Path

import pytest

import tracer_hooks

from ._command import Command, InProcess


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> InProcess:
    monkeypatch.delenv("TRACER_HOOKS_STORE", raising=False)
    return InProcess(tmp_path, monkeypatch, capsys)


@tracer_hooks.agent(instructions="You look it up.")
def researcher(task: str) -> str:
    return "One ticket costs 25.00 EUR, plus a fee of 10 %."


@tracer_hooks.agent(instructions="You work it out.")
def calculator(task: str) -> str:
    return "The total is 75.00 EUR."


@pytest.fixture
def stored(tmp_path: Path) -> tracer_hooks.TeamRun:
    """A failed call with one retry, in the store of the command's folder."""
    return tracer_hooks.run(
        lambda task: calculator(researcher(task)),
        "What do 3 tickets cost?",
        check=lambda result: tracer_hooks.Verdict(passed=False, reason="expected 82.50 EUR, got 75.00 EUR"),
        retries=1,
        store=tmp_path / ".tracer_hooks" / "runs.sqlite",
    )
