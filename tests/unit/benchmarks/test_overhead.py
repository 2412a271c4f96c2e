import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from .conftest import BENCHMARKS

pytest.importorskip("psutil")


@pytest.mark.slow
def test_quick_run_measures_ours_and_says_which_peers_are_missing(tmp_path: Path) -> None:
    pytest.importorskip("autogen_agentchat")
    result = tmp_path / "overhead.json"
    arguments = ["--quick", "--framework", "autogen", "--pairs", "2", "--memory-runs", "8", "--json", str(result)]
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "overhead.py"), *arguments], capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(result.read_text())
    rows = {row["mode"]: row for row in document["overhead"]}
    ours = rows["ours"]
    assert (ours["spans"], ours["traces"], ours["pairs"]) == (17, 1, 2)
    assert ours["names"] == {"invoke_workflow": 1, "invoke_agent": 6, "chat": 8, "execute_tool": 2}
    assert ours["left_changed"] == []
    assert ours["bare_ms"] > 0
    assert ours["attribute_bytes"] > 2000
    assert rows["ours-diagnose"]["names"]["diagnose"] == 1
    peer = rows["openinference"]
    assert peer.get("missing") == "not installed" or peer["spans"] > 0
    assert [row["runs"] for row in document["memory"]] == [8] * len(document["memory"])
    assert document["machine"]["cpus"] >= 1
    assert "tracer-hooks" in done.stdout
    command = [sys.executable, str(BENCHMARKS / "overhead.py"), "--markdown", str(result)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert f"| autogen | tracer-hooks | {ours['bare_ms']:.1f} | {ours['added_ms']:.2f} (" in shown.stdout


def test_added_share_is_taken_pair_by_pair_since_the_machine_changes_its_speed(load: Any) -> None:
    fast, slow = [(10.0, 12.0)] * 3, [(20.0, 24.0)] * 2
    bare, traced = zip(*fast, *slow, strict=True)
    row = load("_overhead_report").summarise(bare, traced, spans=4)
    assert (row["bare_ms"], row["added_ms"], row["added_percent"], row["us_per_span"]) == (10.0, 2.0, 20.0, 500)
    assert row["added_ms_95"] == [2.0, 4.0]
    assert row["added_percent_95"] == [20.0, 20.0]
    row = load("_overhead_report").summarise([10.0] * 9, [11.0] * 8 + [500.0], spans=1)
    assert (row["added_ms"], row["added_percent"]) == (1.0, 10.0), "one slow run does not move the result"
    apart = []
    for noise in (0.01, 2.0):
        slower = [11.0 + noise * (i % 3) for i in range(40)]
        low, high = load("_overhead_report").summarise([10.0] * 40, slower, 1)["added_ms_95"]
        apart.append(high - low)
    assert apart[0] < apart[1], "the interval is wider where the pairs disagree"


def test_census_counts_the_bytes_of_spans_and_of_their_events(load: Any) -> None:
    event = SimpleNamespace(attributes={"e": "ä"})
    context = SimpleNamespace(trace_id=1)
    span = SimpleNamespace(
        name="chat m", attributes={"key": "four", "n": 7, "l": ["ab"]}, events=[event], context=context
    )
    counted = load("_overhead_worker").census([span])
    assert counted == {"spans": 1, "names": {"chat": 1}, "attribute_bytes": 7 + 9 + 3 + 3, "traces": 1}


def test_snapshot_names_and_restores_what_was_left_changed(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    framework = ModuleType("crewai")

    class Crew:
        def kickoff(self) -> str:
            return "bare"

    Crew.__module__ = "crewai"
    framework.Crew = Crew  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "crewai", framework)
    snapshot = load("_overhead_worker").Snapshot("crewai")
    Crew.kickoff = lambda self: "wrapped"  # type: ignore[method-assign]
    Crew.added = lambda self: "new"  # type: ignore[attr-defined]
    assert snapshot.restore() == ["Crew.added", "Crew.kickoff"]
    assert Crew().kickoff() == "bare"
    assert not hasattr(Crew, "added")
    assert snapshot.restore() == []
