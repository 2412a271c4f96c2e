"""The command that goes on with a job, as it is shown at its end."""

from __future__ import annotations

import pytest

from tracer_hooks.cli.improve import command_again


@pytest.mark.parametrize(
    "given",
    [
        ["improve", "m:team", "--pairs", "40", "--out", "a b"],
        ["improve", "--pairs=40", "m:team", "--out", "a b"],
        ["improve", "m:team", "--out", "a b"],
    ],
)
def test_the_same_command_with_one_option_changed(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["tracer-hooks", *given])
    assert command_again("--pairs", "80") == "tracer-hooks improve m:team --out 'a b' --pairs 80"
