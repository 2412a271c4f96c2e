"""Words that people are shown, in cases that are seldom run as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracer_hooks import frameworks
from tracer_hooks.cli import doctor
from tracer_hooks.cli.demo import _show
from tracer_hooks.cli.improve import command_again, estimate_words
from tracer_hooks.endpoint import Endpoint
from tracer_hooks.frameworks import FoundAdapter
from tracer_hooks.improvement import ImproveEstimate

DEALT = {"propose": 8, "accept": 20, "unused": 6}


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "Estimate: at most 100 runs of the team; the model"),
        (
            {"tokens_per_run": 0, "cost": 0.0},
            "a cost that is not known; the model that writes comes on top. The runs report",
        ),
        ({"tokens_per_run": 1200, "cost": 2.5}, "about 120,000 tokens, a cost of about 2.5; the model"),
        ({"seconds_per_run": 6.0}, "10 minutes of the team's own time, one run after the other; the model"),
    ],
)
def test_an_estimate_says_what_is_known(known: dict[str, Any], said: str) -> None:
    assert said in estimate_words(ImproveEstimate(runs=100, tasks=DEALT, **known))


@pytest.mark.parametrize("given", ["m:team --pairs 40 --out x", "--pairs=40 m:team --out x", "m:team --out x"])
def test_the_same_command_with_one_option_changed(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["tracer-hooks", "improve", *given.split()])
    assert command_again("--pairs", "80") == "tracer-hooks improve m:team --out x --pairs 80"


def test_an_adapter_that_fails_is_a_finding_and_no_end_of_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name = "broken"

        def framework_version(self) -> str:
            raise RuntimeError("half installed")

    broken: Any = Broken()
    found = FoundAdapter(name="broken", adapter=broken, problem=None)
    monkeypatch.setattr(frameworks, "find_adapters", lambda: [found])
    (finding,) = [one for one in doctor._adapters() if one.name == "broken"]
    assert not finding.works
    assert "half installed" in finding.detail


def test_a_framework_that_the_demo_cannot_show_does_not_keep_the_others_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRACER_HOOKS_STRICT")
    endpoint = Endpoint(base_url="http://localhost:9", model="m", api_key="x")

    def missing() -> Any:
        raise ImportError("No module named 'crewai'")

    def broken() -> Any:
        def build(*_: Any, **__: Any) -> Any:
            raise TypeError("another signature")

        return build

    assert _show("crewai", missing, endpoint, tmp_path) is None
    assert _show("autogen", broken, endpoint, tmp_path) is None
    said = " ".join(capsys.readouterr().out.split())
    assert "skipped: No module named 'crewai'. Run: pip install -e" in said
    assert "cannot be shown: TypeError: another signature. Run: tracer-hooks doctor" in said
