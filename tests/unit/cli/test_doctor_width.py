"""``tracer-hooks doctor`` shows every command that it recommends whole, however narrow the terminal is."""

from __future__ import annotations

import io
import json

import pytest

from tracer_hooks import frameworks
from tracer_hooks.cli import doctor
from tracer_hooks.cli.console import SafeConsole, out
from tracer_hooks.errors import ADAPTERS, install_line


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    """What is found on a machine that lacks much."""
    monkeypatch.setattr(frameworks, "find_adapters", tuple)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("tracer_hooks_lab.suites._sandbox._bubblewrap._known", [])
    for name in ("TRACER_HOOKS_JUDGE_MODEL", "TRACER_HOOKS_PREFILL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    doctor.doctor_command(as_json=True)
    found: list[dict[str, str]] = json.loads(capsys.readouterr().out)["findings"]
    return found


@pytest.mark.parametrize("is_terminal", [True, False])
def test_every_command_stands_in_one_line_at_any_width(
    findings: list[dict[str, str]], is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = {one["advice"] for one in findings} - {""}
    assert set(map(install_line, ADAPTERS)) < advice
    for width in range(20, 201, 20):
        shown = io.StringIO()
        console = SafeConsole(file=shown, width=width, force_terminal=is_terminal, no_color=True)
        monkeypatch.setattr(doctor, "out", lambda console=console: console)
        doctor.doctor_command()
        lines = shown.getvalue().splitlines()
        assert advice == {line.removeprefix("    next: ") for line in lines if line.startswith("    next: ")}
        for one in findings:  # some name the command in the detail
            assert any(line.endswith(one["detail"]) for line in lines)


def test_the_columns_variable_cuts_nothing(
    findings: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    out.cache_clear()
    try:
        doctor.doctor_command()
    finally:
        out.cache_clear()
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert all(one["advice"] in shown for one in findings)
