import importlib
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def soak_trend(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("soak")


def readings(soak_trend: Any, slope_mb: float, *, threads: int = 5, more_threads: int = 0, noise: float = 0.1) -> Any:
    draw = random.Random(4)
    return [
        soak_trend.Reading(
            runs=100 * n,
            rss_mb=100 + slope_mb * n / 10 + draw.uniform(-noise, noise) - (20 if n < 30 else 0),
            threads=threads + more_threads * (n // 25),
            descriptors=7 + n % 2,  # comes and goes
            rows=100 * n,
        )
        for n in range(1, 101)
    ]


@pytest.mark.parametrize(
    ("slope_mb", "more", "verdict"),
    [
        (0.0, 0, "flat"),
        (0.3, 0, "flat"),
        (2.0, 0, "grows: memory"),
        (0.0, 1, "grows: threads"),
        (2.0, 1, "grows: memory, threads"),
    ],
)
def test_the_verdict(soak_trend: Any, slope_mb: float, more: int, verdict: str) -> None:
    found = soak_trend.trend(readings(soak_trend, slope_mb, more_threads=more))
    assert found.verdict == verdict
    low, high = found.slope_mb_95
    assert low <= found.slope_mb <= high
    assert found.slope_mb == pytest.approx(slope_mb, abs=0.05), "what comes before half time does not count"


def test_growth_that_is_not_clear_is_not_called_flat(soak_trend: Any) -> None:
    found = soak_trend.trend(readings(soak_trend, 0.0, noise=30))
    assert found.slope_mb_95[0] < 0 < found.slope_mb_95[1]
    assert found.verdict == "grows: memory (not clear)"


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["plain", "autogen", "langgraph", "crewai"])
def test_a_small_soak_stores_each_run_once_and_mixes_none(framework: str, tmp_path: Path) -> None:
    if framework != "plain":
        pytest.importorskip(f"tracer_hooks_{framework}")
    out = tmp_path / "soak.json"
    command = [sys.executable, str(BENCHMARKS / "soak.py"), "--framework", framework, "--json", str(out)]
    command += ["--runs", "40", "--teams", "10", "--rounds", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    rows = json.loads(out.read_text())
    assert [(row["part"], row["stored"], row["mixed"], row["wrong"]) for row in rows] == [
        ("in-a-row", 40, 0, []),
        ("at-once", 40, 0, []),
    ]
